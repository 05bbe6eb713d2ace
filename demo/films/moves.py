"""Actions that take a person somewhere: walk, run, turn, sit, stand, and lie down.

Every action is a function of time (0 to 1), the world when it began, and its beat; it returns the world then.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import atan2, degrees, hypot, pi, sin

from .body import HANG, LANE, STAND, Build, Pose, Vec, bump, ease, keyed, mix, wave
from .cast import CAST
from .stage import HALF_WIDTHS, SEATS, World

RIGHT, LEFT = 20.0, 160.0
PACE, HASTE = 84.0, 150.0  # pixels a second
SIDEWAYS = 90.0  # pixels of walking that one unit of depth is worth


@dataclass(frozen=True, slots=True)
class Beat:
    """One thing somebody does: ``who verb what whom``."""

    who: str
    verb: str
    what: str = ""
    whom: str = ""
    broken: bool = False  # begun and not finished


def build(who: str) -> Build:
    """The proportions of one of the cast."""
    return CAST[who].build


def spot(world: World, who: str, target: str) -> tuple[float, float, float]:
    """Where one stands to have to do with a target, and which way one then looks: x, z, yaw."""
    me = world.poses[who]
    if target.lstrip("-").isdigit():
        x = float(target)
        return x, LANE, RIGHT if x >= me.x else LEFT
    if target in world.poses or target in world.things:
        return _beside(world, who, target)
    piece = world.place.find(target)
    if target == "door":
        return piece.x + piece.looks * 44, 0.88, 190.0 if piece.looks > 0 else -10.0
    if target == "window":
        return piece.x - 26, 0.84, 300.0
    if target in SEATS:
        front = 24.0 if target == "chair" else 0.0
        x = (
            piece.x + piece.looks * front
            if front
            else piece.x + (-30 if me.x < piece.x else 30) * (target != "bed")
        )
        return x, LANE, RIGHT if me.x <= x else LEFT
    side = -1 if me.x < piece.x else 1
    gap, z = (24.0, 0.75) if target == "board" else (18.0, LANE + 0.12)
    return piece.x + side * (HALF_WIDTHS[target] + gap), z, RIGHT if side < 0 else LEFT


def _beside(world: World, who: str, target: str) -> tuple[float, float, float]:
    me = world.poses[who]
    person = world.poses.get(target)
    thing = world.things.get(target)
    x = person.x if person else thing.x if thing else 0.0
    if thing and thing.up > 1:  # on a piece of furniture: go round to the end it lies on
        piece = min(
            (p for p in world.place.furniture if p.kind in HALF_WIDTHS), key=lambda p: abs(p.x - thing.x)
        )
        side = -1 if thing.x < piece.x else 1
        return piece.x + side * (HALF_WIDTHS[piece.kind] + 18), LANE + 0.12, RIGHT if side < 0 else LEFT
    near = 48.0 if target in CAST and "child" in (CAST[who].age, CAST[target].age) else 64.0
    gap = near if person else 36.0
    side = -1 if me.x < x else 1
    return x + side * gap, LANE, RIGHT if side < 0 else LEFT


def stroll_seconds(world: World, beat: Beat) -> float:
    """How long a walk takes, in seconds."""
    me, (x, z, _) = world.poses[beat.who], spot(world, beat.who, beat.what)
    speed = HASTE if beat.verb == "runs" else PACE * (0.82 if CAST[beat.who].age == "old" else 1.0)
    return 0.6 + hypot(x - me.x, (z - me.z) * SIDEWAYS) / speed


def walks(t: float, world: World, beat: Beat) -> World:
    """Walk (or run) to a target, and turn to it."""
    goal = spot(world, beat.who, beat.what)
    if beat.broken:  # most of the way, then back
        me = world.poses[beat.who]
        far = (mix(me.x, goal[0], 0.66), mix(me.z, goal[1], 0.66), goal[2])
        there = stroll(min(1.0, t * 2), world, beat.who, far)
        if t <= 0.5:
            return there
        return stroll(
            t * 2 - 1, there, beat.who, (mix(me.x, goal[0], 0.12), me.z, LEFT if far[2] < 90 else RIGHT)
        )
    return stroll(t, world, beat.who, goal, beat.verb == "runs")


def stroll(t: float, world: World, who: str, goal: tuple[float, float, float], haste: bool = False) -> World:
    """Walk to x, z and there turn to yaw; feet keep to the floor, empty arms swing."""
    me, frame = world.poses[who], build(who)
    x, z, yaw = goal
    way = hypot(x - me.x, (z - me.z) * SIDEWAYS)
    if way < 4:
        return world.posed(**{who: keyed(t, (0.0, me), (1.0, replace(me, x=x, z=z, yaw=yaw)))})
    turn = min(0.22, 22 / way)
    gone = _glide((t - turn * 0.5) / (1 - turn))
    heading = degrees(atan2(-(z - me.z) * SIDEWAYS, x - me.x))
    if abs(x - me.x) > 0.5 * abs(z - me.z) * SIDEWAYS:  # mostly sideways: show the side
        aside = 12.0 + 0.3 * (heading if x > me.x else 180 - heading % 360)
        heading = aside if x > me.x else 180 - aside
    base = keyed(
        t,
        (0.0, me),
        (turn, replace(me, yaw=heading)),
        (1 - turn, replace(me, yaw=heading)),
        (1.0, replace(me, yaw=yaw)),
    )
    stride = 0.44 if haste else 0.36
    phase = way * gone / (4 * stride * frame.leg * frame.height)
    strength = bump(gone, 0.12, 0.12) if 0 < gone < 1 else 0.0
    feet = (_step(phase, stride, strength, STAND[0]), _step(phase + 0.5, stride, strength, STAND[1]))
    hands = base.hands if world.held_by(who) else _swing(phase, strength, haste)
    hip = (0.0, 1.0 - strength * (0.035 + 0.02 * sin(4 * pi * phase)))
    lean = strength * (12.0 if haste else 3.0)
    pose = replace(
        base, x=mix(me.x, x, gone), z=mix(me.z, z, gone), feet=feet, hands=hands, hip=hip, lean=lean
    )
    return world.posed(**{who: pose})


def _glide(t: float) -> float:
    """Get going over the first eighth, keep the pace, stop over the last."""
    t, ramp = min(1.0, max(0.0, t)), 0.14
    top = 1 / (1 - ramp)
    if t < ramp:
        return top * t * t / (2 * ramp)
    if t > 1 - ramp:
        return 1 - top * (1 - t) ** 2 / (2 * ramp)
    return top * (t - ramp / 2)


def _step(phase: float, stride: float, strength: float, rest: Vec) -> Vec:
    """One foot of the walk: half the time it stays on its spot, half the time it swings through the air."""
    phase %= 1.0
    if phase < 0.5:
        ahead, lift = stride * (1 - 4 * phase), 0.0
    else:
        ahead, lift = stride * (2 * ease(phase * 2 - 1) - 1), 0.17 * sin(pi * (phase * 2 - 1))
    return mix(rest[0], ahead, strength), lift * strength, mix(rest[2], rest[2] * 0.6, strength)


def _swing(phase: float, strength: float, haste: bool) -> tuple[Vec, Vec]:
    out = 0.42 * strength * wave(phase + 0.25, 1)
    up = 0.45 * strength if haste else 0.04
    return (HANG[0][0] - out + up * 0.6, HANG[0][1] + up, -0.34), (
        HANG[1][0] + out + up * 0.6,
        HANG[1][1] + up,
        0.34,
    )


def turns(t: float, world: World, beat: Beat) -> World:
    """Turn on the spot: towards somebody or something, or to the front."""
    me = world.poses[beat.who]
    ways = {"left": LEFT, "right": RIGHT, "front": 80.0, "away": 280.0}
    yaw = ways[beat.what] if beat.what in ways else facing(world, beat.who, beat.what)
    return world.posed(**{beat.who: keyed(t, (0.0, me), (1.0, replace(me, yaw=yaw)))})


def facing(world: World, who: str, target: str) -> float:
    """The yaw with which somebody looks at a target to their left or right."""
    places = {**{n: th.x for n, th in world.things.items()}, **{n: p.x for n, p in world.poses.items()}}
    x = places[target] if target in places else world.place.find(target).x
    return RIGHT if x >= world.poses[who].x else LEFT


def seated(world: World, who: str, seat: str, x: float | None = None) -> Pose:
    """The posture of sitting on a seat, the feet on the floor when the legs are long enough."""
    piece, frame = world.place.find(seat), build(who)
    up = (SEATS[seat] + 6) / (frame.height * frame.leg)
    low = max(0.0, up - 0.52)
    if seat == "chair":
        place, yaw = (piece.x - piece.looks * 5, piece.z - 0.1), RIGHT if piece.looks > 0 else LEFT
    else:
        place, yaw = (piece.x if x is None else x, piece.z - 0.04), 66.0 if piece.looks > 0 else 114.0
    feet: tuple[Vec, Vec] = ((0.5, low, -0.15), (0.52, low, 0.15))
    hands: tuple[Vec, Vec] = ((0.62, -0.66, -0.24), (0.62, -0.66, 0.24))
    held = world.held_by(who)
    return Pose(*place, yaw=yaw, hip=(0.0, up), hands=world.poses[who].hands if held else hands, feet=feet)


def sits(t: float, world: World, beat: Beat) -> World:
    """Turn round, bend and sit down on the seat one stands at."""
    me, seat = world.poses[beat.who], beat.what
    down = seated(world, beat.who, seat, me.x)
    before = replace(me, x=mix(me.x, down.x, 0.35), z=mix(me.z, down.z, 0.3), yaw=down.yaw)
    midway = replace(
        before,
        x=mix(me.x, down.x, 0.75),
        z=mix(me.z, down.z, 0.8),
        hip=(-0.1, 0.8),
        lean=28.0,
        feet=((0.25, 0, -0.14), (0.25, 0, 0.14)),
    )
    pose = keyed(t, (0.0, me), (0.35, before), (0.65, midway), (1.0, down))
    seats = {**world.seats, beat.who: seat} if t > 0.9 else world.seats
    return replace(world.posed(**{beat.who: pose}), seats=seats)


def stands(t: float, world: World, beat: Beat) -> World:
    """Lean forward and stand up in front of the seat."""
    me = world.poses[beat.who]
    seat = world.seats[beat.who]
    piece = world.place.find(seat)
    x = piece.x + piece.looks * 24 if seat == "chair" else me.x
    hands = me.hands if world.held_by(beat.who) else HANG
    up = Pose(x, LANE, yaw=me.yaw, hands=hands)
    forward = replace(me, lean=34.0, nod=-14.0, hands=hands)
    midway = replace(up, x=mix(me.x, x, 0.5), z=mix(me.z, LANE, 0.6), hip=(-0.1, 0.8), lean=26.0)
    seats = {k: v for k, v in world.seats.items() if k != beat.who} if t > 0.1 else world.seats
    pose = keyed(t, (0.0, me), (0.3, forward), (0.6, midway), (1.0, up))
    return replace(world.posed(**{beat.who: pose}), seats=seats)


def lies(t: float, world: World, beat: Beat) -> World:
    """Sit down on the bed or sofa, lie back and close the eyes."""
    piece, frame = world.place.find(beat.what), build(beat.who)
    up = (SEATS[beat.what] + 15) / (frame.height * frame.leg)
    flat = Pose(
        piece.x - piece.looks * (14 if beat.what == "bed" else 2),
        piece.z - 0.02,
        yaw=10.0 if piece.looks > 0 else 170.0,
        hip=(0.0, up),
        lean=-84.0,
        nod=10.0,
        asleep=True,
        hands=((0.72, 0.3, -0.25), (0.78, 0.3, 0.25)),
        feet=((0.97, up - 0.06, -0.1), (0.94, up - 0.02, 0.12)),
    )
    sitting = sits(1.0, world, beat).poses[beat.who]
    back = replace(flat, lean=-50.0, nod=20.0, asleep=False)
    if t < 0.4:
        return sits(t / 0.4, world, beat)
    pose = keyed(t, (0.4, sitting), (0.62, back), (0.8, flat), (1.0, flat))
    return replace(world.posed(**{beat.who: pose}), seats={**world.seats, beat.who: beat.what})


def wakes(t: float, world: World, beat: Beat) -> World:
    """Open the eyes, sit up, stretch both arms, and sit on the edge."""
    me, seat = world.poses[beat.who], world.seats[beat.who]
    edge = seated(world, beat.who, seat, me.x)
    eyes = replace(me, asleep=False)
    stretch = replace(edge, hands=((0.1, 0.9, -0.4), (0.1, 0.9, 0.4)), lean=-8.0, nod=-10.0)
    pose = keyed(t, (0.0, me), (0.15, eyes), (0.5, edge), (0.65, stretch), (0.8, stretch), (1.0, edge))
    return world.posed(**{beat.who: pose})
