"""The body of a figure: what a pose is, and where it puts each joint in the picture.

Lengths inside a pose are relative (one leg, one arm), so that a child and a man can take the same pose.
A body's own axes are forward, up and right. The picture is 480 by 270 pixels, y downwards; a place on the
floor is ``x`` (pixels) and ``z`` (0 at the front of the room, 1 at the wall, more behind the wall).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import cos, hypot, pi, radians, sin, sqrt
from typing import Any

Vec = tuple[float, float, float]
Pair = tuple[Vec, Vec]
Point = tuple[float, float]

LANE = 0.25  # the depth at which people walk
FLOOR, DEPTH = 248.0, 36.0  # y of the floor at z = 0, and how far it climbs until the wall
TILT = 0.28  # the camera looks down a little: what is nearer is lower

HANG: Pair = ((0.1, -0.93, -0.36), (0.1, -0.93, 0.36))
STAND: Pair = ((-0.02, 0.0, -0.13), (0.02, 0.0, 0.13))


@dataclass(frozen=True, slots=True)
class Build:
    """A person's proportions: height in pixels, the other lengths as parts of it, the stoop in degrees."""

    height: float
    leg: float
    torso: float
    arm: float
    head: float
    stoop: float


@dataclass(frozen=True, slots=True)
class Pose:
    """One posture. Angles are in degrees; yaw 0 looks right, 90 at the viewer, 180 left, 270 at the wall.

    The hip is (forward, up) in legs, feet are in legs from the spot on the floor, hands are in arms from
    the middle of the shoulders, each left then right.
    """

    x: float
    z: float = LANE
    yaw: float = 20.0
    hip: Point = (0.0, 1.0)
    lean: float = 0.0
    nod: float = 0.0
    hands: Pair = HANG
    feet: Pair = STAND
    asleep: bool = False
    hidden: bool = False


@dataclass(frozen=True, slots=True)
class Joints:
    """Where the joints are in the picture: each is (x, y, nearness to the viewer), pairs are left then right."""

    scale: float
    toes: Point  # which way the toes point, in the picture
    front: float  # 1 when the chest looks at the viewer, -1 when away
    hip: Vec
    neck: Vec
    head: Vec
    shoulders: Pair
    elbows: Pair
    hands: Pair
    hips: Pair
    knees: Pair
    feet: Pair


def skeleton(pose: Pose, build: Build) -> Joints:
    """Solve a pose for one build: the joints' places in the picture."""
    tall, foot, seen = build.height * depth_scale(pose.z), floor_y(pose.z), view(pose.yaw)
    hip, neck, head = _spine(pose, build)
    wide = 0.098 if build.leg > 0.45 else 0.09
    solved: list[list[Vec]] = [[] for _ in range(6)]
    for k, side in enumerate((-1, 1)):
        hand, shoe = _plus(neck, pose.hands[k], build.arm), _plus((0.0, 0.0, 0.0), pose.feet[k], build.leg)
        back = 1.1 * min(1.0, max(0.0, 2 * pose.hands[k][1] + 0.4)) - 0.5  # elbows: back when low
        arm = _bend((neck[0], neck[1], side * wide), hand, build.arm / 2, (back, -0.85, 0.38 * side))
        leg = _bend((hip[0], hip[1], side * 0.05), shoe, build.leg / 2, (1.0, 0.3, 0.2 * side))
        for joints, place in zip(solved, arm + leg, strict=True):
            joints.append(place)

    def show(place: Vec) -> Vec:
        x, y, near = seen(place)
        return pose.x + tall * x, foot + tall * y, tall * near

    pairs = ((show(left), show(right)) for left, right in solved)
    ahead = seen((1.0, 0.0, 0.0))
    lying = pose.hip[1] <= 0.2 or abs(pose.lean) >= 60  # then the toes point up
    return Joints(tall, (0.0, -1.0) if lying else ahead[:2], ahead[2], show(hip), show(neck), show(head), *pairs)


def head_axes(pose: Pose, build: Build) -> tuple[Vec, Vec, Vec]:
    """The head's forward, up and right in the picture, as (x, y, nearness) of unit length."""
    tilt, seen = radians(pose.lean + pose.nod + build.stoop), view(pose.yaw)
    return seen((cos(tilt), -sin(tilt), 0.0)), seen((sin(tilt), cos(tilt), 0.0)), seen((0.0, 0.0, 1.0))


def view(yaw: float) -> Callable[[Vec], Vec]:
    """What takes a body's (forward, up, right) to the picture's x, y and nearness, at this yaw."""
    c, s = cos(radians(yaw)), sin(radians(yaw))

    def seen(place: Vec) -> Vec:
        near = place[0] * s + place[2] * c
        return place[0] * c - place[2] * s, TILT * near - place[1], near

    return seen


def reach(pose: Pose, build: Build, at: Point, near: float = 0.0) -> Vec:
    """The hand that would touch the point ``at`` of the picture, ``near`` pixels nearer than the body."""
    tall = build.height * depth_scale(pose.z)
    c, s = cos(radians(pose.yaw)), sin(radians(pose.yaw))
    aside, up = at[0] - pose.x, floor_y(pose.z) + TILT * near - at[1]
    neck = _spine(pose, build)[1]
    body = (aside * c + near * s) / tall, up / tall, (near * c - aside * s) / tall
    return (body[0] - neck[0]) / build.arm, (body[1] - neck[1]) / build.arm, body[2] / build.arm


def blend(a: Pose, b: Pose, t: float) -> Pose:
    """The posture a part ``t`` (0 to 1) of the way from ``a`` to ``b``, turning the shorter way round."""
    if t <= 0 or t >= 1:
        return a if t <= 0 else b
    turn = (b.yaw - a.yaw + 180) % 360 - 180
    names = ("x", "z", "hip", "lean", "nod", "hands", "feet")
    between = {name: _between(getattr(a, name), getattr(b, name), t) for name in names}
    asleep, hidden = (a, b)[t > 0.8].asleep, (a, b)[t >= 0.5].hidden
    return Pose(yaw=a.yaw + turn * t, asleep=asleep, hidden=hidden, **between)


def keyed(t: float, *keys: tuple[float, Pose]) -> Pose:
    """Go through postures at given times (0 to 1, rising), easing in and out of each."""
    for (t0, a), (t1, b) in pairwise(keys):
        if t <= t1:
            return blend(a, b, ease((t - t0) / (t1 - t0)))
    return keys[-1][1]


def ease(t: float) -> float:
    """Start and stop gently: 0 to 1 with no speed at either end."""
    t = min(1.0, max(0.0, t))
    return t * t * (3 - 2 * t)


def bump(t: float, rise: float, fall: float) -> float:
    """Rise gently to 1, stay, and fall back to 0 over the last part."""
    return min(ease(t / rise), ease((1 - t) / fall))


def wave(t: float, times: float) -> float:
    """A swing between -1 and 1, ``times`` full swings from t = 0 to 1."""
    return sin(2 * pi * times * t)


def mix(a: float, b: float, t: float) -> float:
    """The number a part ``t`` of the way from ``a`` to ``b``."""
    return a + (b - a) * t


def along(a: Sequence[float], b: Sequence[float], t: float) -> Point:
    """The point of the picture a part ``t`` of the way from ``a`` to ``b``."""
    return mix(a[0], b[0], t), mix(a[1], b[1], t)


def floor_y(z: float) -> float:
    """The y, in pixels, of the floor at depth ``z``."""
    return FLOOR - DEPTH * z


def depth_scale(z: float) -> float:
    """How large things at depth ``z`` look (1 at the front of the room)."""
    return 1.03 - 0.12 * z


def _spine(pose: Pose, build: Build) -> tuple[Vec, Vec, Vec]:
    """The hip, the neck and the middle of the head, in heights."""
    lean, tilt = radians(pose.lean + build.stoop), radians(pose.lean + build.stoop + pose.nod)
    hip = (pose.hip[0] * build.leg, pose.hip[1] * build.leg, 0.0)
    neck = _plus(hip, (sin(lean), cos(lean), 0.0), build.torso)
    return hip, neck, _plus(neck, (sin(tilt), cos(tilt), 0.0), 1.12 * build.head)


def _bend(root: Vec, target: Vec, bone: float, pole: Vec) -> tuple[Vec, Vec, Vec]:
    """Two bones of one length from the root towards the target: where they begin, bend and end."""
    line = _plus(target, root, -1.0)
    far = max(1e-6, hypot(*line))
    unit = line[0] / far, line[1] / far, line[2] / far
    far = min(far, 1.995 * bone)
    aside = _plus(pole, unit, -(pole[0] * unit[0] + pole[1] * unit[1] + pole[2] * unit[2]))
    rise = sqrt(bone**2 - (far / 2) ** 2) / max(1e-6, hypot(*aside))
    return root, _plus(_plus(root, unit, far / 2), aside, rise), _plus(root, unit, far)


def _plus(a: Vec, b: Vec, times: float) -> Vec:
    return a[0] + b[0] * times, a[1] + b[1] * times, a[2] + b[2] * times


def _between(a: Any, b: Any, t: float) -> Any:
    """Mix numbers, or tuples of them however deep."""
    if isinstance(a, tuple):
        return tuple(_between(one, other, t) for one, other in zip(a, b, strict=True))
    return mix(a, b, t)
