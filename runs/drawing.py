"""Drawing the figures of runs with Altair, in the project's theme. Only functions that draw import this module."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import altair as alt

from metrics import figures as theme
from metrics import parse_measure
from metrics.figures import agreement, inline, lines, noise, placed, select, stability, ties
from reports.figures.drawing import SHADES, finished, sized

Rows = list[dict[str, Any]]


def about_measures(key: str, rows: Rows) -> dict[str, Any]:
    """Return a figure about measures as a Vega-Lite specification that contains its rows."""
    rows = [placed(row) for row in rows]
    return finished(FIGURES[key](inline(rows), rows))


def _bias(data: alt.Data, rows: Rows) -> Any:
    """Squared bias and variance of each measure, side by side for each level of noise."""
    order = list(dict.fromkeys(row["measure"] for row in rows))
    colours = alt.Scale(domain=["bias", "variance"], range=theme.COLOURS[:2])
    return (
        alt.Chart(data, width=150, height=18 * len(order))
        .transform_fold(["bias", "variance"], as_=["part", "error"])
        .mark_bar()
        .encode(
            y=alt.Y("measure:N", sort=order, title=None),
            x=alt.X("error:Q", title="squared error", axis=alt.Axis(format="~g", labelOverlap=True)),
            color=alt.Color("part:N", scale=colours, title=None),
            tooltip=["measure:N", "part:N", alt.Tooltip("error:Q", format=".6f")],
            column=alt.Column("level:O", title="noise of a rater's start (s)"),
        )
    )


def _theory(data: alt.Data, rows: Rows) -> Any:
    """Squared bias, variance and their sum by threshold and noise (AxIoU, Figure 10)."""
    return (
        alt.Chart(data, width=210, height=190)
        .mark_line()
        .encode(
            x=alt.X("theta:Q", title="threshold θ"),
            y=alt.Y("error:Q", title="error"),
            color=alt.Color("noise:N", title="noise γ", scale=alt.Scale(range=theme.COLOURS)),
            strokeDash=alt.StrokeDash("of:N", title=None, sort=["R@1,θ", "AxIoU@1"]),
            tooltip=["of:N", "noise:N", alt.Tooltip("theta:Q"), alt.Tooltip("error:Q", format=".4f")],
            facet=alt.Facet("part:N", columns=3, title=None, sort=["squared bias", "variance", "sum"]),
        )
    )


def _judging(data: alt.Data, rows: Rows) -> Any:
    """Scores of the systems under each change of the judging, each with the range over its draws."""
    ways = list(dict.fromkeys(row["way"] for row in rows))
    systems = list(dict.fromkeys(row["system"] for row in rows))
    colours = alt.Scale(domain=systems, range=theme.COLOURS)
    shapes = alt.Scale(domain=systems)
    numbers = [alt.Tooltip(f"{name}:Q", format=".4f") for name in ("mean", "lowest", "highest")]
    base = alt.Chart(data, width=520, height=max(120, 22 * len(ways))).encode(
        y=alt.Y("way:N", sort=ways, title=None, axis=alt.Axis(labelLimit=260)),
        color=alt.Color("system:N", scale=colours, title=None),
        tooltip=["way:N", "system:N", *numbers],
    )
    where = {"title": rows[0]["measure"], "scale": alt.Scale(zero=False)}
    spans = base.mark_rule(strokeWidth=2, opacity=0.5).encode(x=alt.X("lowest:Q", **where), x2="highest:Q")
    points = base.mark_point(size=70, filled=True, opacity=1).encode(
        x=alt.X("mean:Q", **where), shape=alt.Shape("system:N", scale=shapes, title=None)
    )
    return spans + points


FIGURES: dict[str, Callable[[alt.Data, Rows], Any]] = {
    "scores": lambda data, rows: lines(data, rows, "system:N", "", "mean:Q", "mean score"),  # AxIoU, Figure 5
    "agreement": agreement,
    "stability-two": stability,
    "stability-full": stability,
    "noise": noise,
    "bias": _bias,
    "theory": _theory,
    "ties": ties,
    "select": select,
    "judging": _judging,
}


def _two_runs(rows: Rows, names: list[str], measure: str) -> Any:
    """A point for each query, at its values of one run and the other; it is a link."""
    top = max((value for row in rows for value in (row["x"], row["y"])), default=0) or 1
    scale = alt.Scale(domain=[0, top])
    axes = [f"{measure} of {name}" if len(name) < 24 else measure for name in names]
    points = _points(rows, names).encode(
        x=alt.X("x:Q", title=axes[0], scale=scale), y=alt.Y("y:Q", title=axes[1], scale=scale)
    )
    corners = inline([{"x": 0, "y": 0}, {"x": top, "y": top}])
    return alt.Chart(corners).mark_line(color=theme.FAINT).encode(x="x:Q", y="y:Q") + points


def _queries(rows: Rows, names: list[str], measure: str) -> Any:
    """The value of each query, the highest first, and that of the other run as a pale line."""
    points = _points(rows, names).encode(
        x=alt.X("place:Q", title="queries, sorted", axis=alt.Axis(tickMinStep=1), scale=alt.Scale(nice=False)),
        y=alt.Y("x:Q", title=measure),
    )
    if len(names) < 2:
        return points
    return points.mark_line(color=theme.FAINT, strokeWidth=2).encode(y="y:Q", href=alt.value(None)) + points


def _points(rows: Rows, names: list[str]) -> Any:
    numbers = [alt.Tooltip(f"{key}:Q", title=name, format=".4f") for key, name in zip("xy", names, strict=False)]
    # Nothing is see-through, so that the same figure is the same PDF: rings show points that lie on each other.
    marks = alt.Chart(inline(rows)).mark_point(size=45, opacity=1, color=theme.COLOURS[0], cursor="pointer")
    return marks.encode(href="address:N", tooltip=["query:N", "text:N", *numbers])


def _judged(rows: Rows, names: list[str], measure: str) -> Any:
    """The share of the first predictions that somebody judged, by rank; of bars, the PDF is the same each time."""
    base = alt.Chart(inline(rows)).mark_bar(size=4.5, color=SHADES[2])
    return base.encode(
        x=alt.X("rank:Q", title="rank", scale=alt.Scale(nice=False)),
        y=alt.Y("judged:Q", title="judged", axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0, 1])),
        tooltip=["rank:Q", alt.Tooltip("judged:Q", format=".1%")],
    )


def _gain(rows: Rows, names: list[str], measure: str) -> Any:
    """Cumulated gain by rank, with the ideal ranking on top."""
    order = ["ideal", *names]
    colours = alt.Scale(domain=order, range=[theme.FAINT, *theme.COLOURS[: len(names)]])
    base = alt.Chart(inline(rows)).encode(
        x=alt.X("rank:Q", title="rank", axis=alt.Axis(tickMinStep=1), scale=alt.Scale(nice=False)),
        y=alt.Y("gain:Q", title="gain so far"),
        color=alt.Color("run:N", scale=colours, sort=order, title=None),
        tooltip=["run:N", "rank:Q", alt.Tooltip("gain:Q", format=".3f")],
    )
    return base.mark_line(interpolate="step-after", strokeWidth=2)


def _places(rows: Rows, measure: str) -> Any:
    """A cell for each run and place, the darker the more probable."""
    runs, share = _in_order(rows, "run"), alt.Tooltip("probability:Q", format=".1%")
    base = alt.Chart(inline(rows)).encode(
        x=alt.X("place:O", title="place", axis=alt.Axis(labelAngle=0)),
        y=alt.Y("run:N", sort=runs, title=None, axis=RUN_NAMES),
        tooltip=["run:N", "place:O", share],
    )
    return _cells(base, "probability", len(runs))


def _wins(rows: Rows, measure: str) -> Any:
    """The lower triangle of all pairs of runs."""
    tips = [alt.Tooltip(f"{name}:Q", format=".1%") for name in ("wins", "losses")]
    base = alt.Chart(inline(rows)).encode(
        x=alt.X("against:N", sort=_in_order(rows, "against"), title=None, axis=alt.Axis(labelLimit=80, labelAngle=-40)),
        y=alt.Y("run:N", sort=_in_order(rows, "run"), title=None, axis=RUN_NAMES),
        tooltip=["against:N", "run:N", "queries:Q", *tips, alt.Tooltip("p:Q", format=".4f")],
    )
    return _cells(base, "wins", len(_in_order(rows, "against")), starred="datum.p < 0.05")


def _cells(base: Any, name: str, columns: int, starred: str = "false") -> Any:
    """Return shaded cells with their percentages, where there is room for them."""
    colours = alt.Scale(domain=[0, 1], range=[theme.PAPER, SHADES[-1]], interpolate="rgb")
    shade = alt.Color(f"{name}:Q", scale=colours, legend=None)
    on = alt.condition(f"datum.{name} > 0.7", alt.value(theme.PAPER), alt.value(theme.INK))
    texts = base.transform_filter(f"datum.{name} >= 0.005")
    texts = texts.transform_calculate(words=f"format(datum.{name}, '.0%') + ({starred} ? '*' : '')")
    size = alt.ExprRef(f"width < {28 * columns} ? 0 : 12")
    return base.mark_rect().encode(shade) + texts.mark_text(fontSize=size).encode(text="words:N", color=on)


def _slices(rows: Rows, measure: str) -> Any:
    """The scores of all runs on each part of the queries, one small drawing a part."""
    parts = {row["slice"]: f"{row['slice']} ({row['queries']})" for row in rows}
    rows = [row | {"slice": parts[row["slice"]]} for row in rows]
    level: dict[str, Any] = {"title": None, "scale": alt.Scale(zero=False), "axis": alt.Axis(tickCount=3)}
    base = alt.Chart(width=150, height=max(60, 20 * len(_in_order(rows, "run")))).encode(
        y=alt.Y("run:N", sort=_in_order(rows, "run"), title=None, axis=RUN_NAMES),
        tooltip=["slice:N", "run:N", *(alt.Tooltip(f"{name}:Q", format=".4f") for name in ("value", "low", "high"))],
    )
    ends = base.mark_rule(color=theme.COLOURS[0], strokeWidth=2).encode(x=alt.X("low:Q", **level), x2="high:Q")
    dots = base.mark_point(color=theme.COLOURS[0], opacity=1, size=50).encode(x=alt.X("value:Q", **level))
    by = alt.Facet("slice:N", title=None, sort=[*parts.values()], header=alt.Header(labelFontSize=13))
    return alt.layer(ends, dots, data=inline(rows)).facet(facet=by, columns=5).properties(title=measure)


def _cost(rows: Rows, measure: str) -> Any:
    """The score of each run by the hours judged up to each release."""
    numbers = [alt.Tooltip(f"{name}:Q", format=".4f") for name in ("value", "low", "high")]
    names = alt.Legend(orient="top", columns=2)
    base = alt.Chart(inline(rows)).encode(
        x=alt.X("hours:Q", title="hours of judging", axis=alt.Axis(grid=False)),
        color=alt.Color("run:N", sort=_in_order(rows, "run"), title=None, legend=names),
        tooltip=["run:N", "release:O", alt.Tooltip("hours:Q", format=".1f"), *numbers],
    )
    level: dict[str, Any] = {"title": measure, "scale": alt.Scale(zero=False)}
    ends = base.mark_area(opacity=0.15).encode(y=alt.Y("low:Q", **level), y2="high:Q")
    return ends + base.mark_line(point={"opacity": 1}).encode(y=alt.Y("value:Q", **level))


def _in_order(rows: Rows, name: str) -> list[Any]:
    return list(dict.fromkeys(row[name] for row in rows))


RUN_NAMES = alt.Axis(labelLimit=140)
OF_BOARD: dict[str, Callable[[Rows, str], Any]] = {"places": _places, "wins": _wins, "slices": _slices, "cost": _cost}
OF_RUNS: dict[str, Callable[[Rows, list[str], str], Any]] = {
    "queries": _queries,
    "scatter": _two_runs,
    "judged": _judged,
    "gain": _gain,
}


def specification(key: str, size: tuple[int, int], rows: Rows, *about: Any) -> dict[str, Any]:
    """Return a figure of a leaderboard, or of runs, as a Vega-Lite specification that contains its rows.

    about: the names of the runs if it is of these, and the measure.
    """
    draw: Callable[..., Any] = OF_BOARD.get(key) or OF_RUNS[key]
    chart = draw(rows, *about)
    return finished(chart if key == "slices" else sized(chart, *size))  # whose parts have their own size


def curves(rows: Rows) -> dict[str, Any]:
    """Return the curves of a training: the loss, and the validation below."""
    names = list(dict.fromkeys(row["curve"] for row in rows))
    panels = [
        alt.Chart(inline([row for row in rows if row["curve"] == name]), width=560, height=150)
        .mark_line(color=theme.COLOURS[n % 2], point={"color": theme.COLOURS[n % 2]} if n else False)
        .encode(
            x=alt.X("step:Q", title="step"),
            y=alt.Y("value:Q", title=parse_measure(name).spelling if n else name, scale=alt.Scale(zero=False)),
            tooltip=["step:Q", alt.Tooltip("value:Q", format=".4f")],
        )
        for n, name in enumerate(names)
    ]
    return finished(alt.vconcat(*panels))
