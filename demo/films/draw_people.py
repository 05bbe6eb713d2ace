"""Draw a person in a posture: clothes, limbs, face and hair, far parts first."""

from __future__ import annotations

from collections.abc import Callable

from .body import Joints, Pose, Vec, floor_y, head_axes, skeleton
from .brush import Brush, Colour, along, colour, shade, taper
from .cast import Person

INK: Colour = (45, 36, 40)


def draw_person(
    brush: Brush, person: Person, pose: Pose, holds: Callable[[Joints], None], blink: bool
) -> Joints:
    """Draw one person; ``holds`` draws what the hands hold, between the body and the near arm."""
    joints = skeleton(pose, person.build)
    draw_shadow(brush, joints, pose)
    near_right = joints.shoulders[1][2] >= joints.shoulders[0][2]
    far, near = (0, 1) if near_right else (1, 0)
    facing_away = head_axes(pose, person.build)[0][2] < -0.35
    if facing_away:
        holds(joints)
    _arm(brush, person, joints, far, 0.86)
    for side, tone in ((far, 0.86), (near, 1.0)):
        _leg(brush, person, joints, side, tone)
    _clothes(brush, person, joints)
    _head(brush, person, pose, joints, blink)
    if not facing_away:
        holds(joints)
    _arm(brush, person, joints, near, 0.93)
    return joints


def draw_shadow(brush: Brush, joints: Joints, pose: Pose) -> None:
    """A soft shadow on the floor under the body."""
    if abs(pose.lean) > 60 or pose.z > 1:
        return
    y = floor_y(pose.z)
    width = joints.scale * (0.15 if pose.hip[1] < 1.2 else 0.11)
    under = brush.image.getpixel((max(0, min(959, int(joints.hip[0] * 2))), min(539, int(y * 2 + 8))))
    if isinstance(under, tuple):
        brush.disc(joints.hip[0], y + 1, width, shade((under[0], under[1], under[2]), 0.86), width * 0.22)


def _arm(brush: Brush, person: Person, joints: Joints, side: int, tone: float) -> None:
    size = joints.scale
    shoulder, elbow, hand = joints.shoulders[side], joints.elbows[side], joints.hands[side]
    sleeve, skin = shade(colour(person.top), tone), shade(colour(person.skin), min(1.0, tone + 0.05))
    brush.hull(taper(shoulder, size * 0.038, elbow, size * 0.031), sleeve)
    if person.age == "child" or person.outfit == "dress":
        brush.hull(taper(elbow, size * 0.027, hand, size * 0.022), skin)
    else:
        brush.hull(taper(elbow, size * 0.031, along(elbow, hand, 0.86), size * 0.027), sleeve)
    brush.disc(hand[0], hand[1], size * 0.032, skin)


def _leg(brush: Brush, person: Person, joints: Joints, side: int, tone: float) -> None:
    size = joints.scale
    hip, knee, foot = joints.hips[side], joints.knees[side], joints.feet[side]
    bare = person.outfit in ("dress", "skirt", "shorts")
    cloth = shade(colour(person.bottom), tone)
    shin = shade(colour(person.skin), tone) if bare else cloth
    ankle = along(knee, foot, 0.93)
    if bare:
        brush.hull(taper(hip, size * 0.04, knee, size * 0.03), shin)
    brush.hull(taper(knee, size * (0.03 if bare else 0.038), ankle, size * (0.021 if bare else 0.029)), shin)
    thigh = knee if person.outfit != "shorts" else along(hip, knee, 0.85)
    if person.outfit in ("trousers", "shorts"):
        brush.hull(taper(hip, size * 0.052, thigh, size * 0.042), cloth)
    _shoe(brush, joints, side, shade(INK, 1.12 if tone == 1 else 1.0))


def _shoe(brush: Brush, joints: Joints, side: int, fill: Colour) -> None:
    """A shoe that points where the body looks."""
    size, (x, y, _) = joints.scale, joints.feet[side]
    toe = x + joints.toes[0] * size * 0.062, y + joints.toes[1] * size * 0.062
    brush.hull(((x, y - size * 0.02, size * 0.026), (toe[0], toe[1] - size * 0.018, size * 0.02)), fill)


def _clothes(brush: Brush, person: Person, joints: Joints) -> None:
    size = joints.scale
    top, bottom = colour(person.top), colour(person.bottom)
    if person.outfit in ("dress", "skirt"):
        reach = 0.95 if person.outfit == "dress" else 0.7
        hem = [along(joints.hips[k], joints.knees[k], reach) for k in (0, 1)]
        flare = size * (0.062 if person.outfit == "dress" else 0.05)
        brush.hull(
            [*[(h[0], h[1], size * 0.055) for h in joints.hips], *[(x, y, flare) for x, y in hem]], bottom
        )
    waist = [along(joints.neck, joints.hip, 0.98)]
    brush.hull(
        [
            *[(s[0], s[1] + size * 0.01, size * 0.046) for s in joints.shoulders],
            *[(x, y, size * 0.06) for x, y in waist],
        ]
        + [(h[0], h[1] - size * 0.005, size * 0.054) for h in joints.hips],
        top,
    )
    if person.outfit == "trousers":
        belt = [(h[0], h[1] + size * 0.008, size * 0.053) for h in joints.hips]
        brush.hull(belt, bottom)
    brush.hull(
        taper(joints.neck, size * 0.036, along(joints.neck, joints.head, 0.5), size * 0.034),
        shade(colour(person.skin), 0.9),
    )
    if person.tie and joints.front > 0.1:
        end = along(joints.neck, joints.hip, 0.62)
        shift = joints.toes[0] * size * 0.045
        brush.hull(
            taper(
                (joints.neck[0] + shift, joints.neck[1] + size * 0.035),
                size * 0.012,
                (end[0] + shift, end[1]),
                size * 0.02,
            ),
            colour(person.tie),
        )


def _head(brush: Brush, person: Person, pose: Pose, joints: Joints, blink: bool) -> None:
    ahead, up, right = head_axes(pose, person.build)
    r = joints.scale * person.build.head

    def at(forward: float, rise: float, side: float) -> Vec:
        return (
            joints.head[0] + r * (ahead[0] * forward + up[0] * rise + right[0] * side),
            joints.head[1] + r * (ahead[1] * forward + up[1] * rise + right[1] * side),
            ahead[2] * forward + up[2] * rise + right[2] * side,
        )

    locks = _hair(person, at, r)
    hair = colour(person.hair)
    for circles, nearness in locks:
        if nearness <= 0:
            brush.hull(circles, hair)
    skin = colour(person.skin)
    face = at(0.08, 0.0, 0.0)
    brush.disc(face[0], face[1], r, skin)
    if ahead[2] > -0.75:
        _face(brush, person, at, r, blink or pose.asleep, ahead[2])
    for circles, nearness in locks:
        if nearness > 0:
            brush.hull(circles, hair)


def _face(
    brush: Brush, person: Person, at: Callable[[float, float, float], Vec], r: float, shut: bool, front: float
) -> None:
    skin = colour(person.skin)
    for side in (-1, 1):
        ear = at(-0.1, -0.02, side * 0.98)
        if ear[2] > 0.1 and person.style != "long":
            brush.disc(ear[0], ear[1], r * 0.2, shade(skin, 0.92))
        cheek = at(0.78, -0.32, side * 0.52)
        if cheek[2] > 0.05:
            brush.disc(
                cheek[0], cheek[1], r * 0.17, shade((skin[0], int(skin[1] * 0.86), int(skin[2] * 0.84)), 1.0)
            )
    nose = at(1.06, -0.12, 0.0)
    if person.beard:
        grey = colour(person.hair)
        brush.hull(
            [(*at(0.62, -0.5, s * 0.5)[:2], r * 0.3) for s in (-1, 1)] + [(*at(0.6, -0.85, 0)[:2], r * 0.3)],
            grey,
        )
    if front > -0.45:
        brush.disc(nose[0], nose[1], r * 0.13, shade(skin, 0.87))
    for side in (-1, 1):
        eye = at(0.93, 0.12, side * 0.38)
        if eye[2] < -0.2:
            continue
        if shut:
            brush.arc(eye[0], eye[1] - r * 0.06, r * 0.15, 20, 160, INK, 1.0)
        else:
            brush.disc(eye[0], eye[1], r * 0.115, INK, r * 0.15)
        if person.glasses:
            brush.arc(eye[0], eye[1], r * 0.28, 0, 360, shade(INK, 1.15), 0.8)
    mouth = at(0.9, -0.48, 0.0)
    brush.arc(mouth[0], mouth[1] - r * 0.16, r * 0.24, 35, 145, shade(skin, 0.5), 1.0)


def _hair(
    person: Person, at: Callable[[float, float, float], Vec], r: float
) -> list[tuple[list[Vec], float]]:
    """The hair's locks as hulls of circles, each with its nearness to the viewer."""

    def lock(*spots: tuple[float, float, float, float], bias: float = 0.0) -> tuple[list[Vec], float]:
        places = [at(*s[:3]) for s in spots]
        return [(p[0], p[1], r * s[3]) for p, s in zip(places, spots, strict=True)], places[0][2] + bias

    if person.style == "bald":
        return [
            lock(
                (-0.5, -0.3, 0.5, 0.42),
                (-0.6, -0.2, -0.5, 0.42),
                (-0.3, 0.0, 0.72, 0.3),
                (-0.3, 0.0, -0.72, 0.3),
            )
        ]
    cap = lock((-0.28, 0.2, 0.0, 0.97), (-0.1, 0.32, 0.0, 0.85))
    fringe = lock((0.42, 0.78, 0.45, 0.28), (0.42, 0.82, -0.45, 0.28), (-0.1, 0.95, 0.0, 0.2), bias=2.0)
    locks = [cap, fringe]
    if person.style == "long":
        locks.append(lock((-0.4, -0.2, 0.0, 0.8), (-0.42, -1.1, 0.35, 0.38), (-0.42, -1.1, -0.35, 0.38)))
        locks += [lock((0.05, 0.4, s * 0.9, 0.2), (-0.25, -0.9, s * 0.85, 0.24), bias=0.1) for s in (-1, 1)]
    if person.style == "bun":
        locks.append(lock((-0.55, 1.02, 0.0, 0.45)))
    if person.style == "pigtails":
        locks += [lock((-0.25, 0.35, s * 1.05, 0.28), (-0.3, -0.5, s * 1.3, 0.25), bias=0.1) for s in (-1, 1)]
    return locks
