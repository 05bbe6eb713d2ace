"""Actions with things and between two people; and every action by its verb, and how long it takes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import ceil, pi, sin

from . import body as b
from .body import Point, Pose, blend, bump, floor_y, mix, reach, wave
from .gestures import TABLE, Act, gesture, jumps, lies, points, posture, sits, stands, wakes, writes
from .moves import LEFT, RIGHT, Beat, build, closes, enters, leaves, opens, stroll_seconds, turns, walks
from .stage import HALF_WIDTHS, TOPS, Thing, World

FPS = 12


def takes(t: float, world: World, beat: Beat) -> World:
    """Reach for a thing, close the hand on it, and hold it."""
    me, thing = world.poses[beat.who], world.things[beat.what]
    touch = _touching(me, beat.who, thing)
    have = replace(me, hands=thing.carrying)
    if t >= 0.46:
        world = world.moved(beat.what, replace(thing, holder=beat.who))
    return world.through(beat.who, t, (0.42, touch), (0.5, touch), (1.0, have))


def puts(t: float, world: World, beat: Beat) -> World:
    """Set what one holds down, on a piece of furniture or on the floor."""
    me, thing = world.poses[beat.who], world.things[beat.what]
    side = 1 if me.yaw < 90 else -1
    x, up, z = me.x + side * 36, 0.0, b.LANE + 0.08
    if beat.whom != "floor":
        piece = world.place.find(beat.whom)
        x, up, z = piece.x - side * (HALF_WIDTHS[piece.kind] - 20), TOPS[piece.kind] + 1, piece.z
    there = replace(thing, holder="", open=False, x=x, up=up, z=z)
    touch = _touching(me, beat.who, there)
    if t >= 0.55:
        world = world.moved(beat.what, there)
    free = replace(me, hands=b.HANG)
    return world.through(beat.who, t, (0.5, touch), (0.6, touch), (1.0, free))


def strains(t: float, world: World, beat: Beat) -> World:
    """Pull at a thing that will not rise, and give up."""
    me, who = world.poses[beat.who], beat.who
    touch = _touching(me, who, world.things[beat.what])
    effort, wipe = posture("strain", touch, who, t), posture("wipe", me, who)
    keys = ((0.2, touch), (0.3, effort), (0.65, effort), (0.82, wipe), (0.9, wipe), (1.0, me))
    return world.through(who, t, *keys)


def tosses(t: float, world: World, beat: Beat) -> World:
    """Throw a thing straight up and catch it again, twice."""
    me, who, part = world.poses[beat.who], beat.who, t * 2 % 1.0
    low, high = posture("toss_low", me, who), posture("toss_high", me, who)
    keys = ((0.15, low), (0.28, high), (0.75, high), (0.85, low), (1.0, me))
    world = world.through(who, part, *keys)
    if not 0.28 < part < 0.75:
        return world
    at = _between_hands(high, who)
    return world.moved(beat.what, _flown(world.things[beat.what], at, at, (part - 0.28) / 0.47, 46.0))


def gives(t: float, world: World, beat: Beat) -> World:
    """Hold a thing out; the other takes it."""
    thing, you, (x, y) = world.things[beat.what], world.poses[beat.whom], _middle(world, beat)
    mine, yours, _ = _face(world, beat)
    wide = thing.traits.wide
    out = _grasping(posture("meet", mine, beat.who), beat.who, (x, y), wide)
    get = _grasping(posture("meet", yours, beat.whom), beat.whom, (x, y), wide)
    free, have = replace(mine, hands=b.HANG), replace(yours, hands=thing.carrying)
    world = world.through(beat.who, t, (0.4, out), (0.58, out), (1.0, free))
    world = world.through(beat.whom, t, (0.1, you), (0.45, get), (0.55, get), (1.0, have))
    return world.moved(beat.what, replace(thing, holder=beat.whom)) if t > 0.5 else world


def throws(t: float, world: World, beat: Beat) -> World:
    """Swing back, throw; the ball flies in a bow and the other catches it."""
    thing, (mine, yours, _) = world.things[beat.what], _face(world, beat)
    back, away = posture("swing", mine, beat.who), posture("throw", mine, beat.who)
    ready, have = posture("ready", yours, beat.whom), replace(yours, hands=thing.carrying)
    free = replace(mine, hands=b.HANG)
    world = world.through(beat.who, t, (0.22, back), (0.36, away), (0.55, away), (0.8, free))
    world = world.through(beat.whom, t, (0.15, yours), (0.35, ready), (0.7, ready), (1.0, have))
    if t < 0.34:
        return world
    if t >= 0.68:
        return world.moved(beat.what, replace(thing, holder=beat.whom))
    start, end = _between_hands(away, beat.who), _between_hands(ready, beat.whom)
    bow = 20 + 0.2 * abs(yours.x - mine.x)
    return world.moved(beat.what, _flown(thing, start, end, (t - 0.34) / 0.34, bow))


def kicks(t: float, world: World, beat: Beat) -> World:
    """Swing a leg; the ball rolls to the other, who stops it with a foot."""
    ball, (mine, yours, side) = world.things[beat.what], _face(world, beat)
    back, hit = posture("draw_back", mine, beat.who), posture("kick", mine, beat.who)
    stop = posture("stop", yours, beat.whom)
    roll = min(1.0, max(0.0, (t - 0.3) / 0.42))
    x = mix(ball.x, yours.x - side * 34, 1 - (1 - roll) ** 1.6)
    ball = replace(ball, x=x, tip=(x - ball.x) * 6.0)
    world = world.through(beat.who, t, (0.2, back), (0.34, hit), (0.42, hit), (0.62, mine))
    world = world.through(beat.whom, t, (0.3, yours), (0.62, stop), (0.8, stop), (1.0, yours))
    return world.moved(beat.what, ball)


def hugs(t: float, world: World, beat: Beat) -> World:
    """Step together, put the arms round each other, rock, and step back."""
    mine, yours, side = _face(world, beat)
    middle = (mine.x + yours.x) / 2
    stepping = 0.08 * abs(sin(3 * pi * min(1.0, t / 0.3))) if t < 0.3 or t > 0.78 else 0.0
    feet = (b.STAND[0], (b.STAND[1][0], stepping, b.STAND[1][2]))
    pairs = ((beat.who, beat.whom, mine, side, 0.12), (beat.whom, beat.who, yours, -side, -0.12))
    for who, other, pose, way, level in pairs:
        tall = build(other).height / build(who).height
        high = min(0.3, -0.15 + (tall - 1) * 1.5 + level)
        close = replace(
            pose,
            x=middle - way * 13,
            yaw=pose.yaw + 3 * wave(t, 2),
            lean=5.0 + 8 * (tall < 0.85),
            hands=((0.8, high, 0.1), (0.8, high - 0.12, -0.1)),
            nod=8.0 * (tall < 1.02),
        )
        hugging = blend(world.poses[who], close, bump(t, 0.3, 0.22))
        world = world.posed(who, replace(hugging, feet=feet))
    return world


def shakes(t: float, world: World, beat: Beat) -> World:
    """Both right hands meet in the middle and go up and down."""
    x, y = _middle(world, beat)
    shaken = 7 * wave((t - 0.28) / 0.47, 3) if 0.28 < t < 0.75 else 0.0
    return _hands_meet(world, beat, (x, y + shaken), bump(t, 0.28, 0.25))


def highfives(t: float, world: World, beat: Beat) -> World:
    """Two people step together and strike their raised right hands together."""
    pairs = ((world.poses[who], build(who).height) for who in (beat.who, beat.whom))
    top = max(floor_y(pose.z) - height * b.depth_scale(pose.z) for pose, height in pairs) - 4
    return _hands_meet(world, beat, (_middle(world, beat)[0], top), bump(t, 0.4, 0.35), nearer=0.8)


def offers(t: float, world: World, beat: Beat) -> World:
    """Hold out a hand to shake; the other turns away and does not take it."""
    me, you = world.poses[beat.who], world.poses[beat.whom]
    mine = _face(world, beat)[0]
    out = _grasping(posture("meet", mine, beat.who), beat.who, _middle(world, beat))
    aside = replace(posture("refuse", you, beat.whom), yaw=mine.yaw)
    world = world.through(beat.who, t, (0.25, out), (0.75, out), (1.0, me))
    return world.through(beat.whom, t, (0.3, you), (0.6, aside), (0.85, aside), (1.0, you))


def _hands_meet(world: World, beat: Beat, at: Point, strength: float, nearer: float = 0.0) -> World:
    """Both turn to each other (and step ``nearer``, 0 to 1), and their right hands meet at a point."""
    mine, yours, side = _face(world, beat)
    for who, pose, way in ((beat.who, mine, side), (beat.whom, yours, -side)):
        close = replace(posture("meet", pose, who), x=mix(pose.x, at[0] - way * 20, nearer))
        world = world.posed(who, blend(world.poses[who], _grasping(close, who, at), strength))
    return world


def _face(world: World, beat: Beat) -> tuple[Pose, Pose, int]:
    """The two people turned to each other, and the side (1 right, -1 left) on which the second one is."""
    me, you = world.poses[beat.who], world.poses[beat.whom]
    if you.x > me.x:
        return replace(me, yaw=RIGHT), replace(you, yaw=LEFT), 1
    return replace(me, yaw=LEFT), replace(you, yaw=RIGHT), -1


def _middle(world: World, beat: Beat) -> Point:
    """Half-way between two people, as high as the belt of the smaller."""
    a, b = world.poses[beat.who], world.poses[beat.whom]
    low = min(build(beat.who).height, build(beat.whom).height)
    seated = 16 if min(a.hip[1], b.hip[1]) < 0.8 else 0
    return (a.x + b.x) / 2, floor_y(max(a.z, b.z)) - low * 0.6 + seated


def _touching(me: Pose, who: str, thing: Thing) -> Pose:
    """The posture in which the hands are on a thing that lies there: crouching when it is low."""
    low = thing.up < 30 and thing.kind != "broom" and me.hip[1] > 0.8
    small = "_small" if build(who).leg < 0.45 else ""
    body = posture("crouch" + small if low else "bend", me, who)
    traits = thing.traits
    return _grasping(body, who, (thing.x, floor_y(thing.z) - thing.up - traits.half - traits.low), traits.wide)


def _grasping(pose: Pose, who: str, at: Point, wide: float = 0.0) -> Pose:
    """The posture in which the right hand is at a point, or both are, each ``wide`` pixels from it."""
    if wide:
        return replace(pose, hands=(reach(pose, build(who), at, -wide), reach(pose, build(who), at, wide)))
    return replace(pose, hands=(pose.hands[0], reach(pose, build(who), at, 5.0)))


def _between_hands(pose: Pose, who: str) -> Point:
    left, right = b.skeleton(pose, build(who)).hands
    return b.along(left, right, 0.5)


def _flown(thing: Thing, start: Point, end: Point, t: float, bow: float) -> Thing:
    """A thing in the air, a part t of its way between two points of the picture."""
    x, y = b.along(start, end, t)
    up = floor_y(thing.z) - y + bow * 4 * t * (1 - t) - thing.traits.half
    return replace(thing, holder="", x=x, up=up, tip=360 * b.ease(t))


@dataclass(frozen=True, slots=True)
class Action:
    """A verb: ``act(t, world at the start, beat)`` gives the world at t (0 to 1).

    ``stop`` is the part (0 to 1) a broken action reaches before it is taken back.
    """

    act: Act
    seconds: float
    stop: float = 0.5


_BY_NAME: tuple[Act, ...] = (
    *(walks, turns, sits, stands, lies, wakes, opens, closes, enters, leaves, points, writes, jumps),
    *(takes, strains, puts, gives, throws, tosses, kicks, hugs, shakes, offers, highfives),
)


def _actions() -> Iterator[tuple[str, Action]]:
    acts = {act.__name__: act for act in _BY_NAME} | {"runs": walks, "lifts": takes}
    for verb, line in TABLE["actions"].items():
        length, stop = map(float, line.split())
        yield verb, Action(acts[verb], length, stop)
    for verb, line in TABLE["gestures"].items():
        length, stop, rise, *change = line.partition("|")[0].split()
        yield verb, Action(gesture(verb, float(rise), *change), float(length), float(stop))


ACTIONS = dict(_actions())


def perform(t: float, world: World, beat: Beat) -> World:
    """The world at t (0 to 1) of a beat begun in ``world``; a broken beat goes back to where it began."""
    action = ACTIONS[beat.verb]
    if not beat.broken or beat.verb == "walks":
        return action.act(t, world, beat)
    ink = action.act(action.stop * min(1.0, t / 0.42), world, beat).ink  # what is written stays
    if t >= 1:
        return replace(world, ink=ink)
    return replace(action.act(action.stop * bump(t, 0.42, 0.42), world, beat), ink=ink)


def seconds(world: World, beat: Beat) -> float:
    """How long a beat takes, in seconds: a multiple of a quarter, hence a whole number of frames."""
    if beat.verb in ("walks", "runs"):
        return ceil(4 * stroll_seconds(world, beat) * (1.4 if beat.broken else 1.0)) / 4
    return ACTIONS[beat.verb].seconds
