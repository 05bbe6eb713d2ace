"""Actions that leave a person on their spot: gestures, and to sit, stand, lie and wake.

Postures and most gestures are data: see ``gestures.toml``.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import replace
from math import pi, sin
from pathlib import Path
from typing import Any

from .body import HANG, LANE, STAND, Pair, Pose, blend, bump, ease, keyed, mix, reach, wave
from .moves import LEFT, RIGHT, Beat, build, facing
from .stage import SEATS, World

Act = Callable[[float, World, Beat], World]
ON_LAP: Pair = ((0.62, -0.66, -0.24), (0.62, -0.66, 0.24))
LIMBS = ("left", "right", "lfoot", "rfoot")
Numbers = list[tuple[float, float, float]]  # each: a base, how far it swings from there, how many times


def posture(name: str, me: Pose, who: str, t: float = 0.0) -> Pose:
    """Return the posture of this name, taken up from ``me``, at time t (0 to 1) of its swings."""
    changes: dict[str, Any] = {}
    limbs = dict(zip(LIMBS, me.hands + me.feet, strict=True))
    for field, numbers in POSTURES[name]:
        first, *others = (base + far * wave(t, times) for base, far, times in numbers)
        if field in LIMBS:
            limbs[field] = (first, max(0.0, others[0]) if field in LIMBS[2:] else others[0], others[1])
        elif field == "hands":
            limbs |= {"left": (first, others[0], -others[1]), "right": (first, others[0], others[1])}
        elif field == "head":
            size = build(who).head / build(who).arm
            limbs["right"] = size * first, size * others[0], size * others[1]
        elif field == "aside":
            changes["x"] = me.x + first
        elif field == "front":
            changes["yaw"] = mix(me.yaw, 90.0, first)
        else:
            changes[field] = (first, *others) if others else first
    left, right, lfoot, rfoot = limbs.values()
    return replace(me, **changes, hands=(left, right), feet=(lfoot, rfoot))


def gesture(name: str, rise: float, change: str = "") -> Act:
    """Make an action of a posture: take it up, keep it, and come back to where one began.

    ``change`` is what happens to the thing in hand meanwhile: ``open``, or the degrees by which it tips.
    """

    def act(t: float, world: World, beat: Beat) -> World:
        me, held = world.poses[beat.who], world.held_by(beat.who)
        strength = bump(t, rise, rise)
        if held and change and strength > 0.35:
            thing = world.things[held]
            opened = change == "open"
            tip = 0.0 if opened else float(change) * strength
            world = world.moved(held, replace(thing, open=opened, tip=tip))
        return world.posed(beat.who, blend(me, posture(name, me, beat.who, t), strength))

    return act


def jumps(t: float, world: World, beat: Beat) -> World:
    """Two jumps, arms up."""
    me, part = world.poses[beat.who], t * 2 % 1.0
    if 0.3 <= part <= 0.85:
        pose = blend(me, posture("air", me, beat.who), sin(pi * (part - 0.3) / 0.55))
    else:
        down = part / 0.3 if part < 0.3 else (part - 0.85) / 0.15
        pose = blend(me, posture("down", me, beat.who), sin(pi * down))
    return world.posed(beat.who, pose)


def points(t: float, world: World, beat: Beat) -> World:
    """A straight arm towards the board, shaken a little for stress."""
    me, x = world.poses[beat.who], world.place.find(beat.what).x
    turned = replace(me, yaw=facing(me, x), lean=5.0)
    hand = reach(turned, build(beat.who), (x, 112.0 + 4 * wave(t, 3)), 10.0)
    pose = blend(me, replace(turned, hands=(me.hands[0], hand)), bump(t, 0.2, 0.2))
    return world.posed(beat.who, pose)


def writes(t: float, world: World, beat: Beat) -> World:
    """Write three lines on the board, walking along it, and back to begin the next."""
    me, piece = world.poses[beat.who], world.place.find("board")
    lines = min(3.0, max(0.0, (t - 0.15) / 0.7 * 3))
    row = min(2, int(lines))
    part = (lines - row) / 0.55
    done = min(1.0, part) if part < 1 or row == 2 else 1 - ease((part - 1) * 0.55 / 0.45)
    along = piece.x - 50 + done * 85
    there = replace(me, x=along - 24, z=0.86, yaw=-38.0, feet=_shuffle(t))
    pen = (along + 2 * wave(t, 16), 92 + row * 18 + 5 * wave(t, 12))
    hand = reach(there, build(beat.who), pen, -18.0)
    pose = blend(me, replace(there, hands=(me.hands[0], hand)), bump(t, 0.18, 0.16))
    return replace(world.posed(beat.who, pose), ink=max(world.ink, (row + min(1.0, part)) / 3))


def seated(world: World, who: str, seat: str, x: float) -> Pose:
    """The posture of sitting on a seat, the feet on the floor when the legs are long enough."""
    piece, frame = world.place.find(seat), build(who)
    up = (SEATS[seat] + 6) / (frame.height * frame.leg)
    low = max(0.0, up - 0.52)
    if seat == "chair":
        x, z, yaw = piece.x - piece.looks * 5, piece.z - 0.1, RIGHT if piece.looks > 0 else LEFT
    else:
        z, yaw = piece.z - 0.04, 66.0 if piece.looks > 0 else 114.0
    hands = world.poses[who].hands if world.held_by(who) else ON_LAP
    return Pose(x, z, yaw, hip=(0.0, up), hands=hands, feet=((0.5, low, -0.15), (0.52, low, 0.15)))


def sits(t: float, world: World, beat: Beat) -> World:
    """Turn round, bend and sit down on the seat one stands at."""
    me, seat = world.poses[beat.who], beat.what
    down = seated(world, beat.who, seat, me.x)
    before = replace(me, x=mix(me.x, down.x, 0.35), z=mix(me.z, down.z, 0.3), yaw=down.yaw)
    midway = replace(before, x=mix(me.x, down.x, 0.75), z=mix(me.z, down.z, 0.8))
    midway = posture("half_down", midway, beat.who)
    seats = {**world.seats, beat.who: seat} if t > 0.9 else world.seats
    return replace(world.through(beat.who, t, (0.35, before), (0.65, midway), (1.0, down)), seats=seats)


def stands(t: float, world: World, beat: Beat) -> World:
    """Lean forward and stand up in front of the seat."""
    me, seat = world.poses[beat.who], world.seats[beat.who]
    piece = world.place.find(seat)
    x = piece.x + piece.looks * 24 if seat == "chair" else me.x
    hands = me.hands if world.held_by(beat.who) else HANG
    up = Pose(x, yaw=me.yaw, hands=hands)
    forward = posture("forward", replace(me, hands=hands), beat.who)
    midway = posture("half_up", replace(up, x=mix(me.x, x, 0.5), z=mix(me.z, LANE, 0.6)), beat.who)
    seats = {who: seat for who, seat in world.seats.items() if who != beat.who or t <= 0.1}
    return replace(world.through(beat.who, t, (0.3, forward), (0.6, midway), (1.0, up)), seats=seats)


def lies(t: float, world: World, beat: Beat) -> World:
    """Sit down on the bed or sofa, lie back and close the eyes."""
    sitting = sits(min(1.0, t / 0.4), world, beat)
    if t < 0.4:
        return sitting
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
    back = posture("back", replace(flat, asleep=False), beat.who)
    return sitting.posed(beat.who, keyed(t, (0.4, sitting.poses[beat.who]), (0.62, back), (0.8, flat)))


def wakes(t: float, world: World, beat: Beat) -> World:
    """Open the eyes, sit up, stretch both arms, and sit on the edge."""
    me = world.poses[beat.who]
    edge = seated(world, beat.who, world.seats[beat.who], me.x)
    stretch = posture("stretch", edge, beat.who)
    eyes = replace(me, asleep=False)
    keys = ((0.15, eyes), (0.5, edge), (0.65, stretch), (0.8, stretch), (1.0, edge))
    return world.through(beat.who, t, *keys)


def _shuffle(t: float) -> Pair:
    lift = 0.06 * abs(wave(t, 6))
    return (STAND[0][0], lift, STAND[0][2]), (STAND[1][0], 0.06 - lift, STAND[1][2])


def _fields(text: str) -> list[tuple[str, Numbers]]:
    """Read "field numbers; field numbers"."""
    fields = (part.split() for part in text.split(";"))
    return [(field, [_number(text) for text in numbers]) for field, *numbers in fields]


def _number(text: str) -> tuple[float, float, float]:
    """Read "base~far*times"."""
    base, _, swing = text.partition("~")
    far, _, times = swing.partition("*")
    return float(base), float(far or 0), float(times or 0)


TABLE = tomllib.loads(Path(__file__).with_name("gestures.toml").read_text(encoding="utf-8"))
POSTURES = {
    name: _fields(text.rpartition("|")[2]) for part in ("postures", "gestures") for name, text in TABLE[part].items()
}
