"""Actions between two people: give, throw, kick, hug, shake hands."""

from __future__ import annotations

from dataclasses import replace
from math import pi, sin

from .body import HANG, STAND, Pose, blend, bump, depth_scale, floor_y, keyed, mix, reach, wave
from .handling import BOTH_HANDS, between_hands, carrying, flown
from .moves import LEFT, RIGHT, Beat, build
from .stage import World


def gives(t: float, world: World, beat: Beat) -> World:
    """Hold a thing out; the other takes it."""
    me, you, thing = world.poses[beat.who], world.poses[beat.whom], world.things[beat.what]
    middle = _middle(world, beat.who, beat.whom)
    side = 1 if you.x > me.x else -1
    mine = replace(me, yaw=RIGHT if side > 0 else LEFT, lean=me.lean + 6)
    yours = replace(you, yaw=LEFT if side > 0 else RIGHT, lean=you.lean + 6)
    both = thing.kind in BOTH_HANDS

    def hold(pose: Pose, who: str, at: tuple[float, float]) -> Pose:
        if both:
            return replace(pose, hands=(reach(pose, build(who), at, -9), reach(pose, build(who), at, 9)))
        return replace(pose, hands=(pose.hands[0], reach(pose, build(who), at, 4)))

    out, get = hold(mine, beat.who, (middle[0] - side * 3, middle[1])), hold(yours, beat.whom, middle)
    giver = keyed(t, (0.0, me), (0.4, out), (0.58, out), (1.0, replace(mine, lean=me.lean, hands=HANG)))
    taker = keyed(
        t,
        (0.0, you),
        (0.1, you),
        (0.45, get),
        (0.55, get),
        (1.0, replace(yours, lean=you.lean, hands=carrying(thing.kind))),
    )
    if t > 0.5:
        thing = replace(thing, holder=beat.whom)
    return world.posed(**{beat.who: giver, beat.whom: taker}).moved(beat.what, thing)


def throws(t: float, world: World, beat: Beat) -> World:
    """Swing back, throw; the ball flies in a bow and the other catches it."""
    me, you, thing = world.poses[beat.who], world.poses[beat.whom], world.things[beat.what]
    side = 1 if you.x > me.x else -1
    mine, yours = replace(me, yaw=RIGHT if side > 0 else LEFT), replace(you, yaw=LEFT if side > 0 else RIGHT)
    back = replace(
        mine,
        hands=((-0.1, 0.45, -0.2), (-0.1, 0.45, 0.2)),
        lean=-12.0,
        feet=((-0.3, 0, -0.13), (0.2, 0, 0.13)),
    )
    away = replace(
        mine,
        hands=((0.85, 0.2, -0.15), (0.85, 0.2, 0.15)),
        lean=14.0,
        feet=((-0.25, 0, -0.13), (0.3, 0, 0.13)),
    )
    ready = replace(yours, hands=((0.7, 0.05, -0.22), (0.7, 0.05, 0.22)), lean=6.0)
    giver = keyed(t, (0.0, me), (0.22, back), (0.36, away), (0.55, away), (0.8, replace(mine, hands=HANG)))
    taker = keyed(
        t,
        (0.0, you),
        (0.15, yours),
        (0.35, ready),
        (0.7, ready),
        (1.0, replace(yours, hands=carrying("ball"))),
    )
    world = world.posed(**{beat.who: giver, beat.whom: taker})
    if t < 0.34:
        return world
    start, end = between_hands(away, beat.who), between_hands(ready, beat.whom)
    return world.moved(
        beat.what, flown(thing, start, end, (t - 0.34) / 0.34, 20 + 0.2 * abs(you.x - me.x), beat.whom)
    )


def kicks(t: float, world: World, beat: Beat) -> World:
    """Swing a leg; the ball rolls to the other, who stops it with a foot."""
    me, you, thing = world.poses[beat.who], world.poses[beat.whom], world.things[beat.what]
    side = 1 if you.x > me.x else -1
    mine, yours = replace(me, yaw=RIGHT if side > 0 else LEFT), replace(you, yaw=LEFT if side > 0 else RIGHT)
    back = replace(
        mine, feet=(STAND[0], (-0.5, 0.3, 0.13)), lean=8.0, hands=((0.4, -0.75, -0.4), (-0.3, -0.8, 0.4))
    )
    hit = replace(
        mine, feet=(STAND[0], (0.62, 0.26, 0.1)), lean=-10.0, hands=((-0.4, -0.75, -0.4), (0.4, -0.75, 0.4))
    )
    stop = replace(yours, feet=(STAND[0], (0.4, 0.12, 0.12)), lean=-4.0)
    kicker = keyed(t, (0.0, me), (0.2, back), (0.34, hit), (0.42, hit), (0.62, mine))
    other = keyed(t, (0.0, you), (0.3, yours), (0.62, stop), (0.8, stop), (1.0, yours))
    roll = min(1.0, max(0.0, (t - 0.3) / 0.42))
    end = you.x - side * 34
    x = mix(thing.x, end, 1 - (1 - roll) ** 1.6)
    ball = replace(thing, x=x, tip=(x - thing.x) * 6.0)
    return world.posed(**{beat.who: kicker, beat.whom: other}).moved(beat.what, ball)


def hugs(t: float, world: World, beat: Beat) -> World:
    """Step together, put the arms round each other, rock, and step back."""
    me, you = world.poses[beat.who], world.poses[beat.whom]
    side, middle = (1 if you.x > me.x else -1), (me.x + you.x) / 2
    strength = bump(t, 0.3, 0.22)
    poses = {}
    for who, pose, way, level in ((beat.who, me, side, 0.12), (beat.whom, you, -side, -0.12)):
        tall = build(beat.whom if who == beat.who else beat.who).height / build(who).height
        high = min(0.3, -0.15 + (tall - 1) * 1.5 + level)
        close = replace(
            pose,
            x=middle - way * 13,
            yaw=(RIGHT if way > 0 else LEFT) + 3 * wave(t, 2),
            lean=5.0 + 8 * (tall < 0.85),
            hands=((0.8, high, 0.1), (0.8, high - 0.12, -0.1)),
            nod=8.0 * (tall < 1.02),
        )
        stepping = 0.08 * abs(sin(3 * pi * min(1.0, t / 0.3))) if t < 0.3 or t > 0.78 else 0.0
        poses[who] = replace(
            blend(pose, close, strength), feet=(STAND[0], (STAND[1][0], stepping, STAND[1][2]))
        )
    return world.posed(**poses)


def shakes(t: float, world: World, beat: Beat) -> World:
    """Both right hands meet in the middle and go up and down."""
    middle = _middle(world, beat.who, beat.whom)
    strength = bump(t, 0.28, 0.25)
    me, you = world.poses[beat.who], world.poses[beat.whom]
    poses = {}
    for who, pose, way in (
        (beat.who, me, 1 if you.x > me.x else -1),
        (beat.whom, you, 1 if me.x > you.x else -1),
    ):
        turned = replace(pose, yaw=RIGHT if way > 0 else LEFT, lean=7.0)
        at = middle[0], middle[1] + (7 * wave((t - 0.28) / 0.47, 3) if 0.28 < t < 0.75 else 0.0)
        poses[who] = blend(
            pose, replace(turned, hands=(pose.hands[0], reach(turned, build(who), at, 3))), strength
        )
    return world.posed(**poses)


def offers(t: float, world: World, beat: Beat) -> World:
    """Hold out a hand to shake; the other turns away and does not take it."""
    me, you = world.poses[beat.who], world.poses[beat.whom]
    middle = _middle(world, beat.who, beat.whom)
    turned = replace(me, yaw=RIGHT if you.x > me.x else LEFT, lean=7.0)
    out = replace(turned, hands=(me.hands[0], reach(turned, build(beat.who), middle, 3)))
    folded = replace(
        you, yaw=80.0 if you.yaw > 90 else 100.0, nod=-6.0, hands=((0.36, -0.32, 0.3), (0.4, -0.38, -0.3))
    )
    aside = replace(folded, yaw=RIGHT if you.x > me.x else LEFT)
    poses = {
        beat.who: keyed(t, (0.0, me), (0.25, out), (0.75, out), (1.0, me)),
        beat.whom: keyed(t, (0.0, you), (0.3, you), (0.6, aside), (0.85, aside), (1.0, you)),
    }
    return world.posed(**poses)


def claps_hands(t: float, world: World, beat: Beat) -> World:
    """Two people strike their raised right hands together (a high five)."""
    me, you = world.poses[beat.who], world.poses[beat.whom]
    poses = {}
    strength = bump(t, 0.4, 0.35)
    top = min(_top(me, beat.who), _top(you, beat.whom), key=lambda y: -y) - 4
    for who, pose, way in (
        (beat.who, me, 1 if you.x > me.x else -1),
        (beat.whom, you, 1 if me.x > you.x else -1),
    ):
        turned = replace(
            pose, yaw=RIGHT if way > 0 else LEFT, lean=6.0, x=mix(pose.x, (me.x + you.x) / 2 - way * 20, 0.8)
        )
        hand = reach(turned, build(who), ((me.x + you.x) / 2, top), 3)
        poses[who] = blend(pose, replace(turned, hands=(pose.hands[0], hand)), strength)
    return world.posed(**poses)


def _top(pose: Pose, who: str) -> float:
    return floor_y(pose.z) - build(who).height * depth_scale(pose.z)


def _middle(world: World, one: str, other: str) -> tuple[float, float]:
    """Half-way between two people, as high as the belt of the smaller."""
    a, b = world.poses[one], world.poses[other]
    low = min(build(one).height, build(other).height)
    seated = 16 if min(a.hip[1], b.hip[1]) < 0.8 else 0
    return (a.x + b.x) / 2, floor_y(max(a.z, b.z)) - low * 0.6 + seated
