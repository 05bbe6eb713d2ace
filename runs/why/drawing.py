"""Drawing two runs against each other with Altair, in the project's theme. Only functions that draw import it."""

from __future__ import annotations

from typing import Any

import altair as alt

from metrics import theme
from metrics.figures import inline
from reports.figures.drawing import finished

SIZE = 440


def specification(rows: list[dict[str, Any]], run: str, other: str, measure: str) -> dict[str, Any]:
    """Return the figure: each point a query, `x` its value of one run and `y` of the other; a click opens its page."""
    data = inline(rows)
    top = max((value for row in rows for value in (row["x"], row["y"])), default=0) or 1
    scale = alt.Scale(domain=[0, top])
    points = (
        alt.Chart(data, width=SIZE, height=SIZE)
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
