"""Drawing the figures with Altair, in the project's theme. Only functions that draw import this module."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import altair as alt
import vl_convert

from judging.consensus import GRADES
from judging.models import Candidate
from metrics import figures as theme
from metrics.figures import inline
from reports.figures.numbers import DRIFTS, Rows

WIDTH, HEIGHT = 760, 280
TEXT = {"labelFontSize": 13, "titleFontSize": 14}
BLUE, ORANGE = theme.COLOURS[:2]
POINT = {"color": BLUE}
# One hue from pale to dark, so that the order is visible without colour too.
SHADES = ["#d5d9de", "#a9c6e2", "#6d9fd0", "#3673b3", "#153f75"]
LEGIBLE = 0.06  # the smallest share whose part of a bar has room for its number


def specification(key: str, rows: Rows) -> dict[str, Any]:
    """Return the figure as a Vega-Lite specification that contains its rows."""
    return _description(key) | {"data": {"values": rows}}


@cache
def _description(key: str) -> dict[str, Any]:
    """The specification without its rows, which are all that differs. Altair needs up to a tenth of a second for it."""
    return finished(FIGURES[key](inline([])))


def finished(chart: Any) -> dict[str, Any]:
    """Return the specification of a chart, with text that can be read in a page."""
    drawn: dict[str, Any] = chart.configure_axis(**TEXT).configure_legend(**TEXT).to_dict()
    return drawn


def svg_of(specification: dict[str, Any]) -> bytes:
    drawn: str = vl_convert.vegalite_to_svg(specification)
    return drawn.encode()


def pdf_of(specification: dict[str, Any]) -> bytes:
    drawn: bytes = vl_convert.vegalite_to_pdf(specification)
    return drawn


def _stacked(title: str) -> Callable[[alt.Data], Any]:
    """Return how to draw the shares of the grades in bins, with the size of each bin above its bar."""

    def draw(data: alt.Data) -> Any:
        base = alt.Chart(data, width=WIDTH, height=HEIGHT).encode(
            x=alt.X("bin:O", sort=None, title=title, axis=alt.Axis(labelAngle=0, labelOverlap=True))
        )
        share = alt.Y("share:Q", stack="zero", title="share", axis=alt.Axis(format="%"), scale=_scale(0, 1))
        parts = base.mark_bar().encode(y=share, color=_shades(), order="grade:O", tooltip=TIPS)
        middle = alt.Y("share:Q", stack="zero", bandPosition=0.5)
        light = alt.condition(alt.datum.grade > 2, alt.value(theme.PAPER), alt.value(theme.INK))
        inside = base.transform_filter(alt.datum.share >= LEGIBLE).encode(y=middle, order="grade:O")
        numbers = inside.mark_text(fontSize=13).encode(text="grade:O", color=light, detail="grade:O")
        sizes = base.transform_filter(alt.datum.grade == 0).mark_text(dy=-8, fontSize=12)
        return parts + numbers + sizes.encode(y=alt.datum(1), text=alt.Text("of:Q", format=","))

    return draw


def _spread(data: alt.Data) -> Any:
    base = alt.Chart(data, width=360, height=300).encode(
        x=alt.X("highest:O", title="highest raw grade", axis=alt.Axis(labelAngle=0)),
        y=alt.Y("lowest:O", title="lowest raw grade"),
        tooltip=["lowest:O", "highest:O", alt.Tooltip("candidates:Q", format=","), _percent("share")],
    )
    colour = alt.Color("share:Q", scale=alt.Scale(range=["#f1f4f8", SHADES[4]]), legend=None)
    light = alt.condition(alt.datum.share > 0.12, alt.value(theme.PAPER), alt.value(theme.INK))
    numbers = base.mark_text(fontSize=14).encode(text=alt.Text("share:Q", format=".2%"), color=light)
    return base.mark_rect().encode(color=colour) + numbers


def _final(data: alt.Data) -> Any:
    base = alt.Chart(data, width=360, height=HEIGHT).encode(
        x=alt.X("grade:O", title="final grade", axis=alt.Axis(labelAngle=0)),
        y=alt.Y("candidates:Q", title="candidates"),
        tooltip=["grade:O", alt.Tooltip("candidates:Q", format=","), _percent("share")],
    )
    numbers = base.mark_text(dy=-8, fontSize=13).encode(text=alt.Text("share:Q", format=".1%"))
    return base.mark_bar(color=BLUE) + numbers


def _example(data: alt.Data) -> Any:
    base = alt.Chart(data, width=WIDTH).encode(
        x=alt.X("rank:O", title="rank", axis=alt.Axis(labelAngle=0, labelOverlap=True)),
        tooltip=["rank:O", "similarity:Q", "grade:O", "outcome:N", "moment:N", "caption:N"],
    )
    line = base.mark_line(point={"color": ORANGE}, color=ORANGE)
    level = alt.Y("similarity:Q", title="similarity", scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=4))
    similarity = line.encode(alt.X("rank:O", axis=None), level)
    steps = alt.Axis(values=list(GRADES), format="d")
    grades = alt.Y("grade:Q", title="final grade", scale=_scale(GRADES[0], GRADES[-1]), axis=steps)
    by_lead = alt.datum.outcome == Candidate.Outcome.ADJUDICATED.value
    bars = base.transform_filter(~by_lead).mark_bar(color=BLUE).encode(y=grades)
    hollow = base.transform_filter(by_lead).mark_bar(fill=None, stroke=BLUE, strokeDash=[3, 2]).encode(y=grades)
    without = base.transform_filter(alt.datum.grade == None)  # noqa: E711 - an expression for Vega
    crosses = without.mark_text(text="×", fontSize=14, dy=-6).encode(y=alt.datum(0))
    zeros = base.transform_filter(alt.datum.grade == 0).mark_tick(color=BLUE, thickness=4)
    zeros = zeros.encode(y=alt.datum(0))
    return similarity.properties(height=110) & (bars + hollow + zeros + crosses).properties(height=160)


def _weeks(data: alt.Data) -> Any:
    base = alt.Chart(data, width=WIDTH).encode(x=_weeks_below(), tooltip=WEEK_TIPS)
    level = alt.Y("alpha:Q", title="ordinal alpha", scale=_scale(0, 1))
    ends = level.copy()
    ends.shorthand = "alpha_low:Q"
    band = base.mark_area(color=SHADES[1], opacity=0.5).encode(ends, y2="alpha_high:Q")
    alpha = band + base.mark_line(point=POINT, color=BLUE).encode(level)
    pairs = base.mark_bar(color=SHADES[1]).encode(alt.Y("pairs:Q", title="pairs", axis=alt.Axis(tickCount=3)))
    return alpha.properties(height=200) & pairs.properties(height=80)


def _drift(data: alt.Data) -> Any:
    tips = [alt.Tooltip(f"{name}:Q", format=".2f") for name in DRIFTS]
    base = alt.Chart(data, width=330, height=140).encode(x=_weeks_below(), tooltip=["week:O", "pairs:Q", *tips])
    level = base.mark_rule(color=theme.FAINT, strokeWidth=2).encode(y=alt.datum(0))
    charts = [
        level + base.mark_line(point=POINT, color=BLUE).encode(alt.Y(f"{name}:Q", title=words))
        for name, words in DRIFTS.items()
    ]
    return (charts[0] | charts[1]) & (charts[2] | charts[3])


def _shades() -> alt.Color:
    return alt.Color(
        "grade:O",
        scale=alt.Scale(domain=list(GRADES), range=SHADES),
        legend=alt.Legend(orient="top", title="grade", symbolType="square"),
    )


def _weeks_below() -> alt.X:
    return alt.X("week:O", title=None, axis=alt.Axis(labelAngle=0, labelOverlap=True))


def _percent(name: str) -> alt.Tooltip:
    return alt.Tooltip(f"{name}:Q", format=".1%")


def _scale(low: float, high: float) -> alt.Scale:
    return alt.Scale(domain=[low, high], clamp=True)


TIPS = [
    alt.Tooltip("bin:O", title="bin"),
    alt.Tooltip("grade:O", title="grade"),
    alt.Tooltip("candidates:Q", format=","),
    _percent("share"),
]
WEEK_TIPS = [
    alt.Tooltip("week:O"),
    *(alt.Tooltip(f"{name}:Q", format=".3f") for name in ("alpha", "alpha_low", "alpha_high")),
    alt.Tooltip("pairs:Q", format=","),
    _percent("contested"),
]
FIGURES: dict[str, Callable[[alt.Data], Any]] = {
    "figure-4a": _stacked("similarity of query and caption"),
    "figure-4b": _stacked("rank by similarity"),
    "figure-5a": _spread,
    "figure-5b": _final,
    "figure-6": _example,
    "weeks": _weeks,
    "drift": _drift,
}
