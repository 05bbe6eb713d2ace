"""Draw a person in a posture: clothes, limbs, face and hair, far parts first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from .body import Joints, Pose, Vec, along, floor_y, head_axes, skeleton
from .brush import FINE, Brush, Circle, Colour, colour
from .stage import HAIR, Person, Sphere

INK = "#2d2428"
TIE = "#1f7a6d"
BARE_LEGS = ("dress", "skirt", "shorts")


def draw_person(brush: Brush, person: Person, pose: Pose, holds: Callable[[Joints], None], blink: bool) -> None:
    """Draw one person; ``holds`` draws what the hands hold, between the body and the near arm."""
    figure = _Figure(brush, person, pose)
    far, near = sorted((0, 1), key=lambda side: figure.joints.shoulders[side][2])
    facing_away = figure.head[0][2] < -0.35
    figure.shadow(pose)
    if facing_away:
        holds(figure.joints)
    figure.arm(far, 0.86)
    figure.leg(far, 0.86)
    figure.leg(near, 1.0)
    figure.clothes()
    figure.face_and_hair(blink or pose.asleep)
    if not facing_away:
        holds(figure.joints)
    figure.arm(near, 0.93)


class _Figure:
    """A person whose joints are solved; lengths are parts of the height, or of the head's radius."""

    def __init__(self, brush: Brush, person: Person, pose: Pose) -> None:
        self.brush, self.person = brush, person
        self.joints = skeleton(pose, person.build)
        self.head = head_axes(pose, person.build)
        self.radius = self.joints.scale * person.build.head

    def shadow(self, pose: Pose) -> None:
        """A soft shadow on the floor under the body."""
        if abs(pose.lean) > 60 or pose.z > 1:
            return
        x, y = self.joints.hip[0], floor_y(pose.z)
        width = self.joints.scale * (0.15 if pose.hip[1] < 1.2 else 0.11)
        last = self.brush.image.width - 1
        floor = self.brush.image.getpixel((min(last, max(0, int(x * FINE))), int((y + 4) * FINE)))
        assert isinstance(floor, tuple)
        dark = int(floor[0] * 0.86), int(floor[1] * 0.86), int(floor[2] * 0.86)
        self.brush.disc(x, y + 1, width, dark, width * 0.22)

    def arm(self, side: int, tone: float) -> None:
        """One arm, in a sleeve or bare below the elbow."""
        person, joints = self.person, self.joints
        shoulder, elbow, hand = joints.shoulders[side], joints.elbows[side], joints.hands[side]
        sleeve, skin = colour(person.top, tone), colour(person.skin, min(1.0, tone + 0.05))
        self._limb(shoulder, 0.038, elbow, 0.031, sleeve)
        if person.age == "child" or person.outfit == "dress":
            self._limb(elbow, 0.027, hand, 0.022, skin)
        else:
            self._limb(elbow, 0.031, along(elbow, hand, 0.86), 0.027, sleeve)
        self.brush.disc(hand[0], hand[1], joints.scale * 0.032, skin)

    def leg(self, side: int, tone: float) -> None:
        """One leg, in trousers, shorts or bare, and its shoe, which points where the body looks."""
        person, joints, size = self.person, self.joints, self.joints.scale
        hip, knee, foot = joints.hips[side], joints.knees[side], joints.feet[side]
        cloth, skin, ankle = colour(person.bottom, tone), colour(person.skin, tone), along(knee, foot, 0.93)
        if person.outfit in BARE_LEGS:
            self._limb(hip, 0.04, knee, 0.03, skin)
            self._limb(knee, 0.03, ankle, 0.021, skin)
        else:
            self._limb(knee, 0.038, ankle, 0.029, cloth)
        if person.outfit in ("trousers", "shorts"):
            end = along(hip, knee, 0.85) if person.outfit == "shorts" else knee
            self._limb(hip, 0.052, end, 0.042, cloth)
        heel = foot[0], foot[1] - 0.02 * size
        toe = foot[0] + 0.062 * size * joints.toes[0], foot[1] + (0.062 * joints.toes[1] - 0.018) * size
        self._limb(heel, 0.026, toe, 0.02, colour(INK, 1.12 if tone == 1 else 1.0))

    def clothes(self) -> None:
        """What covers the trunk, and the neck."""
        person, joints = self.person, self.joints
        left, right = joints.hips
        top, bottom = colour(person.top), colour(person.bottom)
        if person.outfit in ("dress", "skirt"):
            reach, flare = (0.95, 0.062) if person.outfit == "dress" else (0.7, 0.05)
            hem = [along(hip, knee, reach) for hip, knee in zip(joints.hips, joints.knees, strict=True)]
            self._hull([(left, 0.0, 0.055), (right, 0.0, 0.055), *((end, 0.0, flare) for end in hem)], bottom)
        shoulders = [(shoulder, 0.01, 0.046) for shoulder in joints.shoulders]
        self._hull([*shoulders, (left, -0.005, 0.054), (right, -0.005, 0.054), (joints.hip, 0.0, 0.06)], top)
        if person.outfit == "trousers":
            self._hull([(left, 0.008, 0.053), (right, 0.008, 0.053)], bottom)
        self._limb(joints.neck, 0.036, along(joints.neck, joints.head, 0.5), 0.034, colour(person.skin, 0.9))
        if "tie" in person.extras and joints.front > 0.1:
            shift = joints.toes[0] * joints.scale * 0.045
            knot, end = ((x + shift, y) for x, y in (joints.neck[:2], along(joints.neck, joints.hip, 0.62)))
            self._hull([(knot, 0.035, 0.012), (end, 0.0, 0.02)], colour(TIE))

    def face_and_hair(self, shut: bool) -> None:
        """The head: locks behind it, the face, locks before it."""
        hair, r = colour(self.person.hair), self.radius
        locks = [self._lock(*lock) for style in self.person.style.split("+") for lock in HAIR[style]]
        for circles, nearness in locks:
            if nearness <= 0:
                self.brush.hull(circles, hair)
        x, y, _ = self._at(0.08, 0.0, 0.0)
        self.brush.disc(x, y, r, colour(self.person.skin))
        if self.head[0][2] > -0.75:
            self._face(shut)
        for circles, nearness in locks:
            if nearness > 0:
                self.brush.hull(circles, hair)

    def _face(self, shut: bool) -> None:
        brush, person, r, skin = self.brush, self.person, self.radius, self.person.skin
        red, green, blue = colour(skin)
        for side in (-1, 1):
            x, y, near = self._at(-0.1, -0.02, side * 0.98)
            if near > 0.1 and "long" not in person.style:
                brush.disc(x, y, r * 0.2, colour(skin, 0.92))  # an ear
            x, y, near = self._at(0.78, -0.32, side * 0.52)
            if near > 0.05:
                brush.disc(x, y, r * 0.17, (red, int(green * 0.86), int(blue * 0.84)))  # a cheek
        if "beard" in person.extras:
            spots = (self._at(0.62, -0.5, -0.5), self._at(0.62, -0.5, 0.5), self._at(0.6, -0.85, 0.0))
            brush.hull([(x, y, r * 0.3) for x, y, _ in spots], colour(person.hair))
        if self.head[0][2] > -0.45:
            x, y, _ = self._at(1.06, -0.12, 0.0)
            brush.disc(x, y, r * 0.13, colour(skin, 0.87))  # the nose
        for side in (-1, 1):
            self._eye(*self._at(0.93, 0.12, side * 0.38), shut)
        x, y, _ = self._at(0.9, -0.48, 0.0)
        brush.arc(x, y - r * 0.16, r * 0.24, colour(skin, 0.5), 1.0, (35, 145))  # the mouth

    def _eye(self, x: float, y: float, near: float, shut: bool) -> None:
        r = self.radius
        if near < -0.2:
            return
        if shut:
            self.brush.arc(x, y - r * 0.06, r * 0.15, colour(INK), 1.0, (20, 160))
        else:
            self.brush.disc(x, y, r * 0.115, colour(INK), r * 0.15)
        if "glasses" in self.person.extras:
            self.brush.arc(x, y, r * 0.28, colour(INK, 1.15), 0.8)

    def _at(self, forward: float, up: float, right: float) -> Vec:
        """Where a point of the head is in the picture, and its nearness."""
        r, (a, b, c) = self.radius, self.head
        x = self.joints.head[0] + r * (forward * a[0] + up * b[0] + right * c[0])
        y = self.joints.head[1] + r * (forward * a[1] + up * b[1] + right * c[1])
        return x, y, forward * a[2] + up * b[2] + right * c[2]

    def _lock(self, bias: float, spheres: tuple[Sphere, ...]) -> tuple[list[Circle], float]:
        """One lock of hair: its circles in the picture, and its nearness."""
        places = [self._at(*sphere[:3]) for sphere in spheres]
        sizes = (self.radius * sphere[3] for sphere in spheres)
        circles = [(x, y, size) for (x, y, _), size in zip(places, sizes, strict=True)]
        return circles, places[0][2] + bias

    def _limb(self, a: Sequence[float], ra: float, b: Sequence[float], rb: float, fill: Colour) -> None:
        self._hull([(a, 0.0, ra), (b, 0.0, rb)], fill)

    def _hull(self, circles: Iterable[tuple[Sequence[float], float, float]], fill: Colour) -> None:
        """The hull of circles: a joint, how far below it the middle is, and the radius, in heights."""
        size = self.joints.scale
        self.brush.hull([(joint[0], joint[1] + size * low, size * r) for joint, low, r in circles], fill)
