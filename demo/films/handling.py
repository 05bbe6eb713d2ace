"""Actions with things: take, put, lift, strain, toss."""

from __future__ import annotations

from dataclasses import replace

from .body import (
    HANG,
    LANE,
    Pose,
    Vec,
    ease,
    floor_y,
    keyed,
    mix,
    reach,
    skeleton,
    wave,
)
from .draw_things import HALF_HEIGHTS
from .moves import Beat, build
from .stage import HALF_WIDTHS, TOPS, Thing, World

CARRIED: dict[str, tuple[Vec, Vec]] = {
    "box": ((0.62, -0.42, -0.5), (0.62, -0.42, 0.5)),
    "gift": ((0.62, -0.4, -0.25), (0.62, -0.4, 0.25)),
    "ball": ((0.55, -0.45, -0.2), (0.55, -0.45, 0.2)),
    "guitar": ((0.55, -0.15, -0.7), (0.42, -0.55, 0.2)),
    "teddy": ((0.4, -0.35, 0.02), (0.42, -0.3, -0.02)),
    "broom": ((0.55, -0.5, -0.1), (0.45, -0.2, 0.2)),
    "suitcase": (HANG[0], (0.06, -0.97, 0.5)),
    "umbrella": (HANG[0], (0.1, -0.9, 0.45)),
    "can": (HANG[0], (0.3, -0.75, 0.3)),
}
ONE_HAND: tuple[Vec, Vec] = (HANG[0], (0.55, -0.4, 0.2))
BOTH_HANDS = ("box", "gift", "ball", "teddy", "guitar", "broom")
GRIP_LOW = {"suitcase": 16.0, "broom": 12.0}


def carrying(kind: str) -> tuple[Vec, Vec]:
    """Where the hands are while one carries a thing of this kind."""
    return CARRIED.get(kind, ONE_HAND)


def takes(t: float, world: World, beat: Beat) -> World:
    """Reach for a thing, close the hand on it, and hold it."""
    me, thing = world.poses[beat.who], world.things[beat.what]
    at = thing.x, floor_y(thing.z) - thing.up - HALF_HEIGHTS[thing.kind]
    touch = _touching(me, beat.who, thing, at)
    have = replace(me, hands=carrying(thing.kind))
    pose = keyed(t, (0.0, me), (0.42, touch), (0.5, touch), (1.0, have))
    if t >= 0.46:
        thing = replace(thing, holder=beat.who, both=thing.kind in BOTH_HANDS)
    return world.posed(**{beat.who: pose}).moved(beat.what, thing)


def puts(t: float, world: World, beat: Beat) -> World:
    """Set what one holds down, on a piece of furniture or on the floor."""
    me, thing = world.poses[beat.who], world.things[beat.what]
    side = 1 if me.yaw < 90 else -1
    x, up, z = me.x + side * 36, 0.0, LANE + 0.08
    if beat.whom != "floor":
        piece = world.place.find(beat.whom)
        x, up, z = piece.x - side * (HALF_WIDTHS[piece.kind] - 20), TOPS[piece.kind] + 1, piece.z
    touch = _touching(me, beat.who, thing, (x, floor_y(z) - up - HALF_HEIGHTS[thing.kind]), up)
    free = replace(me, hands=HANG)
    pose = keyed(t, (0.0, me), (0.5, touch), (0.6, touch), (1.0, free))
    if t >= 0.55:
        thing = replace(thing, holder="", both=False, open=False, x=x, up=up, z=z)
    return world.posed(**{beat.who: pose}).moved(beat.what, thing)


def strains(t: float, world: World, beat: Beat) -> World:
    """Pull at a thing that will not rise, and give up."""
    me, thing = world.poses[beat.who], world.things[beat.what]
    touch = _touching(me, beat.who, thing, (thing.x, floor_y(thing.z) - HALF_HEIGHTS[thing.kind]))
    effort = replace(touch, lean=48 + 5 * wave(t, 5), x=me.x - 3 - 2 * wave(t, 5))
    wipe = replace(me, hands=(me.hands[0], (0.3, 0.35, 0.1)), nod=12.0)
    pose = keyed(
        t, (0.0, me), (0.2, touch), (0.3, effort), (0.65, effort), (0.82, wipe), (0.9, wipe), (1.0, me)
    )
    return world.posed(**{beat.who: pose})


def tosses(t: float, world: World, beat: Beat) -> World:
    """Throw a thing straight up and catch it again, twice."""
    me, thing = world.poses[beat.who], world.things[beat.what]
    beatp = (t * 2) % 1.0
    low = replace(me, hands=((0.55, -0.6, -0.16), (0.55, -0.6, 0.16)), nod=-8.0)
    high = replace(me, hands=((0.55, 0.15, -0.16), (0.55, 0.15, 0.16)), nod=-16.0)
    pose = keyed(beatp, (0.0, me), (0.15, low), (0.28, high), (0.75, high), (0.85, low), (1.0, me))
    world = world.posed(**{beat.who: pose})
    if 0.28 < beatp < 0.75:
        at = between_hands(high, beat.who)
        return world.moved(beat.what, flown(thing, at, at, (beatp - 0.28) / 0.47, 46.0, beat.who))
    return world


def _touching(me: Pose, who: str, thing: Thing, at: tuple[float, float], up: float | None = None) -> Pose:
    """The posture in which the hands are on a thing: crouching when it is low."""
    frame, low = build(who), (thing.up if up is None else up) < 30 and thing.kind != "broom"
    depth = 0.62 if frame.leg > 0.45 else 0.72
    feet: tuple[Vec, Vec] = ((-0.22, 0.0, -0.15), (0.2, 0.0, 0.15))
    body = (
        replace(me, hip=(-0.2, depth), lean=58.0, nod=-20.0, feet=feet)
        if low and me.hip[1] > 0.8
        else replace(me, lean=10.0)
    )
    at = at[0], at[1] - GRIP_LOW.get(thing.kind, 0.0)
    if thing.kind in BOTH_HANDS:
        wide = 16.0 if thing.kind == "box" else 7.0
        return replace(body, hands=(reach(body, frame, at, -wide), reach(body, frame, at, wide)))
    return replace(body, hands=(body.hands[0], reach(body, frame, at, 6.0)))


def between_hands(pose: Pose, who: str) -> tuple[float, float]:
    left, right = skeleton(pose, build(who)).hands
    return (left[0] + right[0]) / 2, (left[1] + right[1]) / 2


def flown(
    thing: Thing, start: tuple[float, float], end: tuple[float, float], t: float, bow: float, to: str
) -> Thing:
    """A thing in the air on its way between two points of the picture; caught when t reaches 1."""
    if t >= 1:
        return replace(thing, holder=to, both=True, tip=0.0)
    y = mix(start[1], end[1], t) - bow * 4 * t * (1 - t)
    up = floor_y(thing.z) - y - HALF_HEIGHTS[thing.kind]
    return replace(thing, holder="", x=mix(start[0], end[0], t), up=up, tip=360 * ease(t))
