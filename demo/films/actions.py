"""Every action by its verb: the function of time, how long it takes, and how far a broken one gets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import ceil

from . import doors, duets
from . import gestures as g
from . import handling as h
from . import moves as m
from .body import bump
from .gestures import gesture
from .moves import Beat, stroll_seconds
from .stage import World

Act = Callable[[float, World, Beat], World]
FPS = 12


@dataclass(frozen=True, slots=True)
class Action:
    """A verb: ``act(t, world at the start, beat)`` gives the world at t (0 to 1).

    ``stop`` is the part (0 to 1) a broken action reaches before it is taken back.
    """

    act: Act
    seconds: float
    stop: float = 0.5


def _still(t: float, world: World, beat: Beat) -> World:
    return world


ACTIONS: dict[str, Action] = {
    "waits": Action(_still, 1.0),
    "walks": Action(m.walks, 0.0),
    "runs": Action(m.walks, 0.0),
    "turns": Action(m.turns, 0.5),
    "sits": Action(m.sits, 1.5, 0.6),
    "stands": Action(m.stands, 1.75, 0.66),
    "lies": Action(m.lies, 3.25, 0.5),
    "wakes": Action(m.wakes, 3.0, 0.3),
    "opens": Action(doors.opens, 2.0, 0.62),
    "closes": Action(doors.closes, 1.75, 0.5),
    "enters": Action(doors.enters, 3.75),
    "leaves": Action(doors.leaves, 2.75),
    "takes": Action(h.takes, 1.75, 0.42),
    "lifts": Action(h.takes, 2.25, 0.66),
    "strains": Action(h.strains, 3.5),
    "puts": Action(h.puts, 1.75, 0.45),
    "gives": Action(duets.gives, 2.25, 0.42),
    "throws": Action(duets.throws, 2.25, 0.3),
    "tosses": Action(h.tosses, 3.0),
    "kicks": Action(duets.kicks, 2.25, 0.22),
    "hugs": Action(duets.hugs, 3.0, 0.2),
    "shakes": Action(duets.shakes, 2.75, 0.25),
    "offers": Action(duets.offers, 3.0),
    "highfives": Action(duets.claps_hands, 1.75, 0.25),
    "waves": Action(gesture(g.waving), 2.5, 0.12),
    "drinks": Action(gesture(g.drinking, 0.28, tip=62.0), 3.0, 0.2),
    "eats": Action(gesture(g.eating), 3.5, 0.12),
    "phones": Action(gesture(g.phoning, ear=True), 4.0, 0.15),
    "reads": Action(gesture(g.reading, open=True), 4.0, 0.12),
    "points": Action(gesture(g.pointing), 2.5, 0.12),
    "writes": Action(g.writing, 5.75, 0.28),
    "jumps": Action(gesture(g.jumping, 0.05), 2.5, 0.13),
    "dances": Action(gesture(g.dancing, 0.12), 4.0),
    "claps": Action(gesture(g.clapping), 2.5),
    "stretches": Action(gesture(g.stretching, 0.3), 2.75),
    "bows": Action(gesture(g.bowing, 0.35), 2.25),
    "kneels": Action(gesture(g.kneeling, 0.25), 3.0),
    "checks": Action(gesture(g.checking, 0.25), 2.5),
    "looks": Action(gesture(g.gazing, 0.18), 3.25, 0.06),
    "sweeps": Action(gesture(g.sweeping, 0.1), 4.0),
    "waters": Action(gesture(g.watering, 0.22, tip=45.0), 3.25),
    "plays": Action(gesture(g.strumming, 0.15), 4.0),
    "cuddles": Action(gesture(g.cuddling, 0.2), 3.0),
    "shades": Action(gesture(g.shading, 0.2, open=True), 3.0),
    "shows": Action(gesture(g.showing, 0.25), 2.5),
}


def perform(t: float, world: World, beat: Beat) -> World:
    """The world at t (0 to 1) of a beat begun in ``world``; a broken beat goes back to where it began."""
    action = ACTIONS[beat.verb]
    if not beat.broken or beat.verb in ("walks", "runs"):
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
