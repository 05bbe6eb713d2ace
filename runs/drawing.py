"""Drawing the figures of runs with Altair, in the project's theme. Only functions that draw import this module."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import altair as alt

from metrics import figures as theme
from metrics import parse_measure
from metrics.figures import agreement, inline, lines, noise, placed, select, stability, ties
from reports.figures.drawing import finished

Rows = list[dict[str, Any]]


def about_measures(key: str, rows: Rows) -> dict[str, Any]:
    """Return a figure about measures as a Vega-Lite specification that contains its rows."""
    rows = [placed(row) for row in rows]
    return finished(FIGURES[key](inline(rows), rows))


def _scores(data: alt.Data, rows: Rows) -> Any:
    """Mean of each system by each measure (AxIoU, Figure 5)."""
    return lines(data, rows, "system:N", "", "mean:Q", "mean score")


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
    "scores": _scores,
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


def two_runs(rows: Rows, run: str, other: str, measure: str) -> dict[str, Any]:
    """Return the figure of two runs: a point for each query, at its values of one run and the other; it is a link."""
    data = inline(rows)
    top = max((value for row in rows for value in (row["x"], row["y"])), default=0) or 1
    scale = alt.Scale(domain=[0, top])
    points = (
        alt.Chart(data, width=440, height=440)
        .mark_point(size=45, filled=True, opacity=0.45, color=theme.COLOURS[0], cursor="pointer")
        .encode(
            x=alt.X("x:Q", title=f"{measure} of {run}", scale=scale),
            y=alt.Y("y:Q", title=f"{measure} of {other}", scale=scale),
            href="address:N",
            tooltip=[
                alt.Tooltip("query:N"),
                alt.Tooltip("text:N"),
                alt.Tooltip("x:Q", title=run, format=".4f"),
                alt.Tooltip("y:Q", title=other, format=".4f"),
            ],
        )
    )
    corners = inline([{"x": 0, "y": 0}, {"x": top, "y": top}])
    line = alt.Chart(corners).mark_line(color=theme.FAINT).encode(x="x:Q", y="y:Q")
    return finished(line + points)


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
