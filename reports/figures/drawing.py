"""Drawing the figures with Altair, in the project's theme. Only functions that draw import this module."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import altair as alt
import vl_convert

from judging.consensus import GRADES
from judging.models import Candidate
from metrics import figures as theme
from metrics.figures import inline
from reports.figures.catalogue import BY_KEY
from reports.figures.numbers import DRIFTS, WEEKDAYS, Rows

INSIDE = 440  # of what has axes beside it: the width of the data
TEXT = {"labelFontSize": 13, "titleFontSize": 14}
ACCENT, OTHER, YELLOW = theme.COLOURS[0], theme.COLOURS[1], theme.COLOURS[4]
POINT = {"color": ACCENT}
# Those of the grades in pages: one hue from pale to dark, so that the order is visible without colour too.
SHADES = ["#c9c6c0", "#85bbad", "#4f9b90", "#1c6e68", "#0a4644"]
ON_MIDDLE = "#0b2422"  # text on the shade in the middle
OUTLINE = theme.COLOURS[7]
LINES = ("begun", "finished", "ready")
LEGIBLE = 0.06  # the smallest share whose part of a bar has room for its number
TVR_RANKING = 0.615  # ordinal alpha of its published grades
GAP = 0.07  # of all pairs, between the bands of a flow: room for a line of text
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


def sized(chart: Any, width: int, height: int) -> Any:
    """Return the chart in a size, with its axes and titles inside."""
    return chart.properties(width=width, height=height, autosize=alt.AutoSizeParams(type="fit", contains="padding"))


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
        return parts + numbers + sizes.encode(y=alt.datum(1), text=alt.Text("of:Q", format=","))

    return draw


def _scatter(data: alt.Data) -> Any:
    """The grade of each candidate against its similarity, in the colour and shape of its query (Figure 4a)."""
    colours, shapes = theme.COLOURS[:5], ["circle", "triangle-up"]
    numbers = list(range(len(colours) * len(shapes)))
    points = alt.Chart(data).mark_point(filled=True, size=30, opacity=0.75)
    return points.encode(
        x=alt.X("similarity:Q", title="similarity of query and caption", scale=alt.Scale(zero=False)),
        y=alt.Y("lane:Q", title="final grade", axis=GRADE_STEPS, scale=_scale(GRADES[0] - 0.4, GRADES[-1] + 0.4)),
        color=alt.Color("number:N", legend=None, scale=_cycle(numbers, colours, 1)),
        shape=alt.Shape("number:N", legend=None, scale=_cycle(numbers, shapes, len(colours))),
        tooltip=["query:N", alt.Tooltip("similarity:Q", format=".3f"), "rank:O", "grade:O"],
    ).transform_calculate(lane=alt.datum.grade + LANES * (alt.datum.number / (len(numbers) - 1) - 0.5))


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
    return most.mark_rect(color=ACCENT).encode(opacity=strength) + numbers


def _final(data: alt.Data) -> Any:
    base = alt.Chart(data).encode(
        x=alt.X("grade:O", title="final grade", axis=alt.Axis(labelAngle=0)),
        y=alt.Y("candidates:Q", title="candidates"),
        tooltip=["grade:O", alt.Tooltip("candidates:Q", format=","), _percent("share")],
    )
    colour = alt.Color("grade:O", scale=alt.Scale(domain=list(GRADES), range=SHADES), legend=None)
    numbers = base.mark_text(dy=-8, fontSize=13).encode(text=alt.Text("share:Q", format=".1%"))
    return base.mark_bar().encode(color=colour) + numbers


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
    base = alt.Chart(data).encode(x=_weeks_below(), tooltip=WEEK_TIPS)
    level = alt.Chart(data).mark_rule(color=OTHER, strokeDash=[6, 3]).encode(y=alt.datum(TVR_RANKING))
    return level + _with_band(base, "alpha", "ordinal alpha", _scale(0, 1))


def _burn_up(data: alt.Data) -> Any:
    """Filled: finished; pale: begun; a step line: ready to release; a fan: the forecast; flags: what happened."""
    day = alt.X("day:T", title=None, axis=alt.Axis(format="%d %b", labelOverlap=True, tickCount=8, grid=False))
    tips = [alt.Tooltip("day:T", format="%d %b %Y"), *(alt.Tooltip(f"{name}:Q") for name in LINES)]
    known = alt.Chart(data).transform_filter("isValid(datum.finished)").encode(day, tooltip=tips)
    steps: Any = {"interpolate": "step-after"}
    begun = known.mark_area(color=SHADES[1], opacity=0.5, **steps).encode(alt.Y("begun:Q", title="queries"))
    finished = known.mark_area(color=ACCENT, opacity=0.55, **steps).encode(y="finished:Q")
    ready = known.mark_line(color=theme.INK, strokeWidth=2, **steps).encode(y="ready:Q")
    whole = alt.Chart(data).transform_filter("isValid(datum.all)")
    top = whole.mark_rule(color=OUTLINE, strokeDash=[4, 4]).encode(y="all:Q")
    fan = alt.Chart(data).transform_filter("isValid(datum.share)").mark_area(color=ACCENT, opacity=0.18)
    fan = fan.encode(day, y="low:Q", y2="high:Q", detail="share:N", tooltip=["share:N", "day:T"])
    marks = alt.Chart(data).transform_filter("isValid(datum.mark)").encode(day, tooltip=["mark:N", "day:T"])
    poles = marks.mark_rule(color=OUTLINE, strokeWidth=1)
    flags = marks.mark_text(text="⚑", align="left", fontSize=14, dx=1, dy=2, baseline="top", color=OTHER)
    flags = flags.encode(y=alt.value(0))
    near: Any = {"align": "left", "dx": 8, "fontSize": 12}
    ends = [
        whole.mark_text(text=words, dy=dy, **near).encode(day, y=f"{name}:Q")
        for name, words, dy in (("finished", "finished", -8), ("ready", "ready to release", 12))
    ]
    label = alt.Chart(data).transform_filter("isValid(datum.words)")
    label = label.mark_text(**near, fontWeight="bold").encode(day, y="at:Q", text="words:N")
    room = alt.Chart(data).transform_filter("datum.room").mark_point(opacity=0).encode(day)
    return alt.layer(begun, finished, fan, top, ready, room, poles, flags, *ends, label)


def _grades(data: alt.Data) -> Any:
    base = alt.Chart(data).encode(
        x=alt.X("grade:O", title=None, axis=alt.Axis(labelAngle=0)),
        y=alt.Y("pairs:Q", axis=None),
        tooltip=["grade:O", alt.Tooltip("pairs:Q", format=",")],
    )
    colour = alt.Color("grade:O", scale=alt.Scale(domain=list(GRADES), range=SHADES), legend=None)
    counts = base.mark_text(dy=-8, fontSize=12).encode(text=alt.Text("pairs:Q", format=","))
    return base.mark_bar().encode(color=colour) + counts


def _alpha(data: alt.Data) -> Any:
    """Alpha by week on a scale from 0 to 1, with its interval and the value of TVR-Ranking's authors."""
    base = alt.Chart(data).encode(x=_weeks_below(), tooltip=WEEK_TIPS)
    level = alt.Y("alpha:Q", title=None, scale=_scale(0, 1), axis=alt.Axis(tickCount=3))
    ends = level.copy()
    ends.shorthand = "alpha_low:Q"
    mark = alt.Chart(data).transform_aggregate(n="count()").encode(y=alt.datum(TVR_RANKING))
    rule = mark.mark_rule(color=OUTLINE, strokeDash=[4, 4])
    words = mark.mark_text(text=f"{TVR_RANKING} TVR-Ranking", align="left", dx=4, dy=-8, fontSize=12)
    band = base.mark_area(color=SHADES[1], opacity=0.5).encode(ends, y2="alpha_high:Q")
    return band + rule + words.encode(x=alt.value(0)) + base.mark_line(point=POINT, color=ACCENT).encode(level)


def _today(data: alt.Data) -> Any:
    base = alt.Chart(data).encode(
        x=alt.X("worker:O", sort=None, title=None, axis=alt.Axis(labelAngle=0, labelOverlap=True)),
        y=alt.Y("judgements:Q", title=None, axis=alt.Axis(tickCount=3, tickMinStep=1), scale=alt.Scale(domainMin=0)),
        tooltip=["worker:O", "judgements:Q"],
    )
    idle = base.transform_filter("datum.judgements == 0").mark_point(filled=False, size=40, color=OUTLINE)
    least = alt.Chart(data).transform_aggregate(n="count()").mark_rule(opacity=0).encode(y=alt.datum(1))
    return base.mark_bar(color=ACCENT) + idle + least


def _drift(data: alt.Data) -> Any:
    tips = [alt.Tooltip(f"{name}:Q", format=".2f") for name in DRIFTS]
    base = alt.Chart(data).encode(x=_weeks_below(), tooltip=["week:O", "pairs:Q", *tips])
    level = alt.Chart(data).mark_rule(color=theme.FAINT, strokeWidth=2).encode(y=alt.datum(0))
    return level + _with_band(base, "difference", "grades", _scale(-2, 2))


def _with_band(base: Any, name: str, title: str, scale: alt.Scale) -> Any:
    """Return a line by week, with the band of its interval."""
    level = alt.Y(f"{name}:Q", title=title, scale=scale, axis=alt.Axis(tickCount=5))
    ends = level.copy()
    ends.shorthand = f"{name}_low:Q"
    band = base.mark_area(color=SHADES[1], opacity=0.5).encode(ends, y2=f"{name}_high:Q")
    return band + base.mark_line(point=POINT, color=ACCENT).encode(level)


def _severity(data: alt.Data) -> Any:
    """Severity of each annotator as a dot with its interval, the mean difference hollow; the spread at the right."""
    tips = [alt.Tooltip(f"{name}:Q", format=".2f") for name in SEVERITIES]
    who = alt.Y("worker:O", title="worker", sort=alt.EncodingSortField("severity"))
    base = alt.Chart(data, height=340).encode(y=who, tooltip=["worker:O", "ratings:Q", *tips])
    zero = alt.Chart(data).mark_rule(color=theme.FAINT, strokeWidth=2).encode(x=alt.datum(0))
    dots = base.mark_point(color=ACCENT, filled=True, size=50)
    ends = base.mark_rule(color=ACCENT, strokeWidth=2)
    level = alt.X("severity:Q", title="grades above the mean", scale=_scale(-1, 1), axis=alt.Axis(tickCount=5))
    raw = base.mark_point(color=OTHER, filled=False, size=40).encode(alt.X("difference:Q"))
    severity = zero + ends.encode(alt.X("severity_low:Q"), x2="severity_high:Q") + raw + dots.encode(level)
    wide = alt.X("spread:Q", title="spread", scale=alt.Scale(zero=True), axis=alt.Axis(tickCount=3))
    alone = alt.Y("worker:O", axis=None, sort=alt.EncodingSortField("severity"))
    spread = ends.encode(alt.X("spread_low:Q"), x2="spread_high:Q", y=alone) + dots.encode(wide, y=alone)
    return severity.properties(width=320) | spread.properties(width=130)


def _hours(data: alt.Data) -> Any:
    """A cell for each hour of the week, the darker the more was judged in it."""
    colours = alt.Scale(range=[theme.PAPER, SHADES[-1]], interpolate="rgb")
    shade = alt.Color("judgements:Q", scale=colours, legend=None)
    hour = alt.X("hour:O", title="hour", axis=alt.Axis(labelAngle=0, values=[*range(0, 24, 3)]))
    day = alt.Y("weekday:N", title=None, sort=list(WEEKDAYS))
    tips = ["weekday:N", "hour:O", alt.Tooltip("judgements:Q", format=",")]
    return alt.Chart(data).mark_rect(stroke=theme.PAPER).encode(hour, day, shade, tooltip=tips)


def _learning(data: alt.Data) -> Any:
    """The mean difference from the consensus by nth batch with its band, and that of one annotator as dots."""
    tips = [alt.Tooltip(f"{name}:Q", format=".2f") for name in ("difference", "difference_low", "difference_high")]
    batch = alt.X("batch:Q", title="batch", axis=alt.Axis(tickMinStep=1, format="d", grid=False))
    base = alt.Chart(data).encode(batch, tooltip=["batch:Q", "annotators:Q", *tips])
    level = alt.Y("difference:Q", title="grades from the consensus", axis=alt.Axis(tickCount=5))
    band = base.mark_area(color=SHADES[1], opacity=0.5).encode(y="difference_low:Q", y2="difference_high:Q")
    own = base.transform_filter("isValid(datum.own)").mark_line(point={"color": OTHER}, color=OTHER)
    return band + base.mark_line(point=POINT, color=ACCENT).encode(level) + own.encode(y="own:Q")


def _sitting(data: alt.Data) -> Any:
    tips = [alt.Tooltip(f"{name}:Q", format=".3f") for name in ("alpha", "alpha_low", "alpha_high")]
    minute = alt.X("minute:Q", title="minutes since the sitting began", axis=alt.Axis(tickMinStep=10, grid=False))
    base = alt.Chart(data).encode(minute, tooltip=["minute:Q", "judgements:Q", *tips])
    return _with_band(base, "alpha", "ordinal alpha", _scale(0, 1))


def _flow(data: alt.Data) -> Any:
    """Bands from the results of round one at the left to the ends at the right, as high as their numbers of pairs."""
    sides = {"round_one": ["agreed", "contested"], "end": ["settled", "in round two", "discarded"]}
    base = alt.Chart(data).transform_joinaggregate(total="sum(pairs)")
    for name, known in sides.items():
        base = base.transform_calculate(**{f"{name}_place": f"indexof({known}, datum.{name})"})
        order = [alt.SortField(field) for field in (f"{name}_place", "order")]
        base = base.transform_stack(stack="pairs", groupby=[], sort=order, as_=[f"{name}_0", f"{name}_1"])
        gap = f"{GAP} * datum.total * datum.{name}_place"
        base = base.transform_calculate(**{f"{name}_{n}": f"datum.{name}_{n} + {gap}" for n in range(2)})
    bands = base.transform_calculate(part="sequence(0, 1.01, 0.05)").transform_flatten(["part"])
    bands = bands.transform_calculate(turn="datum.part * datum.part * (3 - 2 * datum.part)")
    turns = {n: f"datum.round_one_{n} + datum.turn * (datum.end_{n} - datum.round_one_{n})" for n in range(2)}
    tips = [alt.Tooltip("round_one:N"), "end:N", alt.Tooltip("pairs:Q", format=","), _percent("share")]
    bands = bands.transform_calculate(low=turns[0], high=turns[1]).mark_area(opacity=0.6)
    bands = bands.encode(
        x=alt.X("part:Q", axis=None, scale=alt.Scale(domain=[-0.6, 1.7])),
        y=alt.Y("low:Q", axis=None, scale=alt.Scale(reverse=True, nice=False)),
        y2="high:Q",
        color=alt.Color("end:N", legend=None, scale=alt.Scale(domain=sides["end"], range=[ACCENT, YELLOW, OTHER])),
        detail="order:O",
        tooltip=tips,
    )
    sides_of_words: Any = (("round_one", "right", -0.03), ("end", "left", 1.03))
    words = [
        base.transform_aggregate(pairs="sum(pairs)", low=f"min({name}_0)", high=f"max({name}_1)", groupby=[name])
        .transform_calculate(low="(datum.low + datum.high) / 2", words=f"datum.{name} + ' ' + format(datum.pairs, ',')")
        .mark_text(align=align, fontSize=13)
        .encode(x=alt.datum(at), y="low:Q", text="words:N")
        for name, align, at in sides_of_words
    ]
    return alt.layer(bands, *words)


def _poster(data: alt.Data) -> Any:
    """Five figures on one sheet: two rows, the burn-up wide."""
    above = (_part(data, "burn-up", 680), _part(data, "figure-5b", 300))
    below = (_part(data, key, 300) for key in ("figure-4a", "weeks", "flow"))
    apart: Any = {"color": "independent", "opacity": "independent"}
    lines = (alt.hconcat(*line, spacing=32).resolve_scale(**apart) for line in (above, below))
    sheet = alt.vconcat(*lines, spacing=40)
    return sheet.resolve_scale(**apart)


def _part(data: alt.Data, key: str, width: int) -> Any:
    chart = SIZED[key](data).properties(width=width, height=280, title=BY_KEY[key].title)
    return chart.transform_filter(alt.datum.figure == key)


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
SEVERITIES = ("severity", "severity_low", "severity_high", "difference", "spread")
OF_THEIR_SIZE: dict[str, Callable[[alt.Data], Any]] = {"figure-6": _example, "severity": _severity, "poster": _poster}
SIZED: dict[str, Callable[[alt.Data], Any]] = {
    "figure-4a": _stacked("similarity of query and caption"),
    "figure-4-points": _scatter,
    "figure-4b": _stacked("rank by similarity"),
    "figure-5a": _spread,
    "figure-5b": _final,
    "weeks": _weeks,
    "drift": _drift,
    "burn-up": _burn_up,
    "grades": _grades,
    "alpha": _alpha,
    "today": _today,
    "flow": _flow,
    "learning": _learning,
    "sitting": _sitting,
    "hours": _hours,
}


def _in_its_size(key: str, data: alt.Data) -> Any:
    return sized(SIZED[key](data), *BY_KEY[key].size or ())


FIGURES = OF_THEIR_SIZE | {key: partial(_in_its_size, key) for key in SIZED}
