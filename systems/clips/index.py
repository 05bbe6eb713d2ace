"""An index of clips as a search sees it: all shards as one, with the clips' vectors on disk."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..data import Floats, Ints, Rows
from ..errors import SystemsError
from .codes import Graphs, Groups
from .layout import LEARNED, Plan, read_plan, read_shards

REFINED = 5  # times as many clips as are wanted have their distances computed exactly
SPARE = 32  # more than are wanted are chosen by rounded distances, where all are looked at
CLIPS_AT_A_TIME = 65_536


class Found(NamedTuple):
    """The clips nearest to a query, nearest first; each array has shape (clips,).

    video: the video's number in the index.
    clip: the clip's number in the video, from 0 on.
    distance: the squared Euclidean distance, computed in float64.
    """

    video: Ints
    clip: Ints
    distance: Floats


class ClipIndex:
    """The clips of a collection, whose vectors stay on disk and are mapped into memory.

    Clips have numbers in the order of shards, of videos and of clips in a video; so have videos.

    folder: where `plan_index` and `write_shard` made it.
    Raises SystemsError if there is no index; or shards are missing or broken, all of which are named.
    """

    def __init__(self, folder: Path) -> None:
        self.plan: Plan = read_plan(folder)
        self._shards = read_shards(folder, self.plan)
        self._first_clip = _starts(len(shard.rows) for shard in self._shards)
        self._first_video = _starts(len(shard.names) for shard in self._shards)
        self._offsets = np.concatenate(
            [[0], *(shard.offsets[1:] + first for shard, first in zip(self._shards, self._first_clip, strict=False))]
        )
        files = [shard.codes for shard in self._shards]
        self._codes: Groups | Graphs | None = None
        if self.plan.kind == "ivf-pq":
            self._codes = Groups(folder / LEARNED, files, self._first_clip)
        elif self.plan.kind == "hnsw":
            self._codes = Graphs(files, self._first_clip)

    @property
    def clips(self) -> int:
        return int(self._first_clip[-1])

    @property
    def videos(self) -> int:
        return int(self._first_video[-1])

    def has_videos_of(self, other: ClipIndex) -> bool:
        """Return whether both hold the same videos, with as many clips each, in the same order."""
        every = np.arange(self.videos)
        return np.array_equal(self._offsets, other._offsets) and self.names(every) == other.names(every)

    def names(self, videos: Ints) -> list[str]:
        """Return the names of videos, by their numbers."""
        shards = self._shard_of(videos, self._first_video)
        pairs = zip(shards.tolist(), (videos - self._first_video[shards]).tolist(), strict=True)
        return [self._shards[shard].names[row].decode() for shard, row in pairs]

    def durations(self, videos: Ints) -> Floats:
        """Return the durations of videos in seconds, by their numbers."""
        durations = np.empty(len(videos))
        for shard, places, rows in self._in_shards(videos, self._first_video):
            durations[places] = self._shards[shard].durations[rows]
        return durations

    def rows(self, clips: Ints) -> Rows:
        """Return the vectors of clips, by their numbers: shape (clips, d)."""
        rows = np.empty((len(clips), self.plan.dimensions), np.float32)
        for shard, places, here in self._in_shards(clips, self._first_clip):
            rows[places] = self._shards[shard].rows[here]
        return rows

    def clips_of(self, videos: Ints) -> tuple[Ints, Ints]:
        """Return the numbers of all clips of videos, and where each video's begin among these."""
        return ranges(self._offsets[videos], self._offsets[videos + 1])

    def search(self, queries: Rows, k: int = 200) -> list[Found]:
        """Return the clips nearest to each query, `k` of them, or fewer where the index finds fewer.

        Of clips with equal distances the one with the lower number stands first. A flat index finds the nearest; the
        others nearly all of them.

        queries: shape (queries, d), float32.
        Raises SystemsError if the vectors have other dimensions, or values that are not finite.
        """
        queries = np.ascontiguousarray(queries, np.float32)
        if queries.ndim != 2 or queries.shape[1] != self.plan.dimensions:
            raise SystemsError(f"queries of shape {queries.shape}; expected (queries, {self.plan.dimensions})")
        if not np.isfinite(queries).all():
            raise SystemsError("a query's vector has a value that is not a finite number")
        candidates = (
            self._codes.propose(queries, min(REFINED * k, self.clips))
            if self._codes
            else self._scanned(queries, min(k + SPARE, self.clips))
        )
        return [self._nearest(query, found, k) for query, found in zip(queries, candidates, strict=True)]

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

    def _in_shards(self, numbers: Ints, firsts: Ints) -> Iterator[tuple[int, Ints, Ints]]:
        """Yield each shard, the places of those numbers that are in it, and the rows that they have there."""
        shards = self._shard_of(numbers, firsts)
        for shard in np.unique(shards).tolist():
            places = np.flatnonzero(shards == shard)
            yield shard, places, numbers[places] - firsts[shard]

    @staticmethod
    def _shard_of(numbers: Ints, firsts: Ints) -> Ints:
        return np.searchsorted(firsts, numbers, side="right") - 1


def ranges(first: Ints, stop: Ints) -> tuple[Ints, Ints]:
    """Return the numbers first to stop - 1 of each range, one range behind the other, and where each begins there."""
    begins = _starts(stop - first)
    return np.arange(begins[-1]) + np.repeat(first - begins[:-1], stop - first), begins


def _starts(counts: Iterable[int]) -> Ints:
    """Return where each of several parts begins, and where the last one ends."""
    return np.cumsum([0, *counts])
