"""Draw a place: wall, floor and furniture, once a film; and its door, frame by frame."""

from __future__ import annotations

from collections.abc import Callable
from math import cos, sin

from PIL import Image

from .body import floor_y
from .brush import FINE, HEIGHT, WIDTH, Brush, Colour, colour, shade
from .stage import DOOR_TALL, HALF_WIDTHS, SEATS, TOPS, WALL_FOOT, WIDE, Furniture, Place, knob_at

BEYOND: Colour = (250, 236, 196)  # the lit room behind a door


def draw_place(place: Place) -> Image.Image:
    """Draw everything that never moves, twice as large as the picture."""
    image = Image.new("RGB", (WIDTH * FINE, HEIGHT * FINE), colour(place.wall))
    brush = Brush(image)
    wall, floor = colour(place.wall), colour(place.floor)
    brush.box(0, WALL_FOOT, WIDTH, HEIGHT, floor)
    if not place.outdoors:
        brush.box(0, WALL_FOOT - 7, WIDTH, WALL_FOOT, shade(wall, 1.5))
        for step, y in enumerate((222, 234, 250)):
            brush.box(0, y, WIDTH, y + 1, shade(floor, 0.95 - step * 0.01))
    for piece in sorted(place.furniture, key=lambda p: -p.z):
        if piece.kind != "door":
            _DRAWN[piece.kind](brush, piece, colour(piece.tone))
    return image


def draw_door(
    brush: Brush, piece: Furniture, swing: float, people: Callable[[Image.Image], None] | None
) -> None:
    """Draw the frame, the opening, whoever is behind it, and the leaf ``swing`` (0 to 1) open."""
    half, foot, tone = HALF_WIDTHS["door"], WALL_FOOT, colour(piece.tone)
    left, right, top = piece.x - half, piece.x + half, foot - DOOR_TALL
    brush.box(left - 6, top - 6, right + 6, foot, shade(tone, 0.72))
    brush.box(left, top, right, foot + 0.5, BEYOND)
    brush.box(left, foot - 9, right, foot + 0.5, shade(BEYOND, 0.82))
    angle = swing * WIDE
    hinge = left if piece.looks > 0 else right
    edge = hinge + piece.looks * 2 * half * cos(angle)
    drop = 11 * sin(angle)
    leaf = [(hinge, top), (edge, top + drop), (edge, foot - drop * 0.55), (hinge, foot)]
    brush.shape(leaf, shade(tone, 1 - 0.22 * swing))
    for low, high in ((0.1, 0.45), (0.54, 0.9)):
        brush.shape(
            [_on_leaf(leaf, u, v) for u, v in ((0.18, low), (0.82, low), (0.82, high), (0.18, high))],
            shade(tone, 0.86 - 0.2 * swing),
        )
    brush.disc(*knob_at(piece, swing), 3.2, (240, 205, 110))
    if people:
        opening = tuple(round(v * FINE) for v in (left, top, right, foot + 1))
        behind = brush.image.copy()
        people(behind)
        brush.image.paste(behind.crop(opening), opening[:2])  # type: ignore[arg-type]


def _on_leaf(leaf: list[tuple[float, float]], u: float, v: float) -> tuple[float, float]:
    (x0, top0), (x1, top1), (_, foot1), (_, foot0) = leaf
    top, foot = top0 + (top1 - top0) * u, foot0 + (foot1 - foot0) * u
    return x0 + (x1 - x0) * u, top + (foot - top) * v


def _board(brush: Brush, p: Furniture, tone: Colour) -> None:
    half = HALF_WIDTHS["board"]
    brush.box(p.x - half - 5, 71, p.x + half + 5, 156, (126, 142, 150), 3)
    brush.box(p.x - half, 76, p.x + half, 151, tone)
    brush.box(p.x - half, 155, p.x + half, 160, (98, 112, 120), 2)
    brush.box(p.x + 20, 152, p.x + 32, 156, (205, 70, 60))


def _window(brush: Brush, p: Furniture, _: Colour) -> None:
    brush.box(p.x - 44, 48, p.x + 44, 134, (255, 255, 250), 2)
    brush.box(p.x - 39, 53, p.x + 39, 129, (170, 214, 236))
    brush.disc(p.x + 18, 70, 8, (255, 236, 170))
    brush.hull([(p.x - 20, 86, 7), (p.x - 8, 82, 9), (p.x + 4, 87, 6)], (240, 248, 252))
    brush.hull(
        [(p.x - 32, 124, 5), (p.x - 10, 116, 8), (p.x + 20, 120, 7), (p.x + 33, 124, 5)], (140, 184, 130)
    )
    brush.box(p.x - 1.5, 53, p.x + 1.5, 129, (255, 255, 250))
    brush.box(p.x - 48, 132, p.x + 48, 138, (246, 240, 228), 2)


def _legged(brush: Brush, p: Furniture, tone: Colour) -> None:
    half, top, foot = HALF_WIDTHS[p.kind], floor_y(p.z) - TOPS[p.kind], floor_y(p.z)
    for side in (-1, 1):
        x = p.x + side * (half - 7)
        brush.box(x - 3, top + 4, x + 3, foot, shade(tone, 0.8))
        brush.box(x - 2 - side * 9, top + 4, x + 2 - side * 9, foot - 5, shade(tone, 0.66))
    brush.shape(
        [(p.x - half + 6, top - 7), (p.x + half - 6, top - 7), (p.x + half, top), (p.x - half, top)],
        shade(tone, 1.15),
    )
    brush.box(p.x - half, top, p.x + half, top + 7, tone, 1)
    if p.kind == "desk":
        brush.box(p.x + 8, top + 7, p.x + half - 9, top + 30, shade(tone, 0.9))


def _counter(brush: Brush, p: Furniture, tone: Colour) -> None:
    half, top, foot = HALF_WIDTHS["counter"], floor_y(p.z) - TOPS["counter"], floor_y(p.z)
    brush.box(p.x - half, top, p.x + half, foot, tone)
    for side in (-0.5, 0.5):
        brush.box(
            p.x + side * half * 1.02 - half * 0.44,
            top + 14,
            p.x + side * half * 1.02 + half * 0.44,
            foot - 6,
            shade(tone, 0.88),
            2,
        )
        brush.box(p.x + side * half - 6, top + 19, p.x + side * half + 6, top + 22, (235, 235, 225), 1)
    brush.box(p.x - half - 3, top - 5, p.x + half + 3, top + 3, (243, 238, 226), 2)


def _chair(brush: Brush, p: Furniture, tone: Colour) -> None:
    seat, foot, d = floor_y(p.z) - SEATS["chair"], floor_y(p.z), p.looks
    back = p.x - d * 17
    brush.ribbon([(back, seat), (back - d * 6, seat - 48)], 5, shade(tone, 0.8))
    brush.hull([(back - d * 2.5, seat - 22, 4), (back - d * 6, seat - 48, 4)], tone)
    for x, low in ((back + d * 2, 0.0), (p.x + d * 15, 0.0), (back + d * 8, 5.0), (p.x + d * 20, 5.0)):
        brush.ribbon([(x, seat), (x, foot - low)], 3.5, shade(tone, 0.74))
    brush.hull(
        [(back, seat, 4), (p.x + d * 18, seat, 4), (p.x + d * 14, seat - 5, 3), (back, seat - 4, 3)], tone
    )


def _sofa(brush: Brush, p: Furniture, tone: Colour) -> None:
    seat, foot = floor_y(p.z) - SEATS["sofa"], floor_y(p.z)
    brush.box(p.x - 72, seat - 46, p.x + 72, foot - 5, shade(tone, 0.88), 12)
    brush.box(p.x - 60, seat - 6, p.x - 1, seat + 10, shade(tone, 1.18), 5)
    brush.box(p.x + 1, seat - 6, p.x + 60, seat + 10, shade(tone, 1.18), 5)
    brush.box(p.x - 62, seat + 9, p.x + 62, foot - 5, tone)
    for side in (-1, 1):
        brush.box(p.x + side * 68 - 11, seat - 20, p.x + side * 68 + 11, foot - 4, shade(tone, 0.97), 8)
        brush.box(p.x + side * 62 - 4, foot - 5, p.x + side * 62 + 4, foot + 1, (80, 60, 50))


def _bed(brush: Brush, p: Furniture, tone: Colour) -> None:
    top, foot, d = floor_y(p.z) - SEATS["bed"], floor_y(p.z), p.looks
    head = p.x - d * 84
    brush.hull([(head, top - 34, 5), (head, foot - 5, 5)], (122, 86, 62))
    brush.hull([(p.x + d * 84, top - 2, 4), (p.x + d * 84, foot - 4, 4)], (122, 86, 62))
    brush.box(p.x - 82, top + 4, p.x + 82, foot - 8, shade(tone, 0.9), 3)
    brush.box(p.x - 82, top - 6, p.x + 82, top + 10, (248, 246, 240), 6)
    brush.hull([(head + d * 18, top - 8, 8), (head + d * 36, top - 7, 7)], (255, 255, 255))


def _bench(brush: Brush, p: Furniture, tone: Colour) -> None:
    seat, foot = floor_y(p.z) - SEATS["bench"], floor_y(p.z)
    for side in (-1, 1):
        brush.box(p.x + side * 50 - 3, seat - 36, p.x + side * 50 + 3, foot, (84, 88, 92))
    for y in (seat - 36, seat - 22):
        brush.box(p.x - 60, y, p.x + 60, y + 9, tone, 2)
    brush.box(p.x - 62, seat - 4, p.x + 62, seat + 6, shade(tone, 1.12), 2)


def _lamp(brush: Brush, p: Furniture, _: Colour) -> None:
    foot = floor_y(p.z)
    brush.box(p.x - 1.5, 112, p.x + 1.5, foot, (110, 96, 84))
    brush.disc(p.x, foot - 1, 14, (110, 96, 84), 4)
    brush.shape([(p.x - 12, 84), (p.x + 12, 84), (p.x + 22, 116), (p.x - 22, 116)], (250, 214, 130))


def _plant(brush: Brush, p: Furniture, _: Colour) -> None:
    foot = floor_y(p.z)
    for dx, dy in ((-17, -62), (-8, -80), (3, -84), (12, -72), (19, -56)):
        brush.hull(
            [(p.x, foot - 22, 3), (p.x + dx * 0.7, foot + dy * 0.7, 6), (p.x + dx, foot + dy, 2)],
            (74, 132, 88),
        )
    brush.shape(
        [(p.x - 13, foot - 26), (p.x + 13, foot - 26), (p.x + 9, foot), (p.x - 9, foot)], (200, 110, 76)
    )


def _picture(brush: Brush, p: Furniture, tone: Colour) -> None:
    brush.box(p.x - 28, 62, p.x + 28, 104, (122, 92, 66), 2)
    brush.box(p.x - 24, 66, p.x + 24, 100, shade(tone, 1.55))
    brush.hull([(p.x - 20, 98, 2), (p.x - 6, 80, 3), (p.x + 8, 98, 2)], tone)
    brush.hull([(p.x - 2, 98, 2), (p.x + 10, 86, 3), (p.x + 21, 98, 2)], shade(tone, 0.8))
    brush.disc(p.x + 12, 74, 4, (250, 220, 140))


def _clock(brush: Brush, p: Furniture, _: Colour) -> None:
    brush.disc(p.x, 74, 17, (110, 90, 78))
    brush.disc(p.x, 74, 14, (252, 250, 242))
    brush.ribbon([(p.x, 74), (p.x, 65)], 2, (60, 50, 50))
    brush.ribbon([(p.x, 74), (p.x + 6, 78)], 2, (60, 50, 50))


def _rug(brush: Brush, p: Furniture, tone: Colour) -> None:
    brush.disc(p.x, floor_y(p.z), 130, shade(tone, 0.92), 19)
    brush.disc(p.x, floor_y(p.z), 118, tone, 15)


def _fridge(brush: Brush, p: Furniture, _: Colour) -> None:
    foot = floor_y(p.z)
    brush.box(p.x - 27, foot - 142, p.x + 27, foot, (236, 240, 242), 5)
    brush.box(p.x - 27, foot - 96, p.x + 27, foot - 94, (188, 198, 204))
    for y in (112, 78):
        brush.box(p.x + 17, foot - y, p.x + 20, foot - y + 22 - (y == 112) * 8, (150, 160, 168), 1)


def _coats(brush: Brush, p: Furniture, _: Colour) -> None:
    brush.box(p.x - 34, 84, p.x + 34, 91, (124, 94, 74), 2)
    for dx, tone in ((-20, (176, 84, 74)), (14, (76, 98, 138))):
        brush.hull([(p.x + dx, 94, 4), (p.x + dx - 10, 150, 4), (p.x + dx + 10, 150, 4)], tone)


def _tree(brush: Brush, p: Furniture, _: Colour) -> None:
    foot = floor_y(p.z)
    brush.hull([(p.x, 100, 6), (p.x - 3, foot, 10), (p.x + 3, foot, 10)], (128, 92, 66))
    for dx, y, r in ((-30, 84, 28), (30, 80, 30), (0, 52, 38), (4, 92, 26)):
        brush.disc(p.x + dx, y, r, (98, 152, 92))
    for dx, y, r in ((-24, 70, 16), (14, 44, 18), (30, 76, 13)):
        brush.disc(p.x + dx, y, r, (118, 172, 106))


def _hills(brush: Brush, p: Furniture, _: Colour) -> None:
    brush.disc(400, 52, 20, (255, 240, 190))
    brush.hull([(150, 48, 10), (174, 42, 13), (200, 50, 9)], (246, 251, 253))
    brush.hull([(310, 84, 7), (330, 79, 10), (348, 85, 6)], (246, 251, 253))
    for x, y, r, tone in (
        (60, 330, 170, (160, 200, 148)),
        (260, 380, 214, (148, 190, 136)),
        (460, 350, 190, (166, 204, 150)),
    ):
        brush.disc(x, y, r, tone)
    brush.box(0, WALL_FOOT - 16, WIDTH, HEIGHT, (156, 192, 122))


def _path(brush: Brush, p: Furniture, _: Colour) -> None:
    brush.box(0, floor_y(0.48), WIDTH, floor_y(-0.2), (222, 206, 170))


def _fence(brush: Brush, p: Furniture, _: Colour) -> None:
    brush.disc(110, 46, 18, (255, 240, 190))
    brush.hull([(250, 58, 8), (276, 52, 12), (300, 60, 8)], (246, 251, 253))
    for y in (150, 186):
        brush.box(0, y, WIDTH, y + 6, (226, 214, 196))
    for x in range(4, WIDTH, 26):
        brush.shape(
            [(x, 138), (x + 7, 129), (x + 14, 138), (x + 14, WALL_FOOT), (x, WALL_FOOT)], (242, 234, 218)
        )


def _bush(brush: Brush, p: Furniture, _: Colour) -> None:
    for dx, dy, r in ((-22, -16, 20), (0, -30, 24), (24, -16, 20)):
        brush.disc(p.x + dx, floor_y(p.z) + dy, r, (96, 148, 98))
    for dx, dy in ((-20, -24), (4, -38), (22, -20), (-4, -16)):
        brush.disc(p.x + dx, floor_y(p.z) + dy, 3.5, (236, 128, 128))


_DRAWN: dict[str, Callable[[Brush, Furniture, Colour], None]] = {
    "board": _board,
    "window": _window,
    "table": _legged,
    "desk": _legged,
    "sidetable": _legged,
    "counter": _counter,
    "chair": _chair,
    "sofa": _sofa,
    "bed": _bed,
    "bench": _bench,
    "lamp": _lamp,
    "plant": _plant,
    "picture": _picture,
    "clock": _clock,
    "rug": _rug,
    "fridge": _fridge,
    "coats": _coats,
    "tree": _tree,
    "hills": _hills,
    "path": _path,
    "fence": _fence,
    "bush": _bush,
}
