"""Drawing the figures about measures with Altair, in the project's theme. Only functions that draw import it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import altair as alt

from metrics import theme
from metrics.figures import agreement, inline, lines, noise, placed, select, stability, ties
from reports.figures.drawing import finished

Rows = list[dict[str, Any]]
BLUE, ORANGE = theme.COLOURS[:2]


def specification(key: str, rows: Rows) -> dict[str, Any]:
    """Return the figure as a Vega-Lite specification that contains its rows."""
    rows = [placed(row) for row in rows]
    return finished(FIGURES[key](inline(rows), rows))


def _scores(data: alt.Data, rows: Rows) -> Any:
    """Mean of each system by each measure (AxIoU, Figure 5)."""
    return lines(data, rows, "system:N", "", "mean:Q", "mean score")


def _bias(data: alt.Data, rows: Rows) -> Any:
    """Squared bias and variance of each measure, side by side for each level of noise."""
    order = list(dict.fromkeys(row["measure"] for row in rows))
    return (
        alt.Chart(data, width=150, height=18 * len(order))
        .transform_fold(["bias", "variance"], as_=["part", "error"])
        .mark_bar()
        .encode(
            y=alt.Y("measure:N", sort=order, title=None),
            x=alt.X("error:Q", title="squared error", axis=alt.Axis(format="~g", labelOverlap=True)),
            color=alt.Color("part:N", scale=_two("bias", "variance"), title=None),
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


def _two(one: str, other: str) -> alt.Scale:
    return alt.Scale(domain=[one, other], range=[BLUE, ORANGE])


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
