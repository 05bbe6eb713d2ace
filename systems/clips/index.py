"""An index of clips as a search sees it: all shards as one, with the clips' vectors on disk."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..data import Floats, Ints, Rows, ranges, starts_of
from ..errors import SystemsError
from .codes import Groups
from .layout import LEARNED, Plan, Setting, read_plan, read_settings, read_shards

REFINED = (5, 10, 20)  # times as many clips as are wanted may have their distances computed exactly
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
    is_measured: whether its recall is known, as it is when its shards are written.
    Raises SystemsError if there is no index; shards are missing or broken, all of which are named; or its recall was
    not measured.
    """

    def __init__(self, folder: Path, is_measured: bool = True) -> None:
        self.plan: Plan = read_plan(folder)
        self._shards = read_shards(folder, self.plan)
        self._first_clip = starts_of(len(shard.rows) for shard in self._shards)
        self._names = np.concatenate([shard.names for shard in self._shards])
        self._durations = np.concatenate([shard.durations for shard in self._shards])
        self._offsets = np.concatenate(
            [[0], *(shard.offsets[1:] + first for shard, first in zip(self._shards, self._first_clip, strict=False))]
        )
        files = [shard.codes for shard in self._shards]
        self._codes: Groups | None = None
        self.settings: list[Setting] = []
        if self.plan.kind == "ivf-pq":
            self.settings = read_settings(folder, self.plan) if is_measured else []
            self._codes = Groups(folder / LEARNED, files, self._first_clip)

    @property
    def clips(self) -> int:
        return int(self._first_clip[-1])

    @property
    def videos(self) -> int:
        return len(self._names)

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
        """Return the clips nearest to each query, `k` of them, or fewer where the index finds fewer.

        Of clips with equal distances the one with the lower number stands first. A flat index finds the nearest; one of
        groups finds the share of them that `finds` names.

        queries: shape (queries, d), float32.
        Raises SystemsError if the vectors have other dimensions, or values that are not finite.
        """
        queries = np.ascontiguousarray(queries, np.float32)
        if queries.ndim != 2 or queries.shape[1] != self.plan.dimensions:
            raise SystemsError(f"queries of shape {queries.shape}; expected (queries, {self.plan.dimensions})")
        if not np.isfinite(queries).all():
            raise SystemsError("a query's vector has a value that is not a finite number")
        candidates = self._proposed(queries, k) if self._codes else self._scanned(queries, min(k + SPARE, self.clips))
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

    def away(self, queries: Rows) -> Floats:
        """Return how far queries are from groups of clips: squared, shape (queries,); 0 if there are no groups."""
        return self._codes.away(queries) if self._codes else np.zeros(len(queries))

    def tuned(self, queries: Rows, reach: float) -> Setting:
        """Return the quickest setting that finds the plan's share of the clips nearest to queries, with two standard
        errors to spare, or else the one that finds the largest share.
        """
        assert self._codes is not None
        k = min(self.plan.nearest, self.clips)
        wanted = [
            self._nearest(query, found, k)
            for query, found in zip(queries, self._scanned(queries, min(k + SPARE, self.clips)), strict=True)
        ]
        nearest = [self._offsets[each.video] + each.clip for each in wanted]
        best = None
        for groups in self._codes.levels:
            proposed = self._codes.propose(queries, min(REFINED[-1] * k, self.clips), groups)
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
        assert self._codes is not None
        which = np.searchsorted([setting.reach for setting in self.settings[:-1]], self._codes.away(queries))
        found: list[Ints] = [np.empty(0, np.int64)] * len(queries)
        for number in np.unique(which).tolist():
            setting, places = self.settings[number], np.flatnonzero(which == number)
            proposed = self._codes.propose(queries[places], min(setting.refined * k, self.clips), setting.groups)
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
