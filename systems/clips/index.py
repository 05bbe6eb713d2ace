"""An index of clips: its folder, with a plan and shards that jobs write anywhere, and the search of it.

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
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..data import Floats, Ints, Rows, ranges, starts_of
from ..errors import SystemsError
from ..storage import digest, read_json, write_json
from .codes import Groups

FORMAT, VERSION = "clip index", 2
KINDS = ("flat", "ivf-pq")
PLAN, LEARNED, SHARD = "index.json", "learned.faiss", "shard.json"
RECALL, QUERIES = "recall.json", "queries.npy"
ROWS, OFFSETS, NAMES, DURATIONS, CODES = ("rows.f32", "offsets.npy", "names.npy", "durations.npy", "codes.faiss")
AGAIN = "write this shard again"
REFINED = (5, 10, 20)  # times as many clips as are wanted may have their distances computed exactly
SPARE = 32  # more than are wanted are chosen by rounded distances, where all are looked at
CLIPS_AT_A_TIME = 65_536


@dataclass(frozen=True)
class Plan:
    """What all shards of an index have in common.

    dimensions: of a clip's vector.
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

    reach: squared distance from the nearest group's centre up to which it is used; the last setting is for all others.
    groups: how many of them are looked at.
    refined: times as many clips as are wanted have their distances computed exactly.
    recall, queries: the mean share of the nearest clips that was found, and by how many queries.
    """

    reach: float
    groups: int
    refined: int
    recall: float
    queries: int


class Shard(NamedTuple):
    """What a shard, from 1 on, holds, mapped into memory.

    rows: shape (clips, d).
    offsets: clips offsets[i] to offsets[i + 1] are those of video i: shape (videos + 1,).
    names, durations: in UTF-8, and in seconds: shape (videos,).
    codes: the file of its codes; None if it has none.
    """

    number: int
    rows: Rows
    offsets: Ints
    names: NDArray[np.bytes_]
    durations: Floats
    codes: Path | None


class Found(NamedTuple):
    """The clips nearest to a query, nearest first; each array has shape (clips,).

    video, clip: the video's number in the index, and the clip's in the video, from 0 on.
    distance: the squared Euclidean distance, computed in float64.
    """

    video: Ints
    clip: Ints
    distance: Floats


class ClipIndex:
    """The clips of a collection, numbered by shard, video and place; their vectors are mapped into memory.

    folder: where `plan_index` and `write_shard` made it.
    is_measured: whether its recall is known, as it is when its shards are written.
    Raises SystemsError naming all shards that are missing or broken, or if its recall was not measured.
    """

    def __init__(self, folder: Path, is_measured: bool = True) -> None:
        self.plan: Plan = read_plan(folder)
        self._shards = read_shards(folder, self.plan)
        self._first_clip = starts_of(len(shard.rows) for shard in self._shards)
        self.clips = int(self._first_clip[-1])
        self._names = np.concatenate([shard.names for shard in self._shards])
        self.videos = len(self._names)
        self._durations = np.concatenate([shard.durations for shard in self._shards])
        self._offsets = np.concatenate(
            [[0], *(shard.offsets[1:] + first for shard, first in zip(self._shards, self._first_clip, strict=False))]
        )
        self.codes: Groups | None = None
        self.settings: list[Setting] = []
        if self.plan.kind == "ivf-pq":
            self.settings = read_settings(folder, self.plan) if is_measured else []
            self.codes = Groups(folder / LEARNED, [shard.codes for shard in self._shards], self._first_clip)

    def has_videos_of(self, other: ClipIndex) -> bool:
        """Return whether both hold the same videos, with as many clips each, in the same order."""
        return np.array_equal(self._offsets, other._offsets) and np.array_equal(self._names, other._names)

    def names(self, videos: Ints) -> list[str]:
        """Return the names of videos, by their numbers."""
        return [name.decode() for name in self._names[videos]]

    def durations(self, videos: Ints) -> Floats:
        """Return the durations of videos in seconds, by their numbers."""
        return self._durations[videos]

    def rows(self, clips: Ints) -> Rows:
        """Return the vectors of clips, by their numbers: shape (clips, d)."""
        rows = np.empty((len(clips), self.plan.dimensions), np.float32)
        of_clip = np.searchsorted(self._first_clip, clips, side="right") - 1
        for number in np.unique(of_clip).tolist():
            places = of_clip == number
            rows[places] = self._shards[number].rows[clips[places] - self._first_clip[number]]
        return rows

    def clips_of(self, videos: Ints) -> tuple[Ints, Ints]:
        """Return the numbers of all clips of videos, and where each video's begin among these."""
        return ranges(self._offsets[videos], self._offsets[videos + 1])

    def search(self, queries: Rows, k: int = 200) -> list[Found]:
        """Return the `k` clips nearest to each query, or fewer where the index finds fewer; of equal ones the first.

        queries: shape (queries, d), float32.
        Raises SystemsError if the vectors have other dimensions, or values that are not finite.
        """
        queries = np.ascontiguousarray(queries, np.float32)
        if queries.ndim != 2 or queries.shape[1] != self.plan.dimensions:
            raise SystemsError(f"queries of shape {queries.shape}; expected (queries, {self.plan.dimensions})")
        if not np.isfinite(queries).all():
            raise SystemsError("a query's vector has a value that is not a finite number")
        candidates = self._proposed(queries, k) if self.codes else self._scanned(queries, min(k + SPARE, self.clips))
        return [self._nearest(query, found, k) for query, found in zip(queries, candidates, strict=True)]

    @property
    def finds(self) -> str:
        """What a search finds of the clips that are nearest, in a sentence."""
        if not self.settings:
            return "The index compares a query with all clips."
        near, far = self.settings[0], self.settings[-1]
        by = "queries" if self.plan.given else "clips that it had not learned from"
        text = f"The index finds {near.recall:.1%} of the {self.plan.nearest:,} nearest clips, by {near.queries} {by}"
        if not self.plan.given:
            text += f", and {far.recall:.1%} for queries that are farther from all clips"
        lacks = min(near.recall, far.recall) < self.plan.target
        return f"{text}. Its target is {self.plan.target:.1%}{', which it does not reach' if lacks else ''}."

    def tuned(self, queries: Rows, reach: float) -> Setting:
        """Return the quickest setting that reaches the target by two standard errors, else that with most recall."""
        assert self.codes is not None
        k = min(self.plan.nearest, self.clips)
        wanted = [
            self._nearest(query, found, k)
            for query, found in zip(queries, self._scanned(queries, min(k + SPARE, self.clips)), strict=True)
        ]
        nearest = [self._offsets[each.video] + each.clip for each in wanted]
        best = None
        for groups in self.codes.levels:
            proposed = self.codes.propose(queries, min(REFINED[-1] * k, self.clips), groups)
            for refined in REFINED:
                shares = np.array(
                    [np.isin(one, some[: refined * k]).mean() for one, some in zip(nearest, proposed, strict=True)]
                )
                setting = Setting(reach, groups, refined, float(shares.mean()), len(queries))
                if shares.mean() - 2 * shares.std() / np.sqrt(len(shares)) >= self.plan.target:
                    return setting
                best = setting if best is None or setting.recall > best.recall else best
        assert best is not None
        return best

    def _proposed(self, queries: Rows, k: int) -> list[Ints]:
        """Return the numbers of the clips that groups propose for each query, by the setting for its distance."""
        assert self.codes is not None
        which = np.searchsorted([setting.reach for setting in self.settings[:-1]], self.codes.away(queries))
        found: list[Ints] = [np.empty(0, np.int64)] * len(queries)
        for number in np.unique(which).tolist():
            setting, places = self.settings[number], np.flatnonzero(which == number)
            proposed = self.codes.propose(queries[places], min(setting.refined * k, self.clips), setting.groups)
            for place, row in zip(places.tolist(), proposed, strict=True):
                found[place] = row
        return found

    def _nearest(self, query: Rows, candidates: Ints, k: int) -> Found:
        clips = np.sort(candidates[candidates >= 0])
        away = self.rows(clips).astype(np.float64) - query
        distances = np.einsum("ij,ij->i", away, away)
        order = np.argsort(distances, kind="stable")[:k]
        nearest = clips[order]
        video = np.searchsorted(self._offsets, nearest, side="right") - 1
        return Found(video, nearest - self._offsets[video], distances[order])

    def _scanned(self, queries: Rows, k: int) -> Ints:
        """Return the k nearest clips of each query, except for rounding, by looking at all of them."""
        nearest = np.empty((len(queries), 0), np.int64)
        distances = np.empty((len(queries), 0), np.float32)
        for first, rows in self._blocks():
            here = np.einsum("ij,ij->i", rows, rows) - 2 * (queries @ rows.T)
            numbers = np.broadcast_to(np.arange(first, first + len(rows)), here.shape)
            distances = np.concatenate([distances, here], axis=1)
            nearest = np.concatenate([nearest, numbers], axis=1)
            if distances.shape[1] > k:
                best = np.argpartition(distances, k - 1, axis=1)[:, :k]
                distances = np.take_along_axis(distances, best, 1)
                nearest = np.take_along_axis(nearest, best, 1)
        return nearest

    def _blocks(self) -> Iterator[tuple[int, Rows]]:
        for shard, first in zip(self._shards, self._first_clip.tolist(), strict=False):
            for start in range(0, len(shard.rows), CLIPS_AT_A_TIME):
                yield first + start, shard.rows[start : start + CLIPS_AT_A_TIME]


def shard_folder(folder: Path, number: int) -> Path:
    """Return where a shard is kept; the first one has the number 1."""
    return folder / f"shard-{number:04}"


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
    if (found, version) != (FORMAT, VERSION):
        raise SystemsError(
            f"{folder / PLAN}: {found}, version {version}; expected {FORMAT}, version {VERSION}: build it again"
        )
    plan.check()
    return plan


def read_shards(folder: Path, plan: Plan) -> list[Shard]:
    """Map all shards of an index, whose sizes are compared. Raises SystemsError naming those missing or broken."""
    shards, wrong = [], []
    for number in range(1, plan.shards + 1):
        try:
            shards.append(_read(shard_folder(folder, number), number, plan))
        except SystemsError as fault:
            wrong.append(str(fault))
    _raise(folder, plan, wrong)
    return shards


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
    """Compare the checksums of an index's files, and look for videos that are in it twice. Raises SystemsError."""
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
        rows = np.empty((0, plan.dimensions), np.float32)  # an empty file cannot be mapped
        if clips:
            rows = np.asarray(np.memmap(folder / ROWS, "<f4", "r", shape=(clips, plan.dimensions)))
        offsets, names, durations = (np.load(folder / name, mmap_mode="r") for name in (OFFSETS, NAMES, DURATIONS))
    except (OSError, ValueError, EOFError) as fault:
        raise SystemsError(f"shard {number} cannot be read ({fault}); {AGAIN}") from fault
    if (len(offsets), len(names), len(durations)) != (videos + 1, videos, videos) or offsets[-1] != clips:
        raise SystemsError(f"shard {number} does not hold {videos} videos of {clips} clips; {AGAIN}")
    codes = folder / CODES
    return Shard(number, rows, offsets, names, durations, codes if CODES in description["files"] else None)


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
