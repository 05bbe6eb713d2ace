"""Actions at the door: open it, close it, come in, go out."""

from __future__ import annotations

from dataclasses import replace

from .body import LANE, Point, Pose, ease, keyed, reach
from .moves import LEFT, RIGHT, Beat, build, stroll
from .stage import World, knob_at


def opens(t: float, world: World, beat: Beat) -> World:
    """Take the knob and push the door open."""
    return _pushes(t, world, beat, ease((t - 0.35) / 0.45))


def closes(t: float, world: World, beat: Beat) -> World:
    """Take the knob and pull the door shut."""
    return _pushes(t, world, beat, 1 - ease((t - 0.3) / 0.45))


def _pushes(t: float, world: World, beat: Beat, swing: float) -> World:
    me, piece = world.poses[beat.who], world.place.find("door")
    knob: Point = knob_at(piece, min(swing, 0.45))
    side = 1 if piece.looks > 0 else 0  # the hand on the far side of the viewer
    grip = reach(me, build(beat.who), knob, -12)
    hands = (me.hands[0], grip) if side else (grip, me.hands[1])
    holding = replace(me, hands=hands, lean=7.0)
    pose = keyed(t, (0.0, me), (0.3, holding), (0.72, holding), (1.0, me))
    return replace(world.posed(**{beat.who: pose}), door=swing)


def enters(t: float, world: World, beat: Beat) -> World:
    """Open the door from behind, walk in, and let it fall shut."""
    piece, who = world.place.find("door"), beat.who
    outside = Pose(piece.x + piece.looks * 62, 1.45, yaw=LEFT if piece.looks > 0 else RIGHT)
    swing = ease(t / 0.25) * (1 - ease((t - 0.72) / 0.25))
    world = replace(world, door=swing)
    if t < 0.15:
        return world.posed(**{who: replace(outside, hidden=True)})
    if t < 0.4:
        return stroll(
            (t - 0.15) / 0.25, world.posed(**{who: outside}), who, (piece.x + piece.looks * 4, 1.2, 90.0)
        )
    inside = stroll(1.0, world.posed(**{who: outside}), who, (piece.x + piece.looks * 4, 1.2, 90.0))
    out = piece.x + piece.looks * 46
    return stroll((t - 0.4) / 0.6, inside, who, (out, LANE, RIGHT if piece.looks > 0 else LEFT))


def leaves(t: float, world: World, beat: Beat) -> World:
    """Walk out through the open door, which falls shut behind."""
    piece, who = world.place.find("door"), beat.who
    sill = (piece.x + piece.looks * 5, 1.1, 280.0)
    away = (piece.x + piece.looks * 64, 1.5, RIGHT if piece.looks > 0 else LEFT)
    start = world.door
    if t < 0.45:
        return stroll(t / 0.45, world, who, sill)
    through = stroll(1.0, world, who, sill)
    world = stroll(min(1.0, (t - 0.45) / 0.35), through, who, away)
    world = replace(world, door=start * (1 - ease((t - 0.75) / 0.22)))
    return world.posed(**{who: replace(world.poses[who], hidden=True)}) if t > 0.8 else world
