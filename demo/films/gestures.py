"""Actions that leave a person where they were: wave, drink, read, point, dance, jump, hug ..."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import pi, sin

from .body import STAND, Pose, Vec, blend, bump, ease, mix, reach, wave
from .moves import Beat, build, facing
from .stage import World

Shape = Callable[[float, Pose, World, Beat], Pose]


def gesture(shape: Shape, rise: float = 0.2, **during: bool | float) -> Callable[[float, World, Beat], World]:
    """Make an action of a posture that moves: take it up, keep it, and come back to where one began.

    ``during`` changes the thing in hand while the gesture lasts (a book opens, a cup tips).
    """

    def act(t: float, world: World, beat: Beat) -> World:
        me = world.poses[beat.who]
        strength = bump(t, rise, rise)
        pose = blend(me, shape(t, me, world, beat), strength)
        held = world.held_by(beat.who)
        if held and during and strength > 0.35:
            change = {k: v if isinstance(v, bool) else v * strength for k, v in during.items()}
            world = world.moved(held, replace(world.things[held], **change))  # type: ignore[arg-type]
        return world.posed(**{beat.who: pose})

    return act


def waving(t: float, me: Pose, world: World, beat: Beat) -> Pose:
    """One hand high, from side to side."""
    hand: Vec = (0.1, 0.75, 0.7 + 0.25 * wave(t, 4))
    left = me.hands[0]
    return replace(me, yaw=_open(me), hands=(left, hand), nod=-4.0)


def drinking(t: float, me: Pose, world: World, beat: Beat) -> Pose:
    """The cup at the mouth, the head back."""
    return replace(me, hands=(me.hands[0], mouth(beat.who, 0.0)), lean=me.lean - 4, nod=-14.0)


def eating(t: float, me: Pose, world: World, beat: Beat) -> Pose:
    """Three bites."""
    bite = max(0.0, wave(t, 3.5))
    x, y, z = mouth(beat.who, 0.0)
    return replace(
        me, hands=(me.hands[0], (x + 0.16 * (1 - bite), y - 0.42 * (1 - bite), z)), nod=6.0 + 3 * wave(t, 7)
    )


def phoning(t: float, me: Pose, world: World, beat: Beat) -> Pose:
    """The phone at the ear, the other hand explaining."""
    frame = build(beat.who)
    ear: Vec = (0.06, frame.head * 1.05 / frame.arm, (frame.head * 1.1) / frame.arm)
    other: Vec = (0.5, -0.45 + 0.14 * wave(t, 3), -0.35 + 0.1 * wave(t, 2))
    yaw = 40.0 if me.yaw < 90 else 66.0
    return replace(me, yaw=me.yaw if me.hip[1] < 0.8 else yaw, hands=(other, ear), nod=6.0 + 3 * wave(t, 4))


def reading(t: float, me: Pose, world: World, beat: Beat) -> Pose:
    """The book open in both hands, the eyes down, a page turned half-way."""
    flick = max(0.0, wave(t, 1.5)) ** 4 * 0.12
    hands: tuple[Vec, Vec] = ((0.58, -0.32, -0.16), (0.58, -0.32 + flick, 0.16 - flick))
    return replace(me, hands=hands, nod=20.0, yaw=mix(me.yaw, 90.0, 0.25))


def pointing(t: float, me: Pose, world: World, beat: Beat) -> Pose:
    """A straight arm towards the target, shaken a little for stress."""
    frame = build(beat.who)
    yaw = facing(world, beat.who, beat.what)
    turned = replace(me, yaw=yaw)
    piece = world.place.find(beat.what) if beat.what not in world.poses else None
    x = piece.x if piece else world.poses[beat.what].x
    y = 112.0 if piece and piece.kind in ("board", "window", "picture", "door", "clock") else 150.0
    hand = reach(turned, frame, (x, y + 4 * wave(t, 3)), 10.0)
    return replace(turned, hands=(me.hands[0], hand), lean=me.lean + 5)


def writing(t: float, world: World, beat: Beat) -> World:
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
    written = (row + min(1.0, part)) / 3
    return replace(world.posed(**{beat.who: pose}), ink=max(world.ink, written))


def jumping(t: float, me: Pose, world: World, beat: Beat) -> Pose:
    """Two jumps, arms up."""
    beatp = (t * 2.0) % 1.0
    if beatp < 0.3 or beatp > 0.85:
        down = sin(pi * (beatp / 0.3 if beatp < 0.3 else (beatp - 0.85) / 0.15))
        return replace(
            me,
            hip=(-0.08 * down, 1 - 0.3 * down),
            lean=18 * down,
            hands=((-0.3 * down, -0.85, -0.4), (-0.3 * down, -0.85, 0.4)),
        )
    air = sin(pi * (beatp - 0.3) / 0.55)
    feet: tuple[Vec, Vec] = ((-0.1 * air, 0.48 * air, -0.2), (0.14 * air, 0.52 * air, 0.2))
    return replace(
        me, hip=(0.0, 1 + 0.48 * air), feet=feet, hands=((0.2, 0.85 * air, -0.55), (0.2, 0.85 * air, 0.55))
    )


def dancing(t: float, me: Pose, world: World, beat: Beat) -> Pose:
    """Step from foot to foot, the arms up and down in turn."""
    s, c = wave(t, 4), wave(t, 2)
    feet: tuple[Vec, Vec] = ((0.0, max(0.0, s) * 0.26, -0.2), (0.0, max(0.0, -s) * 0.26, 0.2))
    hands: tuple[Vec, Vec] = ((0.25, 0.35 + 0.5 * s, -0.75), (0.25, 0.35 - 0.5 * s, 0.75))
    return replace(
        me,
        x=me.x + 13 * s,
        yaw=90 + 40 * c,
        hip=(0.0, 0.95 - 0.05 * abs(s)),
        hands=hands,
        feet=feet,
        nod=6 * s,
    )


def clapping(t: float, me: Pose, world: World, beat: Beat) -> Pose:
    """Both hands together, eight times."""
    gap = 0.05 + 0.3 * abs(wave(t, 4))
    return replace(me, yaw=_open(me), hands=((0.55, -0.1, -gap), (0.55, -0.1, gap)))


def stretching(t: float, me: Pose, world: World, beat: Beat) -> Pose:
    """Both arms up, on the toes."""
    side = 10 * wave(t, 1.5)
    return replace(
        me, yaw=_open(me), hands=((0.05, 0.95, -0.3), (0.05, 0.95, 0.3)), nod=-14.0, x=me.x + side * 0.2
    )


def bowing(t: float, me: Pose, world: World, beat: Beat) -> Pose:
    """Bend from the hips."""
    return replace(me, lean=62.0, hip=(-0.12, 0.97), nod=12.0, hands=((0.2, -0.9, -0.3), (0.2, -0.9, 0.3)))


def kneeling(t: float, me: Pose, world: World, beat: Beat) -> Pose:
    """Down on one knee."""
    hands = me.hands if not world.held_by(beat.who) else ((0.5, -0.3, -0.2), (0.9, 0.05, 0.15))
    return replace(
        me, hip=(-0.05, 0.56), feet=((-0.62, 0.06, -0.13), (0.34, 0.0, 0.14)), hands=hands, lean=6.0
    )


def checking(t: float, me: Pose, world: World, beat: Beat) -> Pose:
    """Look at the watch."""
    return replace(me, yaw=_open(me), hands=((0.5, 0.02, 0.12), (0.34, -0.3, 0.3)), nod=24.0)


def gazing(t: float, me: Pose, world: World, beat: Beat) -> Pose:
    """Stand with the back to the room and look out, a hand against the light."""
    return replace(me, yaw=292.0 + 6 * wave(t, 1), hands=((-0.15, -0.75, -0.3), (0.3, 0.42, 0.3)))


def sweeping(t: float, me: Pose, world: World, beat: Beat) -> Pose:
    """Draw the broom to and fro."""
    s = 0.22 * wave(t, 3)
    return replace(
        me,
        hands=((0.62 + s, -0.42, -0.1), (0.42 + s, -0.12, 0.16)),
        lean=10 + 8 * wave(t, 3),
        yaw=mix(me.yaw, 90.0, 0.2),
    )


def watering(t: float, me: Pose, world: World, beat: Beat) -> Pose:
    """Hold the can over the plant."""
    return replace(me, hands=(me.hands[0], (0.74, -0.05 + 0.04 * wave(t, 3), 0.2)), lean=8.0, nod=14.0)


def strumming(t: float, me: Pose, world: World, beat: Beat) -> Pose:
    """Play the guitar."""
    return replace(
        me,
        yaw=_open(me),
        hands=((0.55, -0.1, -0.72), (0.42, -0.55 + 0.08 * wave(t, 7), 0.2)),
        nod=10 + 5 * wave(t, 3),
    )


def cuddling(t: float, me: Pose, world: World, beat: Beat) -> Pose:
    """Press what one holds to the chest and rock."""
    return replace(
        me, yaw=_open(me) + 14 * wave(t, 2), hands=((0.36, -0.3, 0.06), (0.4, -0.24, -0.06)), nod=22.0
    )


def shading(t: float, me: Pose, world: World, beat: Beat) -> Pose:
    """Hold the open umbrella up, and look at the sky."""
    return replace(me, hands=(me.hands[0], (0.42, 0.05, 0.2)), nod=-8.0)


def showing(t: float, me: Pose, world: World, beat: Beat) -> Pose:
    """Hold up what one has, for all to see."""
    return replace(me, yaw=_open(me), hands=(me.hands[0], (0.4, 0.75, 0.4 + 0.08 * wave(t, 2))))


def mouth(who: str, side: float) -> Vec:
    """Where a hand is when what it holds touches the lips."""
    frame = build(who)
    return frame.head * 1.55 / frame.arm, frame.head * 0.62 / frame.arm, side + 0.04


def _open(me: Pose) -> float:
    """Half-way between looking aside and looking at the viewer."""
    return 52.0 if me.yaw < 90 else 128.0


def _shuffle(t: float) -> tuple[Vec, Vec]:
    lift = 0.06 * abs(wave(t, 6))
    return (STAND[0][0], lift, STAND[0][2]), (STAND[1][0], 0.06 - lift, STAND[1][2])
