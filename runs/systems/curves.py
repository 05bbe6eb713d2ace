"""Drawing the curves of a training with Altair, in the project's theme. Only functions that draw import it."""

from __future__ import annotations

from typing import Any

import altair as alt

from metrics import parse_measure, theme
from metrics.figures import inline
from reports.figures.drawing import finished

Rows = list[dict[str, Any]]


def specification(rows: Rows) -> dict[str, Any]:
    """Return the curves as a Vega-Lite specification that contains its points: the loss, and the validation below."""
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
