"""The desk's small charts: drawn as SVG by a template, from few numbers, so that the page needs no script."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

WIDTH, HEIGHT = 240.0, 64.0  # of a drawing, in its own units
GAP = 0.25  # of a bar's step


@dataclass(frozen=True)
class Bar:
    x: float
    y: float
    width: float
    height: float
    label: str


@dataclass(frozen=True)
class Spark:
    """A number in words with a small drawing below it; `description` says the drawing as a sentence."""

    title: str
    value: str
    note: str
    description: str
    address: str = ""
    bars: list[Bar] = field(default_factory=list)
    line: str = ""
    labels: tuple[str, str] = ("", "")


def bars(heights: Sequence[float], labels: Sequence[str]) -> list[Bar]:
    """Return a bar for each number, or none if all are 0."""
    top, step = max(heights, default=0), WIDTH / max(1, len(heights))
    if not top:
        return []
    return [
        Bar(place * step, HEIGHT * (1 - height / top), step * (1 - GAP), HEIGHT * height / top, label)
        for place, (height, label) in enumerate(zip(heights, labels, strict=True))
    ]


def line(heights: Sequence[float | None], top: float) -> str:
    """Return the points of a line from 0 at the bottom to `top`, or none if it would have one point at most.

    What is not known is left out.
    """
    step = WIDTH / max(1, len(heights) - 1)
    points = [
        (place * step, HEIGHT * (1 - max(0.0, min(height, top)) / top))
        for place, height in enumerate(heights)
        if height is not None
    ]
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points) if len(points) > 1 else ""
