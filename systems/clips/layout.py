"""The folder of an index of clips: its plan, and shards, each of which a job writes on any machine that has the folder.

`index.json` is the plan, with the checksum of what was learned before (`learned.faiss`). A shard is a folder of files
that other programs can map too: the clips' vectors (`rows.f32`: float32, little-endian, one clip behind the other),
where each video begins (`offsets.npy`), names in UTF-8 (`names.npy`), durations in seconds (`durations.npy`), and the
codes (`codes.faiss`; a flat index has none). Its `shard.json` has the plan's key and the size and SHA-256 of each.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..data import Floats, Ints, Rows
from ..errors import SystemsError
from ..storage import digest, read_json, write_json

VERSION = 1  # of the format
KINDS = ("flat", "ivf-pq", "hnsw")
PLAN, LEARNED, SHARD = "index.json", "learned.faiss", "shard.json"
ROWS, OFFSETS, NAMES, DURATIONS, CODES = ("rows.f32", "offsets.npy", "names.npy", "durations.npy", "codes.faiss")
AGAIN = "write this shard again"


@dataclass(frozen=True)
class Plan:
    """What all shards of an index have in common.

    kind: `flat`, `ivf-pq` or `hnsw`.
    dimensions: of a clip's vector.
    clip_seconds: length of a clip.
    shards: how many there are.
    learned: SHA-256 of what the codes were learned with; empty for a flat index.
    id: another one for each plan, so that shards of an older index are not taken for shards of this one.
    """

    kind: str
    dimensions: int
    clip_seconds: float
    shards: int
    learned: str = ""
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
        if not 0 < self.clip_seconds < float("inf"):
            raise SystemsError(f"clips of {self.clip_seconds:g} seconds; expected more than 0")


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


def check(folder: Path) -> None:
    """Compare every file of an index with its checksum, and look for videos that are in it twice. Raises SystemsError,
    which names all shards with a file that is not as it was written, or the first such video.
    """
    plan = read_plan(folder)
    shards = read_shards(folder, plan)
    wrong = [fault for shard in shards for fault in _changed(shard_folder(folder, shard.number), shard.number)]
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


def _changed(folder: Path, number: int) -> Iterator[str]:
    for name, of_file in read_json(folder / SHARD)["files"].items():
        if digest(folder / name) != of_file["sha256"]:
            yield f"shard {number} has another {name} than was written; {AGAIN}"
