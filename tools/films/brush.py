"""A flat brush on a Pillow image, and drawings kept as tables of shapes (``shapes.toml``).

Coordinates and widths are the picture's own pixels (480 by 270). The image is twice as large and is halved
when a frame is finished, which smooths every edge.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Sequence
from functools import lru_cache
from math import cos, inf, pi, radians, sin
from pathlib import Path
from typing import NamedTuple

from PIL import Image, ImageDraw

WIDTH, HEIGHT, FINE = 480, 270, 2
Colour = tuple[int, int, int]
Circle = tuple[float, float, float]
_RING = tuple((cos(pi * k / 8), sin(pi * k / 8)) for k in range(16))


@lru_cache(maxsize=1024)
def colour(code: str, by: float = 1.0) -> Colour:
    """Read ``#rrggbb``, darken it (``by`` below 1) or lighten it (``by`` above 1)."""
    parts = [int(code[k : k + 2], 16) for k in (1, 3, 5)]
    red, green, blue = (c * by if by <= 1 else 255 - (255 - c) * (2 - by) for c in parts)
    return int(red), int(green), int(blue)


class Brush:
    """Draws on one image."""

    def __init__(self, image: Image.Image) -> None:
        self.image = image
        self._draw = ImageDraw.Draw(image)

    def disc(self, x: float, y: float, rx: float, fill: Colour, ry: float | None = None) -> None:
        """Fill an ellipse around (x, y)."""
        ry = rx if ry is None else ry
        self._draw.ellipse(_fine(x - rx, y - ry, x + rx, y + ry), fill=fill)

    def box(self, x0: float, y0: float, x1: float, y1: float, fill: Colour, corner: float = 0.0) -> None:
        """Fill a rectangle, its corners rounded."""
        self._draw.rounded_rectangle(_fine(x0, y0, x1 - 0.5, y1 - 0.5), corner * FINE, fill)

    def shape(self, points: Iterable[Sequence[float]], fill: Colour) -> None:
        """Fill a polygon."""
        self._draw.polygon([(x * FINE, y * FINE) for x, y in points], fill)

    def ribbon(self, points: Sequence[Sequence[float]], width: float, fill: Colour) -> None:
        """Draw a thick line with round ends and joints."""
        flat = [(x * FINE, y * FINE) for x, y in points]
        self._draw.line(flat, fill, max(1, round(width * FINE)))
        if width > 1.5:
            for x, y in points:
                self.disc(x, y, width / 2 - 0.1, fill)

    def hull(self, circles: Sequence[Sequence[float]], fill: Colour) -> None:
        """Fill the convex shape around the circles (x, y, radius): in each direction, their farthest point."""
        points = []
        for c, s in _RING:
            far = -inf
            for x, y, r in circles:
                reach = x * c + y * s + r
                if reach > far:
                    far, farthest = reach, ((x + r * c) * FINE, (y + r * s) * FINE)
            points.append(farthest)
        self._draw.polygon(points, fill)

    def arc(
        self, x: float, y: float, r: float, fill: Colour, width: float, ends: tuple[float, float] = (0, 360)
    ) -> None:
        """Draw a circle, or the part of it between two angles, in degrees clockwise from the right."""
        self._draw.arc(_fine(x - r, y - r, x + r, y + r), *ends, fill=fill, width=round(width * FINE))


class Shape(NamedTuple):
    """One shape of a drawing: its paint is a colour, or a part of the tone of what is drawn."""

    kind: str
    paint: str
    size: float  # the width of a line or ring, the corners of a box
    points: tuple[tuple[float, ...], ...]


def draw(brush: Brush, name: str, x: float, y: float, tone: str = "", looks: int = 1, turn: float = 0) -> None:
    """Draw one of the drawings around (x, y), in a tone, mirrored when ``looks`` is -1, turned by degrees.

    It turns clockwise, or the other way in the mirror; boxes do not turn.
    """
    c, s = cos(radians(turn)), sin(radians(turn))
    for shape in DRAWINGS[name]:
        paint, _, by = shape.paint.partition("*")
        fill = colour(tone if paint == "tone" else paint, float(by or 1))
        places = ((x + looks * (p[0] * c - p[1] * s), y + p[0] * s + p[1] * c, *p[2:]) for p in shape.points)
        _paint(brush, shape.kind, list(places), shape.size, fill)


def _paint(brush: Brush, kind: str, points: list[tuple[float, ...]], size: float, fill: Colour) -> None:
    if kind == "hull":
        brush.hull(points, fill)
    elif kind == "shape":
        brush.shape(points, fill)
    elif kind == "line":
        brush.ribbon(points, size, fill)
    elif kind == "box":
        for (x0, y0), (x1, y1) in zip(points[::2], points[1::2], strict=True):
            brush.box(min(x0, x1), y0, max(x0, x1), y1, fill, size)
    elif kind == "ring":
        for x, y, r in points:
            brush.arc(x, y, r, fill, size)
    else:
        for x, y, *radii in points:
            brush.disc(x, y, radii[0], fill, radii[-1])


def _shapes(text: str) -> Iterable[Shape]:
    """Read a drawing: a line for each shape, as the head of ``shapes.toml`` tells."""
    for line in text.strip().splitlines():
        head, _, places = line.partition("|")
        *repeated, kind, paint, size = [*head.split(), "0"] if head.split()[-1][0] in "#t" else head.split()
        count, dx, dy = map(float, repeated[1:]) if repeated else (1, 0, 0)
        points = [tuple(map(float, place.split())) for place in places.split(",")]
        for k in range(int(count)):
            moved = tuple((p[0] + k * dx, p[1] + k * dy, *p[2:]) for p in points)
            yield Shape(kind, paint, float(size), moved)


def _fine(*edges: float) -> tuple[float, ...]:
    return tuple(edge * FINE for edge in edges)


_TABLE = tomllib.loads(Path(__file__).with_name("shapes.toml").read_text(encoding="utf-8"))
DRAWINGS: dict[str, tuple[Shape, ...]] = {name: tuple(_shapes(text)) for name, text in _TABLE.items()}
