"""Draw the things people move: boxes, cups, books, balls ... lying about, in hands, or in the air."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import atan2, cos, degrees, radians, sin

from .body import Joints, floor_y
from .brush import Brush, Colour, along, colour, shade
from .stage import Furniture, Thing

DARK: Colour = (48, 44, 52)
HALF_HEIGHTS = {
    "box": 17.0,
    "cup": 7.0,
    "book": 4.0,
    "newspaper": 3.0,
    "phone": 2.0,
    "ball": 9.0,
    "suitcase": 17.0,
    "flowers": 14.0,
    "apple": 5.0,
    "umbrella": 4.0,
    "broom": 66.0,
    "can": 9.0,
    "guitar": 28.0,
    "teddy": 13.0,
    "gift": 10.0,
}
TONES = {
    "red": "#cf4436",
    "blue": "#3c74c4",
    "brown": "#b98a55",
    "green": "#3f9160",
    "yellow": "#efc03c",
    "white": "#fbf8f0",
    "black": "#33313a",
    "orange": "#ea8636",
    "purple": "#8757a8",
    "pink": "#ec84a6",
}


def draw_lying(brush: Brush, thing: Thing) -> None:
    """Draw a thing that nobody holds."""
    y = floor_y(thing.z) - thing.up - HALF_HEIGHTS[thing.kind]
    if thing.up < 1:
        brush.disc(
            thing.x, floor_y(thing.z), 20 if thing.kind in ("box", "suitcase") else 11, (120, 100, 84), 2
        )
    _DRAWN[thing.kind](brush, thing, thing.x, y, 1)


def draw_held(brush: Brush, thing: Thing, joints: Joints) -> None:
    """Draw a thing in its holder's hands."""
    left, right = joints.hands
    looks = 1 if joints.toes[0] >= -0.05 else -1
    at = along(left, right, 0.5) if thing.both else (right[0], right[1])
    if thing.ear:
        at = at[0] + looks * 2, at[1] - 4
    if thing.kind == "guitar":
        at = right[0], right[1] - 2
        thing = replace(thing, tip=degrees(atan2(left[0] - right[0], right[1] - left[1])))
    lift = _GRIPS.get(thing.kind, 0.0)
    _DRAWN[thing.kind](brush, thing, at[0], at[1] + lift, looks)


def draw_ink(brush: Brush, board: Furniture, ink: float) -> None:
    """Draw what is written on the board so far: three wavy lines, no letters."""
    for row in range(3):
        part = min(1.0, max(0.0, ink * 3 - row))
        points = [
            (board.x - 50 + u * 2.5, 92 + row * 18 + 4.5 * sin(u * 1.25 + row)) for u in range(int(part * 34))
        ]
        if len(points) > 1:
            brush.ribbon(points, 1.5, colour(("#c4463c", "#2f6fbf", "#2f7d55")[row]))


def _box(brush: Brush, thing: Thing, x: float, y: float, _: int) -> None:
    tone = colour(thing.tone)
    brush.box(x - 22, y - 17, x + 22, y + 17, tone, 1)
    brush.shape([(x - 22, y - 17), (x + 22, y - 17), (x + 18, y - 22), (x - 18, y - 22)], shade(tone, 1.25))
    brush.box(x - 4, y - 17, x + 4, y + 17, shade(tone, 1.45))
    brush.box(x - 22, y + 13, x + 22, y + 17, shade(tone, 0.82))


def _cup(brush: Brush, thing: Thing, x: float, y: float, looks: int) -> None:
    tone = colour(thing.tone)
    brush.arc(x - looks * 6, y, 5, 0, 360, shade(tone, 0.8), 2)
    brush.shape(_turned(x, y, -looks * thing.tip, [(-6, -7), (6, -7), (5, 7), (-5, 7)]), tone)
    brush.shape(
        _turned(x, y, -looks * thing.tip, [(-6, -7), (6, -7), (5.5, -4.5), (-5.5, -4.5)]), shade(tone, 0.7)
    )


def _book(brush: Brush, thing: Thing, x: float, y: float, looks: int) -> None:
    tone = colour(thing.tone)
    tall, wide = (13, 17) if thing.kind == "book" else (19, 24)
    if not thing.open:
        deep = HALF_HEIGHTS[thing.kind]
        brush.box(x - 14, y - deep, x + 14, y + deep, tone, 1)
        brush.box(x - 14, y - deep + 2, x + 12, y + deep - 2, (252, 250, 240))
        return
    for side in (-1, 1):
        brush.shape(
            [(x, y - tall + 4), (x + side * wide, y - tall), (x + side * wide, y + tall - 4), (x, y + tall)],
            shade(tone, 1.0 if side == looks else 0.84),
        )
    if thing.kind == "newspaper":
        for side in (-1, 1):
            for row in range(5):
                brush.ribbon(
                    [(x + side * 4, y - 9 + row * 5), (x + side * 20, y - 11 + row * 5)], 1.2, (150, 150, 154)
                )
    else:
        brush.box(x - 1, y - tall + 4, x + 1, y + tall, shade(tone, 0.6))


def _phone(brush: Brush, thing: Thing, x: float, y: float, looks: int) -> None:
    if not thing.holder:
        brush.box(x - 8, y - 2, x + 8, y + 2, colour(thing.tone), 1)
        return
    brush.shape(_turned(x, y, looks * 18, [(-4, -9), (4, -9), (4, 8), (-4, 8)]), colour(thing.tone))
    brush.shape(_turned(x, y, looks * 18, [(-2.6, -7), (2.6, -7), (2.6, 4), (-2.6, 4)]), (150, 196, 220))


def _ball(brush: Brush, thing: Thing, x: float, y: float, _: int) -> None:
    tone = colour(thing.tone)
    brush.disc(x, y, 9.5, tone)
    dx, dy = 5 * cos(radians(thing.tip)), 5 * sin(radians(thing.tip))
    brush.disc(x + dx, y + dy, 3, (255, 250, 240))
    brush.disc(x - dx, y - dy, 3, shade(tone, 0.72))


def _suitcase(brush: Brush, thing: Thing, x: float, y: float, _: int) -> None:
    tone = colour(thing.tone)
    brush.box(x - 6, y - 19, x + 6, y - 9, DARK, 3)
    brush.box(x - 3.5, y - 16, x + 3.5, y - 9, shade(tone, 1.3))
    brush.box(x - 21, y - 13, x + 21, y + 17, tone, 4)
    for side in (-13, 11):
        brush.box(x + side, y - 13, x + side + 3, y + 17, shade(tone, 0.72))


def _flowers(brush: Brush, thing: Thing, x: float, y: float, looks: int) -> None:
    tone = colour(thing.tone)
    for k, dx in enumerate((-8, 0, 8)):
        brush.ribbon([(x, y + 13), (x + dx, y - 7 - (k == 1) * 4)], 1.8, (74, 140, 84))
    brush.hull([(x - 5, y, 1), (x + 5, y, 1), (x, y + 14, 1)], (250, 246, 232))
    for dx, dy in ((-8, -8), (8, -8), (0, -13), (-4, -2), (4, -2)):
        brush.disc(x + dx, y + dy, 4.6, tone)
        brush.disc(x + dx, y + dy, 1.7, (255, 226, 120))


def _apple(brush: Brush, thing: Thing, x: float, y: float, _: int) -> None:
    brush.disc(x, y, 5.5, colour(thing.tone))
    brush.ribbon([(x, y - 4), (x + 2, y - 8)], 1.5, (92, 66, 48))


def _umbrella(brush: Brush, thing: Thing, x: float, y: float, looks: int) -> None:
    tone = colour(thing.tone)
    if not thing.open:
        low = (x + 24, y + 2) if not thing.holder else (x + looks * 3, y + 30)
        brush.hull(
            [(x - 14 if not thing.holder else x, y, 2), (*low, 1.0), (*along((x, y), low, 0.4), 4.5)], tone
        )
        return
    brush.ribbon([(x, y + 6), (x, y - 62)], 2, DARK)
    brush.shape([(x + 44 * cos(radians(a)), y - 40 - 32 * sin(radians(a))) for a in range(0, 181, 12)], tone)
    for k in (-1, 0, 1):
        brush.disc(x + k * 29, y - 40, 14.5, shade(tone, 0.85), 4)


def _broom(brush: Brush, thing: Thing, x: float, y: float, looks: int) -> None:
    swing = looks * (16 + thing.tip)
    brush.ribbon(_turned(x, y, -swing, [(0, -26), (0, 52)]), 2.6, (170, 124, 80))
    brush.shape(_turned(x, y, -swing, [(-5, 48), (5, 48), (12, 68), (-12, 68)]), colour(thing.tone))


def _can(brush: Brush, thing: Thing, x: float, y: float, looks: int) -> None:
    tone, turn = colour(thing.tone), looks * thing.tip
    brush.arc(x - looks * 2, y - 6, 8, 0, 360, shade(tone, 0.75), 2)
    spout = _turned(x, y, turn, [(looks * 8, 5), (looks * 24, -10)])
    brush.ribbon(spout, 3.5, shade(tone, 0.85))
    brush.shape(_turned(x, y, turn, [(-10, -6), (10, -6), (11, 9), (-11, 9)]), tone)
    if thing.tip > 30:
        for k in range(4):
            tip = spout[1]
            brush.disc(tip[0] + looks * (3 + k * 2), tip[1] + 6 + k * 7, 1.6, (96, 160, 216))


def _guitar(brush: Brush, thing: Thing, x: float, y: float, looks: int) -> None:
    """Upright when it stands about; in hands, ``tip`` is the angle of its neck."""
    tone = colour(thing.tone)
    belly, waist, low, top = _turned(x, y, thing.tip, [(0, 14), (0, -1), (0, -4), (0, -44)])
    brush.ribbon([low, top], 4, (92, 62, 46))
    brush.disc(*belly, 13.5, tone)
    brush.disc(*waist, 10.5, tone)
    brush.disc(*along(belly, waist, 0.55), 4.5, shade(tone, 0.45))


def _teddy(brush: Brush, thing: Thing, x: float, y: float, _: int) -> None:
    tone = colour(thing.tone)
    for dx, dy, r in ((5.0, -14.0, 3.2), (8.0, 3.0, 3.6), (5.0, 11.0, 4.0)):  # ears, arms, feet
        brush.disc(x - dx, y + dy, r, tone)
        brush.disc(x + dx, y + dy, r, tone)
    brush.disc(x, y - 8, 7.5, tone)
    brush.disc(x, y + 4, 8, tone)
    brush.disc(x, y + 4, 4.5, shade(tone, 1.4))
    for dx in (-2.6, 2.6):
        brush.disc(x + dx, y - 9, 1.1, DARK)


def _gift(brush: Brush, thing: Thing, x: float, y: float, _: int) -> None:
    tone = colour(thing.tone)
    brush.box(x - 13, y - 10, x + 13, y + 10, tone, 1)
    brush.box(x - 3, y - 10, x + 3, y + 10, (255, 244, 214))
    for side in (-1, 1):
        brush.disc(x + side * 5, y - 13, 4.5, (255, 244, 214), 3)


def _turned(
    x: float, y: float, degrees: float, points: list[tuple[float, float]]
) -> list[tuple[float, float]]:
    """Points around (x, y), turned clockwise."""
    c, s = cos(radians(degrees)), sin(radians(degrees))
    return [(x + px * c - py * s, y + px * s + py * c) for px, py in points]


_GRIPS = {"suitcase": 16.0, "flowers": -8.0, "cup": -1.0, "teddy": 2.0, "box": -2.0, "gift": -4.0, "can": 4.0}
_DRAWN: dict[str, Callable[[Brush, Thing, float, float, int], None]] = {
    "box": _box,
    "cup": _cup,
    "book": _book,
    "newspaper": _book,
    "phone": _phone,
    "ball": _ball,
    "suitcase": _suitcase,
    "flowers": _flowers,
    "apple": _apple,
    "umbrella": _umbrella,
    "broom": _broom,
    "can": _can,
    "guitar": _guitar,
    "teddy": _teddy,
    "gift": _gift,
}
