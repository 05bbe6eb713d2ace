"""The figures of the commands that examine measures, in the project's theme, from the records that these
commands print.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import altair as alt

from .analysis.meta import spelt
from .formats.errors import MeasureError
from .measures.definitions import parse_measure

Rows = list[dict[str, Any]]
KINDS = (".svg", ".png", ".pdf")
# The light colours of Reeljudge's pages, which show the same figures in their dark ones.
INK, PAPER, FAINT = "#1d1f21", "#ffffff", "#dedbd5"
COLOURS = ["#0f6b66", "#c8501e", "#1f5fa8", "#8a4fa3", "#b58900", "#6a8f2f", "#a33b53", "#6b7280"]
DASHES = [[1, 0], [6, 3], [2, 2], [8, 2, 2, 2]]
FONT = "Reeljudge Sans, DejaVu Sans, Liberation Sans, Helvetica, sans-serif"


@alt.theme.register("reeljudge", enable=True)
def reeljudge() -> alt.theme.ThemeConfig:
    """Dark ink on white, one order of hues, no frames, and sizes for a printed column."""
    text = {"labelColor": INK, "titleColor": INK, "labelFont": FONT, "titleFont": FONT, "titleFontWeight": "normal"}
    config: Any = {
        "background": PAPER,
        "font": FONT,
        "view": {"stroke": None},
        "axis": {**text, "gridColor": FAINT, "domainColor": INK, "tickColor": INK},
        "legend": {**text, "symbolStrokeWidth": 2, "labelLimit": 300},
        "header": text,
        "title": {"color": INK, "font": FONT, "fontWeight": "normal", "anchor": "start"},
        "range": {"category": COLOURS},
        "line": {"strokeWidth": 2},
        "text": {"color": INK, "font": FONT},
        "point": {"size": 36, "filled": True},
    }
    return {"config": config}


def draw(kind: str, rows: Rows, path: str) -> None:
    """Draw the figure of a command (`agreement`, `stability`, `noise`, `ties`, `select`) into a file."""
    rows = [placed(row) for row in rows]
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
    return matrix(data, rows, ("measure", "other"), ("tau", "τ-b"), 1)


def stability(data: alt.Data, rows: Rows) -> Any:
    """Mean and variance of the self-agreement by subset size (AxIoU, Figure 6)."""
    charts = [
        lines(data, rows, "size:Q", "queries in a subset", f"{part}:Q", f"{part} of τ-b")
        for part in ("mean", "variance")
    ]
    return alt.vconcat(*charts)


def noise(data: alt.Data, rows: Rows) -> Any:
    """Error by noise level (AxIoU, Figure 7)."""
    return lines(data, rows, "level:Q", "noise of a rater's start (s)", "rmse:Q", "mean RMSE")


def ties(data: alt.Data, rows: Rows) -> Any:
    """Share of queries on which all systems tie (AxIoU, Figure 9)."""
    return (
        alt.Chart(data, width=320)
        .mark_bar(color=COLOURS[0])
        .encode(
            x=alt.X("all_tied:Q", title="all-tied query ratio", scale=alt.Scale(domain=[0, 1])),
            y=alt.Y("measure:N", sort=[row["measure"] for row in rows], title=None),
            tooltip=["measure:N", alt.Tooltip("all_tied:Q", format=".3f")],
        )
    )


def select(data: alt.Data, rows: Rows) -> Any:
    """Z-scores of the systems that each measure selects, by test measure (AxIoU, Figure 8)."""
    most = max(abs(row["z"]) for row in rows) or 1.0
    return matrix(data, rows, ("validation", "test"), ("z", "z-score"), most)


def matrix(data: alt.Data, rows: Rows, sides: tuple[str, str], value: tuple[str, str], most: float) -> Any:
    """Coloured cells with their numbers: a value from -most to most for each two of the sides, down and across. A cell
    without a value stays empty.
    """
    (down, across), (name, title) = sides, value
    across_order, down_order = _order(rows, across), _order(rows, down)
    base = (
        alt.Chart(data, width=34 * len(across_order), height=26 * len(down_order))
        .transform_filter(alt.expr.isValid(alt.datum[name]))
        .encode(
            x=_names(alt.X, across, across_order, axis=alt.Axis(labelAngle=-45)),
            y=_names(alt.Y, down, down_order),
            tooltip=[f"{down}:N", f"{across}:N", alt.Tooltip(f"{name}:Q", title=title, format=".3f")],
        )
    )
    scale = alt.Scale(domain=[-most, 0, most], range=[COLOURS[1], PAPER, COLOURS[0]], interpolate="rgb")
    strong = alt.expr.abs(alt.datum[name]) > 0.6 * most
    ink = alt.condition(strong, alt.value(PAPER), alt.value(INK))
    numbers = base.mark_text(fontSize=9).encode(text=alt.Text(f"{name}:Q", format=".2f"), color=ink)
    return base.mark_rect().encode(color=alt.Color(f"{name}:Q", scale=scale, title=title)) + numbers


def _names(channel: Any, name: str, order: list[str], **more: Any) -> Any:
    """An axis with a place for each name, also for one without a value."""
    return channel(f"{name}:N", sort=None, scale=alt.Scale(domain=order), title=None, **more)


def lines(data: alt.Data, rows: Rows, x: str, x_title: str, y: str, y_title: str) -> Any:
    """A panel for the measures of each cutoff, and in it a line for each threshold; colour and dash tell them apart."""
    order, panels = _order(rows, "line"), _order(rows, "panel")
    dashes = [DASHES[i % len(DASHES)] for i in range(len(order))]
    colours = [COLOURS[i % len(COLOURS)] for i in range(len(order))]
    names = _order(rows, x.partition(":")[0])  # a text keeps the order of the rows
    return (
        alt.Chart(data, width=210, height=170)
        .mark_line(point=True)
        .encode(
            x=alt.X(x, title=x_title, sort=names if x.endswith(":N") else alt.Undefined),
            y=alt.Y(y, title=y_title, scale=alt.Scale(zero=False)),
            color=alt.Color("line:N", sort=order, scale=alt.Scale(domain=order, range=colours), title=None),
            strokeDash=alt.StrokeDash("line:N", sort=order, scale=alt.Scale(domain=order, range=dashes), title=None),
            tooltip=["measure:N", alt.Tooltip(x, title=x_title), alt.Tooltip(y, title=y_title, format=".4f")],
            facet=alt.Facet("panel:N", sort=panels, columns=3, title=None),
        )
    )


def placed(row: dict[str, Any]) -> dict[str, Any]:
    """The row with its measure as the papers spell it, and with the panel and the line that it belongs to."""
    where = {"panel": "", "line": ""}
    if "measure" in row:
        where = dict(zip(where, panel_and_line(row["measure"]), strict=True))
    return {key: spelt(key, value) for key, value in row.items()} | where


def panel_and_line(name: str) -> tuple[str, str]:
    """The panel of a measure, which it shares with those that look equally deep, and its line there.

    >>> panel_and_line("Success_IoU(iou=0.7)@5"), panel_and_line("AxIoU@5")
    (('R@5, AxIoU@5', 'IoU 0.7'), ('R@5, AxIoU@5', 'AxIoU'))
    """
    measure = parse_measure(name)
    if measure.name == "AxIoU" or measure.spelling.startswith("R@"):
        panel = f"R@{measure.cutoff}, AxIoU@{measure.cutoff}"
    else:
        panel = measure.spelling.partition(",")[0]
    iou = dict(measure.params).get("iou")
    return panel, f"IoU {iou}" if iou else measure.name


def _order(rows: Rows, name: str) -> list[Any]:
    return list(dict.fromkeys(row[name] for row in rows))


FIGURES: dict[str, Callable[[alt.Data, Rows], Any]] = {
    "agreement": agreement,
    "stability": stability,
    "noise": noise,
    "ties": ties,
    "select": select,
}
