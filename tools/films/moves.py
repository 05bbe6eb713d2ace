"""Actions that take a person somewhere: walk, run, turn, and go through the door.

Every action is a function of time (0 to 1), the world when it began, and its beat; it returns the world then.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import atan2, degrees, hypot, pi, sin

from .body import HANG, LANE, STAND, Build, Pair, Pose, Vec, bump, ease, keyed, mix, reach, wave
from .stage import CAST, HALF_WIDTHS, SEATS, World, on_door

RIGHT, LEFT = 20.0, 160.0
WAYS = {"left": LEFT, "right": RIGHT, "front": 80.0}
PACE, HASTE = 84.0, 150.0  # pixels a second
SIDEWAYS = 90.0  # pixels of walking that one unit of depth is worth
Spot = tuple[float, float, float]  # x, z, and the yaw with which one stands there


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


def walks(t: float, world: World, beat: Beat) -> World:
    """Walk (or run) to a target, and turn to it; when broken, most of the way and back."""
    me, (x, z, yaw) = world.poses[beat.who], spot(world, beat.who, beat.what)
    if not beat.broken:
        return stroll(t, world, beat.who, (x, z, yaw), beat.verb == "runs")
    there = stroll(min(1.0, t * 2), world, beat.who, (mix(me.x, x, 0.66), mix(me.z, z, 0.66), yaw))
    if t <= 0.5:
        return there
    return stroll(t * 2 - 1, there, beat.who, (mix(me.x, x, 0.12), me.z, LEFT if yaw < 90 else RIGHT))


def turns(t: float, world: World, beat: Beat) -> World:
    """Turn on the spot: towards somebody, or to the front."""
    me = world.poses[beat.who]
    yaw = WAYS[beat.what] if beat.what in WAYS else facing(me, world.poses[beat.what].x)
    return world.through(beat.who, t, (1.0, replace(me, yaw=yaw)))


def opens(t: float, world: World, beat: Beat) -> World:
    """Take the knob and push the door open."""
    return _pushes(t, world, beat.who, ease((t - 0.35) / 0.45))


def closes(t: float, world: World, beat: Beat) -> World:
    """Take the knob and pull the door shut."""
    return _pushes(t, world, beat.who, 1 - ease((t - 0.3) / 0.45))


def _pushes(t: float, world: World, who: str, swing: float) -> World:
    me, piece = world.poses[who], world.place.find("door")
    grip = reach(me, build(who), on_door(piece, min(swing, 0.45), 0.88, 0.55), -12)
    hands = (me.hands[0], grip) if piece.looks > 0 else (grip, me.hands[1])
    holding = replace(me, hands=hands, lean=7.0)
    return replace(world.through(who, t, (0.3, holding), (0.72, holding), (1.0, me)), door=swing)


def enters(t: float, world: World, beat: Beat) -> World:
    """Open the door from behind, walk in, and let it fall shut."""
    who, door = beat.who, world.place.find("door")
    x, looks = door.x, door.looks
    way = RIGHT if looks > 0 else LEFT
    outside = replace(world.poses[who], x=x + looks * 62, z=1.45, yaw=180 - way, hidden=t < 0.15)
    world = replace(world.posed(who, outside), door=ease(t / 0.25) * (1 - ease((t - 0.72) / 0.25)))
    inside = stroll(min(1.0, max(0.0, (t - 0.15) / 0.25)), world, who, (x + looks * 4, 1.2, 90.0))
    return inside if t < 0.4 else stroll((t - 0.4) / 0.6, inside, who, (x + looks * 46, LANE, way))


def leaves(t: float, world: World, beat: Beat) -> World:
    """Walk out through the open door, which falls shut behind."""
    who, door = beat.who, world.place.find("door")
    x, looks = door.x, door.looks
    through = stroll(min(1.0, t / 0.45), world, who, (x + looks * 5, 1.1, 280.0))
    if t < 0.45:
        return through
    away = (x + looks * 64, 1.5, RIGHT if looks > 0 else LEFT)
    after = stroll(min(1.0, (t - 0.45) / 0.35), through, who, away)
    pose = replace(after.poses[who], hidden=t > 0.8)
    return replace(after.posed(who, pose), door=world.door * (1 - ease((t - 0.75) / 0.22)))


def spot(world: World, who: str, target: str) -> Spot:
    """Where one stands to have to do with a target, and which way one then looks."""
    me = world.poses[who]
    if target.lstrip("-").isdigit():
        return float(target), LANE, facing(me, float(target))
    if target in world.poses:
        child = "child" in (CAST[who].age, CAST[target].age)
        return _next_to(me.x, world.poses[target].x, 48.0 if child else 64.0, LANE)
    if target in world.things:
        return _at_thing(world, me, target)
    piece = world.place.find(target)
    if target == "door":
        return piece.x + piece.looks * 44, 0.88, 190.0 if piece.looks > 0 else -10.0
    if target == "window":
        return piece.x - 26, 0.84, 300.0
    if target in SEATS:
        aside = {"chair": piece.looks * 24, "bed": 0}.get(target, -30 if me.x < piece.x else 30)
        return piece.x + aside, LANE, facing(me, piece.x + aside)
    gap, z = (24.0, 0.75) if target == "board" else (18.0, LANE + 0.12)
    return _next_to(me.x, piece.x, HALF_WIDTHS[target] + gap, z)


def _at_thing(world: World, me: Pose, name: str) -> Spot:
    """Beside a thing; when it lies on a piece of furniture, at the end it lies on."""
    thing = world.things[name]
    if thing.up <= 1:
        return _next_to(me.x, thing.x, 36.0, LANE)
    pieces = (piece for piece in world.place.furniture if piece.kind in HALF_WIDTHS)
    piece = min(pieces, key=lambda p: abs(p.x - thing.x))
    return _next_to(thing.x, piece.x, HALF_WIDTHS[piece.kind] + 18, LANE + 0.12)


def _next_to(start: float, x: float, gap: float, z: float) -> Spot:
    """The spot ``gap`` pixels from x on the side of ``start``."""
    return (x - gap, z, RIGHT) if start < x else (x + gap, z, LEFT)


def facing(me: Pose, x: float) -> float:
    """The yaw with which one looks at what is at x, to the left or right."""
    return RIGHT if x >= me.x else LEFT


def stroll_seconds(world: World, beat: Beat) -> float:
    """How long a walk takes, in seconds."""
    me, (x, z, _) = world.poses[beat.who], spot(world, beat.who, beat.what)
    speed = HASTE if beat.verb == "runs" else PACE * (0.82 if CAST[beat.who].age == "old" else 1.0)
    return 0.6 + hypot(x - me.x, (z - me.z) * SIDEWAYS) / speed


def stroll(t: float, world: World, who: str, goal: Spot, haste: bool = False) -> World:
    """Walk to a spot and turn there; feet keep to the floor, empty arms swing."""
    me, frame, (x, z, yaw) = world.poses[who], build(who), goal
    way = hypot(x - me.x, (z - me.z) * SIDEWAYS)
    if way < 4:
        return world.through(who, t, (1.0, replace(me, x=x, z=z, yaw=yaw)))
    turn = min(0.22, 22 / way)
    gone = _glide((t - turn * 0.5) / (1 - turn))
    ahead = replace(me, yaw=_heading(x - me.x, (me.z - z) * SIDEWAYS))
    base = keyed(t, (0.0, me), (turn, ahead), (1 - turn, ahead), (1.0, replace(me, yaw=yaw)))
    stride = 0.44 if haste else 0.36
    phase = way * gone / (4 * stride * frame.leg * frame.height)
    strength = bump(gone, 0.12, 0.12) if 0 < gone < 1 else 0.0
    pose = replace(
        base,
        x=mix(me.x, x, gone),
        z=mix(me.z, z, gone),
        feet=(_step(phase, stride, strength, STAND[0]), _step(phase + 0.5, stride, strength, STAND[1])),
        hands=base.hands if world.held_by(who) else _swing(phase, strength, haste),
        hip=(0.0, 1.0 - strength * (0.035 + 0.02 * sin(4 * pi * phase))),
        lean=strength * (12.0 if haste else 3.0),
    )
    return world.posed(who, pose)


def _heading(right: float, near: float) -> float:
    """The yaw of a walk, so many pixels to the right and to the viewer: sideways, it shows the side."""
    heading = degrees(atan2(near, right))
    if abs(right) <= 0.5 * abs(near):
        return heading
    aside = 12.0 + 0.3 * (heading if right > 0 else 180 - heading % 360)
    return aside if right > 0 else 180 - aside


def _glide(t: float) -> float:
    """Get going over the first part, keep the pace, stop over the last."""
    ramp = 0.14
    top = 1 / (1 - ramp)
    if t > 0.5:
        return 1 - _glide(1 - t)
    return top * max(0.0, t) ** 2 / (2 * ramp) if t < ramp else top * (t - ramp / 2)


def _step(phase: float, stride: float, strength: float, rest: Vec) -> Vec:
    """One foot of the walk: half the time it stays on its spot, half the time it swings through the air."""
    swing = 2 * (phase % 1.0) - 1
    ahead = stride * (-1 - 2 * swing if swing < 0 else 2 * ease(swing) - 1)
    lift = 0.17 * sin(pi * max(0.0, swing))
    return mix(rest[0], ahead, strength), lift * strength, mix(rest[2], rest[2] * 0.6, strength)


def _swing(phase: float, strength: float, haste: bool) -> Pair:
    """Both hands of the walk: each goes with the other side's foot."""
    out, up = 0.42 * strength * wave(phase + 0.25, 1), 0.45 * strength if haste else 0.04
    ahead, high = HANG[0][0] + up * 0.6, HANG[0][1] + up
    return (ahead - out, high, -0.34), (ahead + out, high, 0.34)
