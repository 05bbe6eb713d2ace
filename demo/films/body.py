"""The body of a figure: what a pose is, and where it puts each joint in the picture.

Lengths inside a pose are relative (one leg, one arm), so that a child and a man can take the same pose.
A body's own axes are forward, up and right. The picture is 480 by 270 pixels, y downwards; a place on the
floor is ``x`` (pixels) and ``z`` (0 at the front of the room, 1 at the wall, more behind the wall).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from math import cos, hypot, pi, radians, sin, sqrt

Vec = tuple[float, float, float]
Point = tuple[float, float]

LANE = 0.25  # the depth at which people walk
FLOOR, DEPTH = 248.0, 36.0  # y of the floor at z = 0, and how far it climbs until the wall
TILT = 0.28  # the camera looks down a little: what is nearer is lower

HANG: tuple[Vec, Vec] = ((0.1, -0.93, -0.36), (0.1, -0.93, 0.36))
STAND: tuple[Vec, Vec] = ((-0.02, 0.0, -0.13), (0.02, 0.0, 0.13))


@dataclass(frozen=True, slots=True)
class Build:
    """A person's proportions: height in pixels, the other lengths as parts of it."""

    height: float
    leg: float = 0.47
    torso: float = 0.3
    arm: float = 0.36
    head: float = 0.098
    stoop: float = 0.0


@dataclass(frozen=True, slots=True)
class Pose:
    """One posture. Angles in degrees; yaw 0 looks right, 90 at the viewer, 180 left, 270 at the wall.

    The hip is (forward, up) in legs, feet are in legs from the spot on the floor, hands are in arms from
    the middle of the shoulders, each left then right.
    """

    x: float
    z: float = LANE
    yaw: float = 20.0
    hip: Point = (0.0, 1.0)
    lean: float = 0.0
    nod: float = 0.0
    hands: tuple[Vec, Vec] = HANG
    feet: tuple[Vec, Vec] = STAND
    asleep: bool = False
    hidden: bool = False


@dataclass(frozen=True, slots=True)
class Joints:
    """Where the joints are in the picture: (x, y, nearness), pairs left then right."""

    scale: float
    neck: Vec
    head: Vec
    hip: Vec
    shoulders: tuple[Vec, Vec]
    elbows: tuple[Vec, Vec]
    hands: tuple[Vec, Vec]
    hips: tuple[Vec, Vec]
    knees: tuple[Vec, Vec]
    feet: tuple[Vec, Vec]
    toes: Point  # which way the toes point, in the picture
    front: float  # 1 when the chest looks at the viewer, -1 when away


def skeleton(pose: Pose, build: Build) -> Joints:
    """Solve a pose for one build: the joints' places in the picture."""
    tall = build.height * depth_scale(pose.z)
    leg, arm = build.leg, build.arm
    hip, neck, up = _spine(pose, build)
    shoulders = _pair(neck, 0.098 if leg > 0.45 else 0.09)
    hips = _pair(hip, 0.05)
    elbows, hands, knees, feet = [], [], [], []
    for side in (0, 1):
        out = (-1.0, 1.0)[side]
        target = _add(neck, pose.hands[side], arm)
        raised = min(
            1.0, max(0.0, pose.hands[side][1] / 0.5 + 0.4)
        )  # elbows: back when low, forward when high
        elbow, hand = _bend(shoulders[side], target, arm / 2, (1.1 * raised - 0.5, -0.85, 0.38 * out))
        knee, foot = _bend(
            hips[side], _add((0.0, 0.0, 0.0), pose.feet[side], leg), leg / 2, (1, 0.3, 0.2 * out)
        )
        elbows.append(elbow)
        hands.append(hand)
        knees.append(knee)
        feet.append(foot)
    head = _add(neck, up, build.head * 1.12)

    def show(p: Vec) -> Vec:
        return project(p, pose, tall)

    def both(pair: list[Vec] | tuple[Vec, Vec]) -> tuple[Vec, Vec]:
        return show(pair[0]), show(pair[1])

    c, s = cos(radians(pose.yaw)), sin(radians(pose.yaw))
    flat = 1.0 if pose.hip[1] > 0.2 and abs(pose.lean) < 60 else 0.0  # lying, the toes point up
    toes = (c * flat, TILT * s * flat - (1 - flat))
    return Joints(
        tall,
        show(neck),
        show(head),
        show(hip),
        both(shoulders),
        both(elbows),
        both(hands),
        both(hips),
        both(knees),
        both(feet),
        toes,
        s,
    )


def head_axes(pose: Pose, build: Build) -> tuple[Vec, Vec, Vec]:
    """The head's forward, up and right in the picture, as (x, y, nearness) of unit length."""
    tilt = radians(pose.lean + pose.nod + build.stoop)
    origin = replace(pose, x=0.0, z=FLOOR / DEPTH)
    forward: Vec = (cos(tilt), -sin(tilt), 0.0)
    up: Vec = (sin(tilt), cos(tilt), 0.0)
    return project(forward, origin, 1.0), project(up, origin, 1.0), project((0.0, 0.0, 1.0), origin, 1.0)


def project(p: Vec, pose: Pose, tall: float) -> Vec:
    """Take a point of the body (in heights) to the picture: x, y, nearness to the viewer."""
    c, s = cos(radians(pose.yaw)), sin(radians(pose.yaw))
    near = tall * (p[0] * s + p[2] * c)
    return pose.x + tall * (p[0] * c - p[2] * s), floor_y(pose.z) - tall * p[1] + TILT * near, near


def reach(pose: Pose, build: Build, at: Point, near: float = 0.0) -> Vec:
    """The hand that would touch the point ``at`` of the picture, ``near`` pixels nearer than the body."""
    tall = build.height * depth_scale(pose.z)
    c, s = cos(radians(pose.yaw)), sin(radians(pose.yaw))
    dx, up = (at[0] - pose.x) / tall, (floor_y(pose.z) + TILT * near - at[1]) / tall
    near /= tall
    neck = _spine(pose, build)[1]
    body = (dx * c + near * s, up, near * c - dx * s)
    return _scaled(_add(body, neck, -1.0), 1 / build.arm)


def blend(a: Pose, b: Pose, t: float) -> Pose:
    """The posture a part ``t`` (0 to 1) of the way from ``a`` to ``b``, turning the shorter way round."""
    if t <= 0 or t >= 1:
        return a if t <= 0 else b
    turn = (b.yaw - a.yaw + 180) % 360 - 180
    return Pose(
        x=mix(a.x, b.x, t),
        z=mix(a.z, b.z, t),
        yaw=a.yaw + turn * t,
        hip=(mix(a.hip[0], b.hip[0], t), mix(a.hip[1], b.hip[1], t)),
        lean=mix(a.lean, b.lean, t),
        nod=mix(a.nod, b.nod, t),
        hands=(_between(a.hands[0], b.hands[0], t), _between(a.hands[1], b.hands[1], t)),
        feet=(_between(a.feet[0], b.feet[0], t), _between(a.feet[1], b.feet[1], t)),
        asleep=b.asleep if t > 0.8 else a.asleep,
        hidden=a.hidden if t < 0.5 else b.hidden,
    )


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


def bump(t: float, rise: float = 0.25, fall: float = 0.25) -> float:
    """Rise gently to 1, stay, and fall back to 0 over the last part."""
    return min(ease(t / rise), ease((1 - t) / fall))


def wave(t: float, times: float) -> float:
    """A swing between -1 and 1, ``times`` full swings from t = 0 to 1."""
    return sin(2 * pi * times * t)


def mix(a: float, b: float, t: float) -> float:
    """The number a part ``t`` of the way from ``a`` to ``b``."""
    return a + (b - a) * t


def floor_y(z: float) -> float:
    """The y, in pixels, of the floor at depth ``z``."""
    return FLOOR - DEPTH * z


def depth_scale(z: float) -> float:
    """How large things at depth ``z`` look (1 at the front of the room)."""
    return 1.03 - 0.12 * z


def _spine(pose: Pose, build: Build) -> tuple[Vec, Vec, Vec]:
    """Hip, neck and the head's upward direction, in heights."""
    lean = radians(pose.lean + build.stoop)
    hip: Vec = (pose.hip[0] * build.leg, pose.hip[1] * build.leg, 0.0)
    neck = _add(hip, (sin(lean), cos(lean), 0.0), build.torso)
    tilt = radians(pose.lean + build.stoop + pose.nod)
    return hip, neck, (sin(tilt), cos(tilt), 0.0)


def _bend(root: Vec, target: Vec, bone: float, pole: Vec) -> tuple[Vec, Vec]:
    """Two bones of one length from the root towards the target: the middle joint, and the end."""
    line = _add(target, root, -1.0)
    far = max(1e-6, sqrt(line[0] ** 2 + line[1] ** 2 + line[2] ** 2))
    unit = _scaled(line, 1 / far)
    far = min(far, 1.995 * bone)
    along = pole[0] * unit[0] + pole[1] * unit[1] + pole[2] * unit[2]
    aside = _add(pole, unit, -along)
    size = max(1e-6, hypot(*aside))
    rise = sqrt(max(0.0, bone**2 - (far / 2) ** 2))
    joint = _add(_add(root, unit, far / 2), aside, rise / size)
    return joint, _add(root, unit, far)


def _pair(middle: Vec, half: float) -> tuple[Vec, Vec]:
    return (middle[0], middle[1], middle[2] - half), (middle[0], middle[1], middle[2] + half)


def _add(a: Vec, b: Vec, times: float) -> Vec:
    return a[0] + b[0] * times, a[1] + b[1] * times, a[2] + b[2] * times


def _scaled(a: Vec, times: float) -> Vec:
    return a[0] * times, a[1] * times, a[2] * times


def _between(a: Vec, b: Vec, t: float) -> Vec:
    return mix(a[0], b[0], t), mix(a[1], b[1], t), mix(a[2], b[2], t)
