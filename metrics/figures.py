"""The figures of the commands that examine measures, in the project's theme, from the records that these
commands print.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import altair as alt

from . import theme
from .analysis.meta import spelt
from .formats.errors import MeasureError

Rows = list[dict[str, Any]]
KINDS = (".svg", ".png", ".pdf")


def draw(kind: str, rows: Rows, path: str) -> None:
    """Draw the figure of a command (`agreement`, `stability`, `noise`, `ties`, `select`) into a file."""
    rows = [{key: spelt(key, value) for key, value in row.items()} for row in rows]
    save(FIGURES[kind](inline(rows), rows), path)


def save(chart: Any, path: str) -> None:
    """Write a figure as SVG, PNG or PDF, whichever the name says."""
    if Path(path).suffix not in KINDS:
        raise MeasureError(f"{path}: a figure must be called .svg, .png or .pdf")
    try:
        chart.save(path, scale_factor=2) if path.endswith(".png") else chart.save(path)
    except OSError as problem:
        raise MeasureError(f"{path}: cannot be written: {problem.strerror}") from None


def inline(rows: Rows) -> alt.Data:
    """The records as data inside the figure."""
    data: alt.Data = alt.Data(values=rows)  # type: ignore[no-untyped-call]
    return data


def agreement(data: alt.Data, rows: Rows) -> Any:
    """Matrix of τ-b between measures (AxIoU, Figure 4)."""
    order = list(dict.fromkeys(row["measure"] for row in rows))
    base = alt.Chart(data, width=34 * len(order), height=26 * len(order)).encode(
        x=alt.X("other:N", sort=order, title=None, axis=alt.Axis(labelAngle=-45)),
        y=alt.Y("measure:N", sort=order, title=None),
    )
    colour = alt.Color("tau:Q", scale=alt.Scale(domain=[-1, 1], scheme="redblue"), title="τ-b")
    dark = alt.expr.abs(alt.datum.tau) > 0.6
    ink = alt.condition(dark, alt.value(theme.PAPER), alt.value(theme.INK))
    numbers = base.mark_text(fontSize=9).encode(text=alt.Text("tau:Q", format=".2f"), color=ink)
    return base.mark_rect().encode(color=colour) + numbers


def stability(data: alt.Data, rows: Rows) -> Any:
    """Mean and variance of the self-agreement by subset size (AxIoU, Figure 6)."""
    charts = [
        _lines(data, rows, "size:Q", "queries in a subset", f"{part}:Q", f"{part} of τ-b")
        for part in ("mean", "variance")
    ]
    return alt.hconcat(*charts)


def noise(data: alt.Data, rows: Rows) -> Any:
    """Error by noise level (AxIoU, Figure 7)."""
    return _lines(data, rows, "level:Q", "noise of a rater's start (s)", "rmse:Q", "mean RMSE")


def ties(data: alt.Data, rows: Rows) -> Any:
    """Share of queries on which all systems tie (AxIoU, Figure 9)."""
    return (
        alt.Chart(data, width=320)
        .mark_bar(color=theme.COLOURS[0])
        .encode(
            x=alt.X("all_tied:Q", title="all-tied query ratio", scale=alt.Scale(domain=[0, 1])),
            y=alt.Y("measure:N", sort=[row["measure"] for row in rows], title=None),
        )
    )


def select(data: alt.Data, rows: Rows) -> Any:
    """Z-scores of the systems that each measure selects, by test measure (AxIoU, Figure 8)."""
    order = list(dict.fromkeys(row["test"] for row in rows))
    chart = _lines(data, rows, "test:N", "test measure", "z:Q", "z-score", name="validation")
    return chart.encode(x=alt.X("test:N", sort=order, title="test measure"))


def _lines(
    data: alt.Data, rows: Rows, x: str, x_title: str, y: str, y_title: str, name: str = "measure"
) -> Any:
    """A line for each measure; colour and dash tell them apart, also without colour."""
    order = list(dict.fromkeys(row[name] for row in rows))
    dashes = [theme.DASHES[i // len(theme.COLOURS) % len(theme.DASHES)] for i in range(len(order))]
    colours = [theme.COLOURS[i % len(theme.COLOURS)] for i in range(len(order))]
    return (
        alt.Chart(data, width=320, height=260)
        .mark_line(point=True)
        .encode(
            x=alt.X(x, title=x_title),
            y=alt.Y(y, title=y_title, scale=alt.Scale(zero=False)),
            color=alt.Color(
                f"{name}:N", sort=order, scale=alt.Scale(domain=order, range=colours), title=None
            ),
            strokeDash=alt.StrokeDash(
                f"{name}:N", sort=order, scale=alt.Scale(domain=order, range=dashes), title=None
            ),
        )
    )


FIGURES: dict[str, Callable[[alt.Data, Rows], Any]] = {
    "agreement": agreement,
    "stability": stability,
    "noise": noise,
    "ties": ties,
    "select": select,
}
