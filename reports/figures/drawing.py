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

WIDE, HIGH = SIZE = (518, 320)  # of every drawing, so that two stand side by side
INSIDE = 440  # of what has axes beside it: the width of the data
TEXT = {"labelFontSize": 13, "titleFontSize": 14}
ACCENT, OTHER = theme.COLOURS[:2]
POINT = {"color": ACCENT}
# Those of the grades in pages: one hue from pale to dark, so that the order is visible without colour too.
SHADES = ["#c9c6c0", "#a8c4c1", "#74a9a5", "#34807b", "#0f6b66"]
ON_MIDDLE = "#0b2422"  # text on the shade in the middle
LEGIBLE = 0.06  # the smallest share whose part of a bar has room for its number
LANES = 0.6  # of the distance of two grades, in which the points of the queries lie side by side


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


def _fitted(chart: Any) -> Any:
    """Return the chart in the size of every drawing, with its axes and titles inside."""
    return chart.properties(width=WIDE, height=HIGH, autosize=alt.AutoSizeParams(type="fit", contains="padding"))


def _stacked(title: str) -> Callable[[alt.Data], Any]:
    """Return how to draw the shares of the grades in bins, with the size of each bin above its bar."""

    def draw(data: alt.Data) -> Any:
        base = alt.Chart(data).encode(
            x=alt.X("bin:O", sort=None, title=title, axis=alt.Axis(labelAngle=0, labelOverlap=True))
        )
        share = alt.Y("share:Q", stack="zero", title="share", axis=alt.Axis(format="%"), scale=_scale(0, 1))
        parts = base.mark_bar().encode(y=share, color=_shades(), order="grade:O", tooltip=TIPS)
        middle = alt.Y("share:Q", stack="zero", bandPosition=0.5)
        dark = alt.when(alt.datum.grade < 2).then(alt.value(theme.INK))
        on = dark.when(alt.datum.grade == 2).then(alt.value(ON_MIDDLE)).otherwise(alt.value(theme.PAPER))
        inside = base.transform_filter(alt.datum.share >= LEGIBLE).encode(y=middle, order="grade:O")
        numbers = inside.mark_text(fontSize=12).encode(text="grade:O", color=on, detail="grade:O")
        sizes = base.transform_filter(alt.datum.grade == 0).mark_text(dy=-8, fontSize=10)
        return _fitted(parts + numbers + sizes.encode(y=alt.datum(1), text=alt.Text("of:Q", format=",")))

    return draw


def _scatter(data: alt.Data) -> Any:
    """The grade of each candidate against its similarity, in the colour and shape of its query (Figure 4a)."""
    colours, shapes = theme.COLOURS[:5], ["circle", "triangle-up"]
    numbers = list(range(len(colours) * len(shapes)))
    points = alt.Chart(data).mark_point(filled=True, size=30, opacity=0.75)
    return _fitted(
        points.encode(
            x=alt.X("similarity:Q", title="similarity of query and caption", scale=alt.Scale(zero=False)),
            y=alt.Y("lane:Q", title="final grade", axis=GRADE_STEPS, scale=_scale(GRADES[0] - 0.4, GRADES[-1] + 0.4)),
            color=alt.Color("number:N", legend=None, scale=_cycle(numbers, colours, 1)),
            shape=alt.Shape("number:N", legend=None, scale=_cycle(numbers, shapes, len(colours))),
            tooltip=["query:N", alt.Tooltip("similarity:Q", format=".3f"), "rank:O", "grade:O"],
        ).transform_calculate(lane=alt.datum.grade + LANES * (alt.datum.number / (len(numbers) - 1) - 0.5))
    )


def _cycle(numbers: list[int], values: list[str], each: int) -> alt.Scale:
    """Return a scale on which `each` numbers in a row have the same value, and the values come in turn."""
    return alt.Scale(domain=numbers, range=[values[number // each % len(values)] for number in numbers])


def _spread(data: alt.Data) -> Any:
    base = alt.Chart(data).encode(
        x=alt.X("lowest:O", title="lowest raw grade", axis=alt.Axis(labelAngle=0)),
        y=alt.Y("highest:O", title="highest raw grade"),
        tooltip=["lowest:O", "highest:O", alt.Tooltip("candidates:Q", format=","), _percent("share")],
    )
    strength = alt.Opacity("part:Q", scale=alt.Scale(domain=[0, 1], range=[0.06, 1]), legend=None)
    most = base.transform_joinaggregate(most="max(share)").transform_calculate(
        part=alt.expr.if_(alt.datum.most > 0, alt.datum.share / alt.datum.most, 0)
    )
    on = alt.condition(alt.datum.part > 0.55, alt.value(theme.PAPER), alt.value(theme.INK))
    numbers = most.mark_text(fontSize=13).encode(text=alt.Text("share:Q", format=".2%"), color=on)
    return _fitted(most.mark_rect(color=ACCENT).encode(opacity=strength) + numbers)


def _final(data: alt.Data) -> Any:
    base = alt.Chart(data).encode(
        x=alt.X("grade:O", title="final grade", axis=alt.Axis(labelAngle=0)),
        y=alt.Y("candidates:Q", title="candidates"),
        tooltip=["grade:O", alt.Tooltip("candidates:Q", format=","), _percent("share")],
    )
    colour = alt.Color("grade:O", scale=alt.Scale(domain=list(GRADES), range=SHADES), legend=None)
    numbers = base.mark_text(dy=-8, fontSize=13).encode(text=alt.Text("share:Q", format=".1%"))
    return _fitted(base.mark_bar().encode(color=colour) + numbers)


def _example(data: alt.Data) -> Any:
    base = alt.Chart(data, width=INSIDE).encode(
        x=alt.X("rank:O", title="rank", axis=alt.Axis(labelAngle=0, labelOverlap=True)),
        tooltip=["rank:O", "similarity:Q", "grade:O", "outcome:N", "moment:N", "caption:N"],
    )
    line = base.mark_line(point={"color": OTHER}, color=OTHER)
    level = alt.Y("similarity:Q", title="similarity", scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=4))
    similarity = line.encode(alt.X("rank:O", axis=None), level)
    grades = alt.Y("grade:Q", title="final grade", scale=_scale(GRADES[0], GRADES[-1]), axis=GRADE_STEPS)
    by_lead = alt.datum.outcome == Candidate.Outcome.ADJUDICATED.value
    bars = base.transform_filter(~by_lead).mark_bar(color=ACCENT).encode(y=grades)
    hollow = base.transform_filter(by_lead).mark_bar(fill=None, stroke=ACCENT, strokeDash=[3, 2]).encode(y=grades)
    without = base.transform_filter(alt.datum.grade == None)  # noqa: E711 - an expression for Vega
    crosses = without.mark_text(text="×", fontSize=14, dy=-6).encode(y=alt.datum(0))
    zeros = base.transform_filter(alt.datum.grade == 0).mark_tick(color=ACCENT, thickness=4)
    zeros = zeros.encode(y=alt.datum(0))
    return similarity.properties(height=90) & (bars + hollow + zeros + crosses).properties(height=150)


def _weeks(data: alt.Data) -> Any:
    base = alt.Chart(data, width=INSIDE).encode(x=_weeks_below(), tooltip=WEEK_TIPS)
    level = alt.Y("alpha:Q", title="ordinal alpha", scale=_scale(0, 1))
    ends = level.copy()
    ends.shorthand = "alpha_low:Q"
    band = base.mark_area(color=SHADES[1], opacity=0.5).encode(ends, y2="alpha_high:Q")
    alpha = band + base.mark_line(point=POINT, color=ACCENT).encode(level)
    pairs = base.mark_bar(color=SHADES[1]).encode(alt.Y("pairs:Q", title="pairs", axis=alt.Axis(tickCount=3)))
    return alpha.properties(height=160) & pairs.properties(height=70)


def _drift(data: alt.Data) -> Any:
    tips = [alt.Tooltip(f"{name}:Q", format=".2f") for name in DRIFTS]
    base = alt.Chart(data, width=330, height=140).encode(x=_weeks_below(), tooltip=["week:O", "pairs:Q", *tips])
    level = base.mark_rule(color=theme.FAINT, strokeWidth=2).encode(y=alt.datum(0))
    charts = [
        level + base.mark_line(point=POINT, color=ACCENT).encode(alt.Y(f"{name}:Q", title=words))
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


GRADE_STEPS = alt.Axis(values=list(GRADES), format="d")
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
    "figure-4-points": _scatter,
    "figure-4b": _stacked("rank by similarity"),
    "figure-5a": _spread,
    "figure-5b": _final,
    "figure-6": _example,
    "weeks": _weeks,
    "drift": _drift,
}
