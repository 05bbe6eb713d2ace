"""The cast, the places and the things (``stage.toml``), and the state of a stage at one instant."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field, replace
from math import cos, pi, sin
from pathlib import Path
from typing import Any

from .body import HANG, LANE, Build, Pair, Point, Pose, Vec, floor_y, keyed, mix

Sphere = tuple[float, float, float, float]  # forward, up, right, radius

WALL_FOOT = floor_y(1.0)
DOOR_TALL = 158.0


@dataclass(frozen=True, slots=True)
class Person:
    """One of the cast: what a query may say about them, and how they are drawn."""

    name: str
    kind: str  # man, woman, boy or girl
    age: str  # adult, child or old
    wears: str  # the colour a query would name
    build: Build
    skin: str
    hair: str
    style: str  # of the hair: names of HAIR, joined by +
    top: str
    bottom: str
    outfit: str  # trousers, shorts, skirt or dress
    extras: tuple[str, ...]  # beard, glasses, tie


@dataclass(frozen=True, slots=True)
class Furniture:
    """A fixed piece: its kind, where it stands, which way it looks (1 right, -1 left) and its colour."""

    kind: str
    x: float
    z: float
    looks: int
    tone: str


@dataclass(frozen=True, slots=True)
class Place:
    """A room, or the park: its colours and its furniture."""

    wall: str
    floor: str
    furniture: tuple[Furniture, ...]
    outdoors: bool = False

    def find(self, kind: str) -> Furniture:
        """Return the piece of this kind; KeyError when the place has none."""
        return {piece.kind: piece for piece in self.furniture}[kind]

    def mirrored(self) -> Place:
        """Return the same place seen in a mirror: a second room for the price of one."""
        turned = (replace(p, x=480 - p.x, looks=-p.looks) for p in self.furniture)
        return replace(self, furniture=tuple(turned))


@dataclass(frozen=True, slots=True)
class Kind:
    """What things of one kind have in common, lengths in pixels."""

    half: float  # half its height
    grip: float = 0.0  # how far below the hand its middle is drawn
    low: float = 0.0  # how far above its middle it is grasped
    wide: float = 0.0  # it takes both hands, so far from its middle; 0 when one hand is enough
    left: Vec = HANG[0]  # the hands while it is carried, in arms (see body.Pose)
    right: Vec = (0.55, -0.4, 0.2)


@dataclass(frozen=True, slots=True)
class Thing:
    """A thing that people move: on the floor or a table at (x, up, z), or in somebody's hands."""

    kind: str
    tone: str
    x: float = 0.0
    up: float = 0.0
    z: float = LANE + 0.1
    holder: str = ""
    open: bool = False
    tip: float = 0.0  # degrees

    @property
    def traits(self) -> Kind:
        """What it has in common with others of its kind."""
        return KINDS[self.kind]

    @property
    def carrying(self) -> Pair:
        """Both hands while it is carried."""
        return self.traits.left, self.traits.right


@dataclass(frozen=True, slots=True)
class World:
    """One instant of a film."""

    place: Place
    poses: dict[str, Pose] = field(default_factory=dict)
    things: dict[str, Thing] = field(default_factory=dict)
    seats: dict[str, str] = field(default_factory=dict)
    door: float = 0.0  # 0 shut, 1 wide open
    ink: float = 0.0  # how much is written on the board, 0 to 1

    def posed(self, who: str, pose: Pose) -> World:
        """Return the same instant with one person posed otherwise."""
        return replace(self, poses={**self.poses, who: pose})

    def through(self, who: str, t: float, *keys: tuple[float, Pose]) -> World:
        """Return the same instant with one person a part t of the way through postures, from their own."""
        return self.posed(who, keyed(t, (0.0, self.poses[who]), *keys))

    def moved(self, name: str, thing: Thing) -> World:
        """Return the same instant with one thing changed."""
        return replace(self, things={**self.things, name: thing})

    def held_by(self, who: str) -> str:
        """Name the thing somebody holds, or the empty string."""
        return next((name for name, thing in self.things.items() if thing.holder == who), "")


def on_door(piece: Furniture, swing: float, u: float, v: float) -> Point:
    """A point of a door's leaf, ``swing`` (0 to 1) open: u from hinge to edge, v from top to foot (0 to 1)."""
    angle, half = swing * 0.46 * pi, HALF_WIDTHS["door"]
    drop = 11 * u * sin(angle)
    x = piece.x + piece.looks * half * (2 * u * cos(angle) - 1)
    return x, mix(WALL_FOOT - DOOR_TALL + drop, WALL_FOOT - 0.55 * drop, v)


def _person(line: str) -> Person:
    words = line.split()
    name, kind, age, wears = words[:4]
    skin, hair, style, top, bottom, outfit = words[10:16]
    build = Build(*map(float, words[4:10]))
    return Person(name, kind, age, wears, build, skin, hair, style, top, bottom, outfit, tuple(words[16:]))


def _lock(line: str) -> tuple[float, tuple[Sphere, ...]]:
    bias, _, spheres = line.partition("|")
    numbers = (map(float, sphere.split()) for sphere in spheres.split(","))
    return float(bias), tuple((forward, up, right, radius) for forward, up, right, radius in numbers)


def _furniture(line: str) -> Furniture:
    kind, x, z, *rest = line.split()
    looks, tone = rest or ("1", "")
    return Furniture(kind, float(x), float(z), int(looks), tone)


def _kind(traits: dict[str, Any]) -> Kind:
    hands: dict[str, Any] = {side: tuple(traits[side]) for side in ("left", "right") if side in traits}
    return Kind(**traits | hands)


def _place(entry: dict[str, Any]) -> Place:
    return Place(**{**entry, "furniture": tuple(map(_furniture, entry["furniture"]))})


_TABLE = tomllib.loads(Path(__file__).with_name("stage.toml").read_text(encoding="utf-8"))
TONES: dict[str, str] = _TABLE["tones"]
SEATS: dict[str, float] = _TABLE["seats"]
TOPS: dict[str, float] = _TABLE["tops"]
HALF_WIDTHS: dict[str, float] = _TABLE["half_widths"]
CAST = {person.name: person for person in map(_person, _TABLE["cast"].strip().splitlines()[1:])}
HAIR = {style: tuple(map(_lock, locks)) for style, locks in _TABLE["hair"].items()}
KINDS = {name: _kind(traits) for name, traits in _TABLE["things"].items()}
PLACES = {name: _place(entry) for name, entry in _TABLE["places"].items()}
