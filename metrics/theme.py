"""The theme that all figures share; importing it imports Altair."""

from typing import Any

import altair as alt

INK, PAPER, FAINT = "#22262b", "#ffffff", "#d9dde2"
COLOURS = ["#1f5fa8", "#c8501e", "#2f8f5b", "#8a4fa3", "#b58900", "#3c9aa6", "#a33b53", "#6b7280"]
DASHES = [[1, 0], [6, 3], [2, 2], [8, 2, 2, 2]]
FONT = "DejaVu Sans, Liberation Sans, Helvetica, sans-serif"


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
        "point": {"size": 36, "filled": True},
    }
    return {"config": config}
