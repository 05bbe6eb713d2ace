"""The folder of an index of clips: its plan, its measured recall, and shards, each of which a job writes anywhere.

`index.json` is the plan, with the checksum of what was learned before (`learned.faiss`), and `recall.json` what the
index finds of the clips nearest to queries (`queries.npy`), once all shards are written. A shard is a folder of files
that other programs can map too: the clips' vectors (`rows.f32`: float32, little-endian, one clip behind the other),
where each video begins (`offsets.npy`), names in UTF-8 (`names.npy`), durations in seconds (`durations.npy`), and the
codes (`codes.faiss`; a flat index has none). Its `shard.json` has the plan's key and the size and SHA-256 of each.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..data import Floats, Ints, Rows
from ..errors import SystemsError
from ..storage import digest, read_json, write_json

VERSION = 2  # of the format
KINDS = ("flat", "ivf-pq")
PLAN, LEARNED, SHARD = "index.json", "learned.faiss", "shard.json"
RECALL, QUERIES = "recall.json", "queries.npy"
ROWS, OFFSETS, NAMES, DURATIONS, CODES = ("rows.f32", "offsets.npy", "names.npy", "durations.npy", "codes.faiss")
AGAIN = "write this shard again"


@dataclass(frozen=True)
class Plan:
    """What all shards of an index have in common.

    kind: `flat` or `ivf-pq`.
    dimensions: of a clip's vector.
    clip_seconds: length of a clip.
    shards: how many there are.
    learned: SHA-256 of what the codes were learned with; empty for a flat index.
    nearest, target: how many clips a search looks for, and which share of them it is to find.
    given: whether recall is measured on queries that were given; else on clips that were held out.
    id: another one for each plan, so that shards of an older index are not taken for shards of this one.
    """

    kind: str
    dimensions: int
    clip_seconds: float
    shards: int
    learned: str = ""
    nearest: int = 200
    target: float = 0.95
    given: bool = False
    id: str = field(default_factory=lambda: secrets.token_hex(8))

    @property
    def key(self) -> str:
        """By which a shard says what index it is part of."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()

    def check(self) -> None:
        """Raise SystemsError if a value makes no sense."""
        if self.kind not in KINDS:
            raise SystemsError(f"kind of index: {self.kind!r}; expected one of {', '.join(KINDS)}")
        if self.dimensions < 1 or self.shards < 1:
            raise SystemsError(
                f"an index of {self.dimensions} dimensions in {self.shards} shards; expected at least 1 of both"
            )
        if self.nearest < 1 or not 0 <= self.target <= 1:
            raise SystemsError(
                f"a recall of {self.target:g} of the nearest {self.nearest} clips; expected 0 to 1, of at least 1"
            )
        if not 0 < self.clip_seconds < float("inf"):
            raise SystemsError(f"clips of {self.clip_seconds:g} seconds; expected more than 0")


class Setting(NamedTuple):
    """How an index of groups looks for clips, and what it found so of those nearest to queries.

    reach: squared distance from the nearest group's centre up to which a query is searched so; the last setting is for
    all that are farther.
    groups: how many of them are looked at.
    refined: times as many clips as are wanted have their distances computed exactly.
    recall: the mean share of the nearest clips that was found.
    queries: by how many this was measured.
    """

    reach: float
    groups: int
    refined: int
    recall: float
    queries: int


class Shard(NamedTuple):
    """What a shard holds, mapped into memory.

    number: from 1 on.
    rows: shape (clips, d).
    offsets: clips offsets[i] to offsets[i + 1] are those of video i: shape (videos + 1,).
    names: in UTF-8: shape (videos,).
    durations: in seconds: shape (videos,).
    codes: the file of its codes; None if it has none.
    """

    number: int
    rows: Rows
    offsets: Ints
    names: NDArray[np.bytes_]
    durations: Floats
    codes: Path | None


def shard_folder(folder: Path, number: int) -> Path:
    """Return where a shard is kept; the first one has the number 1."""
    return folder / f"shard-{number:04}"


def store_plan(folder: Path, plan: Plan) -> None:
    """Store the plan of an index. Shards of another plan that are there count as missing from now on."""
    write_json(folder / PLAN, {"format": "clip index", "version": VERSION, **asdict(plan)})


def read_plan(folder: Path) -> Plan:
    """Return the plan of an index. Raises SystemsError if there is none, or it has another version."""
    if not (folder / PLAN).exists():
        raise SystemsError(f"{folder}: there is no index of clips; expected one with a file {PLAN}")
    read = read_json(folder / PLAN)
    try:
        found, version = read.pop("format"), read.pop("version")
        plan = Plan(**read)
    except (AttributeError, KeyError, TypeError) as fault:
        raise SystemsError(f"{folder / PLAN}: this is not the plan of an index of clips ({fault})") from fault
    if (found, version) != ("clip index", VERSION):
        raise SystemsError(
            f"{folder / PLAN}: {found}, version {version}; expected clip index, version {VERSION}: build it again"
        )
    plan.check()
    return plan


def read_shards(folder: Path, plan: Plan) -> list[Shard]:
    """Map all shards of an index. Sizes are compared; `checked` compares checksums, which reads every byte. Raises
    SystemsError, which names all shards that are missing or broken.
    """
    shards, wrong = [], []
    for number in range(1, plan.shards + 1):
        try:
            shards.append(_read(shard_folder(folder, number), number, plan))
        except SystemsError as fault:
            wrong.append(str(fault))
    _raise(folder, plan, wrong)
    return shards


def is_whole(folder: Path, plan: Plan) -> bool:
    """Return whether all shards of a plan are there."""
    try:
        read_shards(folder, plan)
    except SystemsError:
        return False
    return True


def store_settings(folder: Path, plan: Plan, settings: list[Setting]) -> None:
    """Store how an index looks for clips, and what it finds so; this counts for the shards that are there now."""
    rows = [setting._asdict() for setting in settings]
    write_json(folder / RECALL, {"shards": _shards_there(folder, plan), "settings": rows})


def read_settings(folder: Path, plan: Plan) -> list[Setting]:
    """Return how an index of groups looks for clips. Raises SystemsError if this was not measured on its shards."""
    read = read_json(folder / RECALL) if (folder / RECALL).exists() else {}
    if not isinstance(read, dict) or read.get("shards") != _shards_there(folder, plan):
        raise SystemsError(f"{folder}: its recall was not measured after its last shard was written; write one again")
    try:
        return [Setting(**row) for row in read["settings"]]
    except (KeyError, TypeError) as fault:
        raise SystemsError(f"{folder / RECALL}: this is no measured recall ({fault}); write a shard again") from fault


def _shards_there(folder: Path, plan: Plan) -> list[str]:
    """Return the checksums of what the shards say of themselves, their files' checksums among it."""
    return [digest(shard_folder(folder, number) / SHARD) for number in range(1, plan.shards + 1)]


def check(folder: Path) -> None:
    """Compare every file of an index with its checksum, and look for videos that are in it twice. Raises SystemsError,
    which names all shards with a file that is not as it was written, or the first such video.
    """
    plan = read_plan(folder)
    shards = read_shards(folder, plan)
    wrong = []
    for shard in shards:
        files = read_json(shard_folder(folder, shard.number) / SHARD)["files"]
        changed = (name for name in files if digest(shard_folder(folder, shard.number) / name) != files[name]["sha256"])
        wrong += [f"shard {shard.number} has another {name} than was written; {AGAIN}" for name in changed]
    if plan.learned and digest(folder / LEARNED) != plan.learned:
        wrong.append(f"{LEARNED} is not as it was written; build the index again")
    _raise(folder, plan, wrong)
    names, times = np.unique(np.concatenate([shard.names for shard in shards]), return_counts=True)
    if (twice := names[times > 1]).size:
        raise SystemsError(f"{folder}: video {twice[0].decode()!r} is there twice; expected each video once")


def _raise(folder: Path, plan: Plan, wrong: list[str]) -> None:
    if wrong:
        raise SystemsError(f"{folder}: {len(wrong)} faults in {plan.shards} shards: {'; '.join(wrong)}")


def _read(folder: Path, number: int, plan: Plan) -> Shard:
    description = _description(folder, number, plan)
    videos, clips = description["videos"], description["clips"]
    try:
        rows = _mapped(folder / ROWS, clips, plan.dimensions)
        offsets, names, durations = (np.load(folder / name, mmap_mode="r") for name in (OFFSETS, NAMES, DURATIONS))
    except (OSError, ValueError, EOFError) as fault:
        raise SystemsError(f"shard {number} cannot be read ({fault}); {AGAIN}") from fault
    if (len(offsets), len(names), len(durations)) != (videos + 1, videos, videos) or offsets[-1] != clips:
        raise SystemsError(f"shard {number} does not hold {videos} videos of {clips} clips; {AGAIN}")
    codes = folder / CODES
    return Shard(number, rows, offsets, names, durations, codes if CODES in description["files"] else None)


def _mapped(file: Path, clips: int, dimensions: int) -> Rows:
    if not clips:  # an empty file cannot be mapped
        return np.empty((0, dimensions), np.float32)
    return np.asarray(np.memmap(file, "<f4", "r", shape=(clips, dimensions)))


def _description(folder: Path, number: int, plan: Plan) -> Any:
    """Return what a shard says of itself, after a look at its files' sizes."""
    if not (folder / SHARD).exists():
        raise SystemsError(f"shard {number} is missing; write it")
    description = read_json(folder / SHARD)
    if not isinstance(description, dict) or description.get("version") != VERSION:
        raise SystemsError(f"shard {number} has another format than version {VERSION}; {AGAIN}")
    if description.get("index") != plan.key:
        raise SystemsError(f"shard {number} belongs to another index; {AGAIN}")
    for name, of_file in description["files"].items():
        file = folder / name
        size = file.stat().st_size if file.exists() else 0
        if size != of_file["bytes"]:
            raise SystemsError(f"shard {number} has {size:,} of {of_file['bytes']:,} bytes of {name}; {AGAIN}")
    return description
