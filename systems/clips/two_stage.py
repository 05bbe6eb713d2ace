"""STAL in two stages: clips by an index of STAL (clips), the moments around them ranked by STAL (TEF) (Section 3.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import cast

import numpy as np

from ..data import Data, Floats, Query, Rows, Videos
from ..errors import SystemsError
from ..exhaustive import Index
from ..interface import Progress, Report, System, silent
from ..library import Run
from ..neural.stal import Stal, StalClips
from ..options import Contrastive, TwoStage
from ..ranking import Ranked, must_ask, run_of
from ..windows import Windows
from . import kept
from .building import plan_index, write_shard
from .codes import wanted_sample
from .index import ClipIndex, Found
from .layout import check
from .stages import rank_around

CLIPS, FEATURES, OBJECTS = "clips", "features", "objects"  # folders


class TwoStages(System):
    """Both networks, each in a folder of its own, and the index between them.

    `index` does all in one process. For a large collection, one job calls `plan`, and others `index_shard`, on any
    machines that have the folder.
    """

    name = "two_stage"

    def __init__(self, options: TwoStage, folder: Path) -> None:
        super().__init__(options, folder)
        both = Contrastive(**{field.name: getattr(options, field.name) for field in fields(Contrastive)})
        self.first, self.second = StalClips(both, folder / "first"), Stal(both, folder / "second")

    @property
    def its(self) -> TwoStage:
        return cast(TwoStage, self.options)

    def train(self, data: Data, report: Report = silent) -> None:
        self.keep_card()
        self.first.train(data, _half(report, 0, "first stage"))
        self.second.train(data, _half(report, 1, "second stage"))

    def index(self, videos: Videos, report: Report = silent) -> None:
        self.plan(videos)
        for number in range(1, self.its.shards + 1):
            report(Progress(number - 1, self.its.shards, f"indexing shard {number} of {self.its.shards}"))
            self.index_shard(videos, number)
        report(Progress(1, 1, f"{len(videos.clips):,} clips are indexed"))

    def plan(self, videos: Videos) -> None:
        """Begin an index, in place of the one that was there: learn its codes from some of the videos."""
        self.keep_card()
        clips, seconds, shards = len(videos.clips), videos.clip_seconds, self.its.shards
        plan_index(self.folder / CLIPS, self.its.kind, seconds, self._sample(videos), clips, shards)
        plan_index(self.folder / FEATURES, "flat", seconds, videos.clips[:0], clips, shards)
        kept.keep_objects(self.folder / OBJECTS, videos.objects)

    def index_shard(self, videos: Videos, number: int) -> None:
        """Write one shard of the index that was planned for these videos; the first one has the number 1."""
        first, stop = (len(videos) * part // self.its.shards for part in (number - 1, number))
        write_shard(self.folder / CLIPS, number, map(self._embedded, kept.in_parts(videos, first, stop)))
        write_shard(self.folder / FEATURES, number, kept.in_parts(videos, first, stop))

    def _embedded(self, videos: Videos) -> Videos:
        none = np.empty((0, self.its.embedding), np.float32)
        return replace(videos, clips=np.concatenate([none, *self.first.clip_vectors(videos)]))

    def _sample(self, videos: Videos) -> Rows:
        """Return the vectors of the clips of videos that are drawn, for codes to learn from."""
        if self.its.kind == "flat":
            return np.empty((0, self.its.embedding), np.float32)
        drawn = np.random.default_rng(self.its.seed).permutation(len(videos))
        enough = np.searchsorted(np.cumsum(videos.counts[drawn]), wanted_sample(len(videos.clips))) + 1
        return self._embedded(kept.some(videos, np.sort(drawn[:enough]))).clips

    def check_index(self) -> None:
        for part in (CLIPS, FEATURES):
            check(self.folder / part)
        kept.Kept(self.folder / FEATURES, self.folder / OBJECTS)
        if not ClipIndex(self.folder / CLIPS).has_videos_of(ClipIndex(self.folder / FEATURES)):
            raise SystemsError(
                f"{self.folder}: {CLIPS} and {FEATURES} are of different videos; index the collection again"
            )

    def search(self, queries: Sequence[Query], depth: int = 100, report: Report = silent) -> Run:
        must_ask(queries)
        index = ClipIndex(self.folder / CLIPS)
        features = kept.Kept(self.folder / FEATURES, self.folder / OBJECTS)
        found = index.search(self.first.query_vectors(queries), self.its.clips)
        ranked = []
        for query, near in zip(queries, found, strict=True):
            ranked.append(self._ranked(index, features, query, near, depth))
            report(Progress(len(ranked), len(queries), "searching"))
        return _run(self.name, queries, ranked, index)

    def _ranked(self, index: ClipIndex, features: kept.Kept, query: Query, near: Found, depth: int) -> Ranked:
        def cost(windows: Windows) -> Floats:
            numbers, place = np.unique(windows.video, return_inverse=True)
            videos = features.some(numbers)
            here = replace(windows, video=place.astype(np.int64))
            moments = Index(videos.names, videos.duration, here, self.second.represent(videos, here))
            return -next(iter(self.second.scores(moments, [query]))).astype(np.float64)

        return rank_around(index, near, self.options.scales, cost, depth, self.options.nms)


def _half(report: Report, half: int, stage: str) -> Report:
    """Return a report of one of two trainings as half of the work."""

    def report_half(progress: Progress) -> None:
        done = progress.done + half * progress.total
        report(replace(progress, done=done, total=2 * progress.total, text=f"{stage}: {progress.text}"))

    return report_half


def _run(name: str, queries: Sequence[Query], ranked: list[Ranked], index: ClipIndex) -> Run:
    """Make a run that names only the videos that are in it."""
    videos = np.unique(np.concatenate([np.empty(0, np.int64), *(each.video for each in ranked)]))
    renamed = (each._replace(video=np.searchsorted(videos, each.video)) for each in ranked)
    return run_of(name, queries, renamed, tuple(index.names(videos)))
