"""The places films are set in, and the state of a stage at one instant: who stands how, what lies where."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import cos, pi, sin

from .body import LANE, Pose, floor_y

SEATS = {"chair": 40.0, "sofa": 37.0, "bench": 38.0, "bed": 35.0}  # heights above the floor, in pixels
TOPS = {"table": 64.0, "desk": 64.0, "counter": 72.0, "sidetable": 62.0}
HALF_WIDTHS = {
    "table": 46.0,
    "desk": 50.0,
    "counter": 62.0,
    "sofa": 72.0,
    "bed": 84.0,
    "bench": 60.0,
    "chair": 18.0,
    "board": 62.0,
    "window": 40.0,
    "door": 29.0,
    "sidetable": 34.0,
    "tree": 16.0,
    "plant": 12.0,
}
DOOR_TALL = 158.0
WIDE = 0.46 * pi  # how far a door swings
WALL_FOOT = floor_y(1.0)


@dataclass(frozen=True, slots=True)
class Furniture:
    """A fixed piece: its kind, where it stands, which way it looks (1 right, -1 left) and its colour."""

    kind: str
    x: float
    z: float = 0.5
    looks: int = 1
    tone: str = "#a9744a"


@dataclass(frozen=True, slots=True)
class Place:
    """A room, or the park: its colours and its furniture."""

    wall: str
    floor: str
    furniture: tuple[Furniture, ...]
    outdoors: bool = False

    def find(self, kind: str) -> Furniture:
        """Return the piece of this kind; KeyError when the place has none."""
        for piece in self.furniture:
            if piece.kind == kind:
                return piece
        raise KeyError(kind)

    def has(self, kind: str) -> bool:
        """Say whether there is such a piece."""
        return any(piece.kind == kind for piece in self.furniture)

    def mirrored(self) -> Place:
        """Return the same place seen in a mirror: a second room for the price of one."""
        turned = (replace(p, x=480 - p.x, looks=-p.looks) for p in self.furniture)
        return replace(self, furniture=tuple(turned))


@dataclass(frozen=True, slots=True)
class Thing:
    """A thing that people move: on the floor or a table at (x, up, z), or in somebody's hands."""

    kind: str
    tone: str
    x: float = 0.0
    up: float = 0.0
    z: float = LANE + 0.1
    holder: str = ""
    both: bool = False
    open: bool = False
    tip: float = 0.0  # degrees
    ear: bool = False


@dataclass(frozen=True, slots=True)
class World:
    """One instant of a film."""

    place: Place
    poses: dict[str, Pose]
    things: dict[str, Thing] = field(default_factory=dict)
    seats: dict[str, str] = field(default_factory=dict)
    door: float = 0.0  # 0 shut, 1 wide open
    ink: float = 0.0  # how much is written on the board, 0 to 1

    def posed(self, **poses: Pose) -> World:
        """Return the same instant with some people posed otherwise."""
        return replace(self, poses={**self.poses, **poses})

    def moved(self, name: str, thing: Thing) -> World:
        """Return the same instant with one thing changed."""
        return replace(self, things={**self.things, name: thing})

    def held_by(self, who: str) -> str:
        """Name the thing somebody holds, or the empty string."""
        return next((name for name, thing in self.things.items() if thing.holder == who), "")


def knob_at(piece: Furniture, swing: float) -> tuple[float, float]:
    """Where the knob of a door that is ``swing`` (0 to 1) open is in the picture."""
    angle = swing * WIDE
    half, u = HALF_WIDTHS["door"], 0.88
    x = piece.x - piece.looks * half + piece.looks * 2 * half * u * cos(angle)
    drop = 11 * sin(angle) * u
    top, foot = WALL_FOOT - DOOR_TALL + drop, WALL_FOOT - drop * 0.55
    return x, top + (foot - top) * 0.55


def _furnish(
    *pieces: tuple[str, float]
    | tuple[str, float, float]
    | tuple[str, float, float, int]
    | tuple[str, float, float, int, str],
) -> tuple[Furniture, ...]:
    return tuple(Furniture(*piece) for piece in pieces)


PLACES: dict[str, Place] = {
    "classroom": Place(
        "#e9e4d4",
        "#c9a57b",
        _furnish(
            ("door", 52, 1, 1, "#7d5a3c"),
            ("board", 352, 1, 1, "#fbfbf6"),
            ("clock", 250, 1),
            ("chair", 130, 0.45, 1, "#4a7fa5"),
            ("table", 205, 0.45, 1, "#b98552"),
        ),
    ),
    "office": Place(
        "#dbe6ea",
        "#9aa7ad",
        _furnish(
            ("door", 436, 1, -1, "#5c7480"),
            ("board", 118, 1, 1, "#fbfbf6"),
            ("chair", 350, 0.45, -1, "#37474f"),
            ("desk", 276, 0.45, 1, "#8c6a4f"),
            ("plant", 24, 0.6),
        ),
    ),
    "living": Place(
        "#f1e1cf",
        "#b98a68",
        _furnish(
            ("door", 58, 1, 1, "#8a5f41"),
            ("window", 176, 1),
            ("picture", 340, 1, 1, "#4d8c8a"),
            ("rug", 300, 0.3, 1, "#d9b18e"),
            ("lamp", 250, 0.7),
            ("sofa", 338, 0.55, 1, "#3f7d83"),
            ("sidetable", 444, 0.6, 1, "#9b6a43"),
        ),
    ),
    "kitchen": Place(
        "#e3ecd9",
        "#cdbf9f",
        _furnish(
            ("door", 424, 1, -1, "#8c6b4d"),
            ("fridge", 40, 0.8),
            ("counter", 150, 0.8, 1, "#6f8f72"),
            ("window", 150, 1),
            ("table", 262, 0.45, 1, "#b47a4b"),
            ("chair", 338, 0.45, -1, "#c95f4a"),
        ),
    ),
    "hall": Place(
        "#e6dcea",
        "#a98f7c",
        _furnish(
            ("door", 300, 1, 1, "#3f6a63"),
            ("coats", 398, 1),
            ("plant", 452, 0.6),
            ("chair", 60, 0.5, 1, "#8a6a9c"),
            ("picture", 130, 1, 1, "#c98a4b"),
            ("sidetable", 186, 0.6, 1, "#7d5a3c"),
        ),
    ),
    "bedroom": Place(
        "#d9dff0",
        "#a58a78",
        _furnish(
            ("door", 56, 1, 1, "#6c6f96"),
            ("window", 178, 1),
            ("bed", 318, 0.6, 1, "#b8617a"),
            ("sidetable", 446, 0.6, 1, "#8f6c54"),
            ("picture", 318, 1, 1, "#e0a64a"),
        ),
    ),
    "park": Place(
        "#cfe6f1",
        "#9cc07a",
        _furnish(
            ("hills", 240, 1), ("tree", 84, 0.8), ("bench", 350, 0.55, 1, "#96683f"), ("path", 240, 0.2)
        ),
        outdoors=True,
    ),
    "garden": Place(
        "#d8ecef",
        "#a9c98a",
        _furnish(
            ("fence", 240, 1),
            ("tree", 410, 0.8),
            ("table", 230, 0.5, 1, "#c08a58"),
            ("chair", 150, 0.5, 1, "#5b8fb0"),
            ("bush", 60, 0.9),
        ),
        outdoors=True,
    ),
}
