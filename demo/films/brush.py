"""A flat brush on a Pillow image: discs, ribbons and hulls in the picture's own pixels (480 by 270).

The image is twice as large and is halved when a frame is finished, which smooths every edge.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from math import cos, pi, sin

from PIL import Image, ImageDraw

WIDTH, HEIGHT, FINE = 480, 270, 2
Colour = tuple[int, int, int]
Circle = tuple[float, float, float]
_RING = tuple((cos(pi * k / 10), sin(pi * k / 10)) for k in range(20))


@lru_cache(maxsize=256)
def colour(code: str) -> Colour:
    """Read ``#rrggbb``."""
    return int(code[1:3], 16), int(code[3:5], 16), int(code[5:7], 16)


@lru_cache(maxsize=512)
def shade(code: Colour, by: float) -> Colour:
    """Darken (``by`` below 1) or lighten (above 1) a colour."""
    if by <= 1:
        return int(code[0] * by), int(code[1] * by), int(code[2] * by)
    keep = 2 - by
    return tuple(int(255 - (255 - c) * keep) for c in code)  # type: ignore[return-value]


class Brush:
    """Draws on one image; coordinates and widths are the picture's pixels."""

    def __init__(self, image: Image.Image) -> None:
        self.image = image
        self._draw = ImageDraw.Draw(image)

    def disc(self, x: float, y: float, rx: float, fill: Colour, ry: float | None = None) -> None:
        """Fill an ellipse around (x, y)."""
        ry = rx if ry is None else ry
        self._draw.ellipse(_fine((x - rx, y - ry, x + rx, y + ry)), fill=fill)

    def box(self, x0: float, y0: float, x1: float, y1: float, fill: Colour, corner: float = 0.0) -> None:
        """Fill a rectangle, its corners rounded."""
        edges = _fine((x0, y0, x1 - 0.5, y1 - 0.5))
        if corner:
            self._draw.rounded_rectangle(edges, radius=corner * FINE, fill=fill)
        else:
            self._draw.rectangle(edges, fill=fill)

    def shape(self, points: Iterable[tuple[float, float]], fill: Colour) -> None:
        """Fill a polygon."""
        self._draw.polygon([(x * FINE, y * FINE) for x, y in points], fill=fill)

    def ribbon(self, points: Sequence[Sequence[float]], width: float, fill: Colour) -> None:
        """Draw a thick line with round ends and joints."""
        flat = [(p[0] * FINE, p[1] * FINE) for p in points]
        self._draw.line(flat, fill=fill, width=max(1, round(width * FINE)))
        if width > 1.5:
            for p in points:
                self.disc(p[0], p[1], width / 2 - 0.1, fill)

    def hull(self, circles: Iterable[Circle], fill: Colour) -> None:
        """Fill the convex shape around the circles: in each direction, their farthest point."""
        first, *others = circles
        points = []
        for c, s in _RING:
            x, y, r = first
            far = x * c + y * s + r
            for circle in others:
                reach = circle[0] * c + circle[1] * s + circle[2]
                if reach > far:
                    far, (x, y, r) = reach, circle
            points.append(((x + r * c) * FINE, (y + r * s) * FINE))
        self._draw.polygon(points, fill=fill)

    def arc(
        self, x: float, y: float, r: float, start: float, end: float, fill: Colour, width: float = 1.0
    ) -> None:
        """Draw a part of a circle, angles in degrees clockwise from the right."""
        self._draw.arc(_fine((x - r, y - r, x + r, y + r)), start, end, fill=fill, width=round(width * FINE))


def taper(a: Sequence[float], ra: float, b: Sequence[float], rb: float) -> tuple[Circle, Circle]:
    """Two circles whose hull is a limb that grows thinner."""
    return (a[0], a[1], ra), (b[0], b[1], rb)


def along(a: Sequence[float], b: Sequence[float], t: float) -> tuple[float, float]:
    """The point a part ``t`` of the way from a to b."""
    return a[0] + (b[0] - a[0]) * t, a[1] + (b[1] - a[1]) * t


def _fine(edges: tuple[float, float, float, float]) -> tuple[float, float, float, float]:
    return edges[0] * FINE, edges[1] * FINE, edges[2] * FINE, edges[3] * FINE
