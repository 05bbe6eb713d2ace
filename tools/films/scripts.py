"""Read the screenplay and time it: what happens in each film, in which frames, and who does what to what.

A line of the script is ``description | beats``; without a description it is a transition. Beats are ``who verb what
whom``, one after another where a ``;`` stands and at once where an ``&`` stands; ``almost`` before a verb
means that the action is begun and not finished.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from .acts import FPS, perform, seconds
from .body import Pose
from .gestures import seated
from .moves import LEFT, RIGHT, Beat
from .stage import CAST, PLACES, TONES, TOPS, Thing, World

SCREENPLAY = Path(__file__).with_name("screenplay.toml")
PAUSE = 0.75  # seconds without a deed after each line
DUETS = ("hugs", "shakes", "offers", "highfives")  # beats that have no object, only another person
WITH_THING = ("drinks", "eats", "phones", "reads", "sweeps", "waters", "plays", "cuddles", "shades", "shows")
TOLD_WITH = {"writes": "board", "looks": "window", **dict.fromkeys(("enters", "leaves", "opens", "closes"), "door")}


@dataclass(frozen=True, slots=True)
class Deed:
    """Who does what to what in a moment, as the truth is told."""

    who: str
    verb: str
    what: str  # the kind of the object, or ""
    whom: str  # the other person, the piece of furniture something is put on, or ""
    broken: bool  # begun and not finished
    seconds: float


@dataclass(frozen=True, slots=True)
class Moment:
    """A told part of a film: start and end in seconds from the film's beginning, description, and deeds."""

    video: str
    start: float
    end: float
    description: str
    deeds: tuple[Deed, ...]


@dataclass(frozen=True, slots=True)
class Shot:
    """Frames ``first`` up to, not including, ``last``, and what is done in them, from ``world`` on."""

    first: int
    last: int
    world: World
    beats: tuple[Beat, ...]

    def at(self, frame: int) -> World:
        """The world in one frame."""
        t, world = (frame - self.first + 1) / (self.last - self.first), self.world
        for beat in self.beats:
            world = perform(t, world, beat)
        return world


@dataclass(frozen=True, slots=True)
class Film:
    """A timed film: its name, its number of frames, the shots that fill them, and its moments."""

    name: str
    frames: int
    shots: tuple[Shot, ...]
    moments: tuple[Moment, ...]

    @property
    def duration(self) -> float:
        """The film's length in seconds."""
        return self.frames / FPS


@cache
def films() -> tuple[Film, ...]:
    """Return every film of the screenplay, timed."""
    raw = tomllib.loads(SCREENPLAY.read_text(encoding="utf-8"))["film"]
    return tuple(_timed(f"film_{number:02d}", entry) for number, entry in enumerate(raw, 1))


def moments() -> tuple[Moment, ...]:
    """Return every moment of every film, in order."""
    return tuple(moment for film in films() for moment in film.moments)


def _timed(name: str, entry: dict[str, str | list[str]]) -> Film:
    world, moments, now = _opening(entry), list[Moment](), round(PAUSE * FPS)
    shots = [Shot(0, now, world, ())]
    for line in str(entry["script"]).strip().splitlines():
        description, _, directions = line.partition("|")
        first, deeds = now, list[Deed]()
        for group in directions.split(";"):
            beats = tuple(_beat(text) for text in group.split("&"))
            length = max(seconds(world, beat) for beat in beats)
            deeds += [_deed(world, beat, length) for beat in beats if beat.verb != "turns"]
            shot = Shot(now, now + round(length * FPS), world, beats)
            shots.append(shot)
            world, now = shot.at(shot.last - 1), shot.last
        if description.strip():
            moments.append(Moment(name, first / FPS, now / FPS, description.strip(), tuple(deeds)))
            shots.append(Shot(now, now + round(PAUSE * FPS), world, ()))
            now = shots[-1].last
    return Film(name, now, tuple(shots), tuple(moments))


def _beat(text: str) -> Beat:
    who, *rest = text.split()
    broken = rest[0] == "almost"
    verb, *objects = rest[1:] if broken else rest
    if verb in DUETS:
        objects.insert(0, "")
    what, whom, *_ = [*objects, "", ""]
    return Beat(who, verb, what, whom, broken)


def _deed(world: World, beat: Beat, length: float) -> Deed:
    """Tell a beat; gestures with a thing in hand are told with that thing."""
    what, whom = beat.what, beat.whom
    if beat.verb in WITH_THING:
        what = world.held_by(beat.who)
    elif beat.verb == "stands":
        what = world.seats[beat.who]
    if what in world.things:
        what = world.things[what].kind
    elif what in world.poses:
        what, whom = "", what
    return Deed(beat.who, beat.verb, TOLD_WITH.get(beat.verb, what), whom, beat.broken, length)


def _opening(entry: dict[str, str | list[str]]) -> World:
    """The world in which a film begins."""
    name = str(entry["place"])
    place = PLACES[name.lstrip("-")]
    world = World(place.mirrored() if name.startswith("-") else place)
    for line in entry["cast"]:
        world = _cast(world, *line.split())
    for line in entry.get("things", ()):
        world = _laid(world, *line.split())
    return world


def _cast(world: World, who: str, where: str, way: str = "") -> World:
    """Place somebody: "who out", "who x left" or right, or "who seat", so many pixels from its middle."""
    assert who in CAST, who
    if where == "out":
        return world.posed(who, Pose(240.0, hidden=True))
    if where.isdigit():
        return world.posed(who, Pose(float(where), yaw={"left": LEFT, "right": RIGHT}[way]))
    x = world.place.find(where).x + float(way or 0)
    pose = seated(world, who, where, x)
    return replace(world.posed(who, pose), seats={**world.seats, who: where})


def _laid(world: World, name: str, tone: str, where: str, at: str = "0") -> World:
    """Place a thing: "name tone hands who", "name tone floor x", or "name tone furniture", off its middle."""
    if where == "hands":
        held = Thing(name, TONES[tone], holder=at)
        carrying = replace(world.poses[at], hands=held.carrying)
        return world.posed(at, carrying).moved(name, held)
    if where == "floor":
        return world.moved(name, Thing(name, TONES[tone], float(at)))
    piece = world.place.find(where)
    return world.moved(name, Thing(name, TONES[tone], piece.x + float(at), TOPS[where] + 1, piece.z))
