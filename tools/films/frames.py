"""Paint one instant of a film: the place, its door, people, and the things they move."""

from __future__ import annotations

from math import atan2, degrees, sin

from PIL import Image

from .body import Joints, along, floor_y
from .brush import DRAWINGS, FINE, HEIGHT, WIDTH, Brush, colour, draw
from .people import draw_person
from .stage import CAST, DOOR_TALL, HALF_WIDTHS, WALL_FOOT, Furniture, Place, Thing, World, on_door

BEYOND = "#faecc4"  # the lit room behind a door
CHALKS = ("#c4463c", "#2f6fbf", "#2f7d55")


class Painter:
    """Paints the frames of one film; the room behind them is drawn once."""

    def __init__(self, world: World) -> None:
        self._room = draw_place(world.place)

    def paint(self, world: World, blink: frozenset[str] = frozenset()) -> Image.Image:
        """Paint one instant, the eyes of those who ``blink`` shut: RGB, 480 by 270 pixels."""
        image = self._room.copy()
        brush = Brush(image)
        if world.ink:
            _draw_ink(brush, world.place.find("board"), world.ink)
        for piece in world.place.furniture:
            if piece.kind == "door":
                _draw_door(brush, piece, world, blink)
        people = {who: pose for who, pose in world.poses.items() if pose.z <= 1 and not pose.hidden}
        lying = {name: thing for name, thing in world.things.items() if not thing.holder}
        flying = [name for name, thing in lying.items() if thing.kind == "ball" and thing.up > 0]
        depths = {name: item.z for name, item in (people | lying).items()}
        for name in sorted(depths, key=lambda name: (name in flying, -depths[name])):
            if name in people:
                _draw_person(brush, world, name, name in blink)
            else:
                _draw_lying(brush, lying[name])
        return image.reduce(FINE)


def blinking(world: World, frame: int) -> frozenset[str]:
    """Who blinks in this frame: everybody does every few seconds, each in their own time."""
    names = ((who, sum(map(ord, who))) for who in world.poses)
    return frozenset(who for who, own in names if (frame + own) % (31 + 5 * (own % 5)) == 0)


def draw_place(place: Place) -> Image.Image:
    """Draw everything that never moves, twice as large as the picture."""
    image = Image.new("RGB", (WIDTH * FINE, HEIGHT * FINE), colour(place.wall))
    brush = Brush(image)
    brush.box(0, WALL_FOOT, WIDTH, HEIGHT, colour(place.floor))
    if not place.outdoors:
        brush.box(0, WALL_FOOT - 7, WIDTH, WALL_FOOT, colour(place.wall, 1.5))
        for step, y in enumerate((222, 234, 250)):
            brush.box(0, y, WIDTH, y + 1, colour(place.floor, 0.95 - step * 0.01))
    for piece in sorted(place.furniture, key=lambda p: -p.z):
        if piece.kind != "door":
            draw(brush, piece.kind, piece.x, floor_y(piece.z), piece.tone, piece.looks)
    return image


def _draw_door(brush: Brush, piece: Furniture, world: World, blink: frozenset[str]) -> None:
    """Draw the frame, the opening, the leaf, and whoever is behind the wall, seen through the opening."""
    half, foot = HALF_WIDTHS["door"], WALL_FOOT
    left, right, top = piece.x - half, piece.x + half, foot - DOOR_TALL
    brush.box(left - 6, top - 6, right + 6, foot, colour(piece.tone, 0.72))
    brush.box(left, top, right, foot + 0.5, colour(BEYOND))
    brush.box(left, foot - 9, right, foot + 0.5, colour(BEYOND, 0.82))
    _draw_panel(brush, piece, world.door, (0, 0, 1, 1), 1 - 0.22 * world.door)
    _draw_panel(brush, piece, world.door, (0.18, 0.1, 0.82, 0.45), 0.86 - 0.2 * world.door)
    _draw_panel(brush, piece, world.door, (0.18, 0.54, 0.82, 0.9), 0.86 - 0.2 * world.door)
    brush.disc(*on_door(piece, world.door, 0.88, 0.55), 3.2, colour("#f0cd6e"))
    opening = (round(left * FINE), round(top * FINE), round(right * FINE), round((foot + 1) * FINE))
    for who, pose in world.poses.items():
        if pose.z > 1 and not pose.hidden:
            behind = Brush(brush.image.copy())
            _draw_person(behind, world, who, who in blink)
            brush.image.paste(behind.image.crop(opening), opening[:2])


def _draw_panel(
    brush: Brush, door: Furniture, swing: float, part: tuple[float, float, float, float], by: float
) -> None:
    u0, v0, u1, v1 = part
    corners = ((u0, v0), (u1, v0), (u1, v1), (u0, v1))
    brush.shape([on_door(door, swing, u, v) for u, v in corners], colour(door.tone, by))


def _draw_ink(brush: Brush, board: Furniture, ink: float) -> None:
    """Draw what is written on the board so far: three wavy lines, no letters."""
    for row, chalk in enumerate(CHALKS):
        steps = int(34 * min(1.0, max(0.0, ink * 3 - row)))
        line = [(board.x - 50 + u * 2.5, 92 + row * 18 + 4.5 * sin(u * 1.25 + row)) for u in range(steps)]
        if steps > 1:
            brush.ribbon(line, 1.5, colour(chalk))


def _draw_person(brush: Brush, world: World, who: str, shut: bool) -> None:
    def holds(joints: Joints) -> None:
        for thing in world.things.values():
            if thing.holder == who:
                _draw_held(brush, thing, joints)

    draw_person(brush, CAST[who], world.poses[who], holds, shut)


def _draw_lying(brush: Brush, thing: Thing) -> None:
    foot = floor_y(thing.z)
    if thing.up < 1:
        brush.disc(thing.x, foot, 20 if thing.kind in ("box", "suitcase") else 11, colour("#786454"), 2)
    draw(brush, thing.kind, thing.x, foot - thing.up - thing.traits.half, thing.tone, turn=thing.tip)


def _draw_held(brush: Brush, thing: Thing, joints: Joints) -> None:
    left, right = joints.hands
    looks = 1 if joints.toes[0] >= -0.05 else -1
    x, y = along(left, right, 0.5 if thing.traits.wide else 1.0)
    turn = thing.tip
    if thing.kind == "guitar":  # its neck goes from the right hand to the left one
        x, y = right[0], right[1] - 2
        turn = looks * degrees(atan2(left[0] - right[0], right[1] - left[1]))
    state = "open" if thing.open else "pouring" if thing.tip > 30 else "held"
    name = f"{thing.kind} {state}"
    draw(brush, name if name in DRAWINGS else thing.kind, x, y + thing.traits.grip, thing.tone, looks, turn)
