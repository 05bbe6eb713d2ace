"""STAL in two stages (Section 3.1): clips by an index of STAL (clips), the moments around them ranked by STAL (TEF)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data import Data, Floats, Ints, Objects, Query, Rows, Videos
from ..errors import SystemsError
from ..exhaustive import Index
from ..interface import Progress, Report, System, silent
from ..library import Run
from ..neural.stal import Stal, StalClips
from ..options import Contrastive, TwoStage
from ..ranking import Ranked, must_ask, rank, run_of
from ..storage import read_arrays, write, write_arrays
from ..windows import Scales, Windows, clips_in, slide
from .building import plan_index, write_shard
from .codes import HELD_OUT, wanted_sample
from .index import ClipIndex, Found, ranges
from .layout import check

CLIPS, FEATURES, OBJECTS = "clips", "features", "objects"  # folders
VIDEOS_AT_A_TIME = 1000
KNOWN = "queries.npz"  # vectors of queries that training knew, by which the index measures its recall
NAMES, COLUMNS = "names.npz", ("clip", "name", "box")
Cost = Callable[[Windows], Floats]


def some(videos: Videos, numbers: Ints) -> Videos:
    """Return some videos of a collection, in this order, without their objects."""
    clips, begins = ranges(videos.offsets[numbers], videos.offsets[numbers + 1])
    return Videos(
        names=tuple(videos.names[number] for number in numbers.tolist()),
        duration=videos.duration[numbers],
        offsets=begins,
        clips=videos.clips[clips],
        clip_seconds=videos.clip_seconds,
    )


def to_learn_from(videos: Videos, seed: int) -> Videos:
    """Return videos that are drawn, with as many clips as codes should learn from."""
    drawn = np.random.default_rng(seed).permutation(len(videos))
    enough = np.searchsorted(np.cumsum(videos.counts[drawn]), wanted_sample(len(videos.clips))) + 1
    return some(videos, np.sort(drawn[:enough]))


def in_parts(videos: Videos, first: int, stop: int) -> Iterator[Videos]:
    """Yield the videos first to stop - 1, some at a time, without their objects."""
    for start in range(first, stop, VIDEOS_AT_A_TIME):
        yield some(videos, np.arange(start, min(start + VIDEOS_AT_A_TIME, stop)))


def keep_objects(folder: Path, objects: Objects | None) -> None:
    """Store the objects of a collection as arrays that can be mapped; none, if it has none."""
    (folder / NAMES).unlink(missing_ok=True)
    if objects is None:
        return
    for column in COLUMNS:
        write(folder / f"{column}.npy", partial(np.save, arr=getattr(objects, column)))
    vectors = {} if objects.vectors is None else {"vectors": objects.vectors}
    write_arrays(folder / NAMES, {"names": np.array(objects.names, np.str_)} | vectors)


class Kept:
    """The features of an indexed collection, mapped into memory.

    folder: an index of the clips' features (kind `flat`).
    objects: where `keep_objects` stored the objects.
    """

    def __init__(self, folder: Path, objects: Path) -> None:
        self._index = ClipIndex(folder)
        self._names: dict[str, NDArray[Any]] = {}
        if (objects / NAMES).exists():
            self._names = read_arrays(objects / NAMES)
            self._columns = {column: _mapped(objects / f"{column}.npy") for column in COLUMNS}

    def some(self, numbers: Ints) -> Videos:
        """Return some videos of the collection, in ascending order of their numbers."""
        clips, begins = self._index.clips_of(numbers)
        return Videos(
            names=tuple(self._index.names(numbers)),
            duration=self._index.durations(numbers),
            offsets=begins,
            clips=self._index.rows(clips),
            clip_seconds=self._index.plan.clip_seconds,
            objects=self._objects(clips) if self._names else None,
        )

    def _objects(self, clips: Ints) -> Objects:
        """Return the objects of clips, which have their places among these as numbers."""
        of_clip = self._columns["clip"]
        first, stop = np.searchsorted(of_clip, clips), np.searchsorted(of_clip, clips, side="right")
        rows, _ = ranges(first, stop)
        return Objects(
            clip=np.repeat(np.arange(len(clips)), stop - first),
            name=self._columns["name"][rows],
            box=self._columns["box"][rows],
            names=tuple(self._names["names"].tolist()),
            vectors=self._names.get("vectors"),
        )


def _mapped(file: Path) -> NDArray[Any]:
    try:
        return np.asarray(np.load(file, mmap_mode="r"))
    except (OSError, ValueError, EOFError) as fault:
        raise SystemsError(f"{file}: cannot be read ({fault}); index the collection again") from fault


def rank_around(
    index: ClipIndex, found: Found, scales: Scales, cost: Cost, depth: int = 100, nms: float = 1.0
) -> Ranked:
    """Rank all moments that contain at least one of the clips that were found for a query.

    cost: a function that returns the costs of moments, of which the lowest is the best. `Windows.video` are the videos'
    numbers in the index.
    depth: how many moments are wanted.
    nms: IoU above which a moment is dropped for a better one of its video; 1 keeps all.
    """
    windows = windows_around(found.video, found.clip, index.durations(found.video), index.plan.clip_seconds, scales)
    scores = -cost(windows) if len(windows) else np.empty(0)
    return rank(windows, scores, depth, nms)


def windows_around(video: Ints, clip: Ints, duration: Floats, clip_seconds: float, scales: Scales) -> Windows:
    """Return the windows that contain one of the clips, those of each video in the order of `slide`.

    video, clip: the clips: the number of the video, and of the clip within it. Shape (clips,).
    duration: of each clip's video, in seconds: shape (clips,).
    """
    videos, one, place = np.unique(video, return_index=True, return_inverse=True)
    windows = slide(duration[one], clip_seconds, scales)
    counts = clips_in(duration[one], clip_seconds)
    # One more for each video, for sums before its first clip.
    begins = np.concatenate([[0], np.cumsum(counts + 1)])
    found = np.zeros(begins[-1], np.int64)
    found[begins[place] + clip + 1] = 1
    sums = np.cumsum(found)
    at = begins[windows.video]
    rows = np.flatnonzero(sums[at + windows.stop] > sums[at + windows.first])
    near = windows.take(rows)
    return Windows(videos[near.video], near.first, near.stop, near.start, near.end)


class TwoStages(System):
    """Both networks, each in a folder of its own, and the index between them. `index` does all in one process. For a
    large collection, one job calls `plan`, and others `index_shard`, on any machines that have the folder.
    """

    name = "two_stage"
    options: TwoStage

    def __init__(self, options: TwoStage, folder: Path) -> None:
        super().__init__(options, folder)
        both = Contrastive(**{field.name: getattr(options, field.name) for field in fields(Contrastive)})
        self.first, self.second = StalClips(both, folder / "first"), Stal(both, folder / "second")

    def train(self, data: Data, report: Report = silent) -> None:
        self.keep_card()
        self.first.train(data, _half(report, 0, "first stage"))
        self.second.train(data, _half(report, 1, "second stage"))
        known, count = data.columns.queries, data.columns.query
        if data.validation:
            known, count = data.validation.queries, np.arange(len(data.validation.queries), dtype=np.int32)
        drawn = np.random.default_rng(self.options.seed).permutation(len(count))[:HELD_OUT]
        vectors = self.first.query_vectors([known[number] for number in count[np.sort(drawn)].tolist()])
        write_arrays(self.folder / KNOWN, {"vectors": vectors})

    def index(self, videos: Videos, report: Report = silent) -> None:
        self.plan(videos)
        for number in range(1, self.options.shards + 1):
            report(Progress(number - 1, self.options.shards, f"indexing shard {number} of {self.options.shards}"))
            self.index_shard(videos, number)
        report(Progress(1, 1, f"{len(videos.clips):,} clips are indexed"))

    def plan(self, videos: Videos) -> None:
        """Begin an index, in place of the one that was there: learn its codes from some of the videos."""
        self.keep_card()
        clips, seconds, shards = len(videos.clips), videos.clip_seconds, self.options.shards
        plan_index(
            self.folder / CLIPS,
            self.options.kind,
            seconds,
            self._sample(videos),
            clips,
            shards,
            queries=read_arrays(self.folder / KNOWN)["vectors"] if (self.folder / KNOWN).exists() else None,
            nearest=self.options.clips,
            target=self.options.recall,
        )
        plan_index(self.folder / FEATURES, "flat", seconds, videos.clips[:0], clips, shards)
        keep_objects(self.folder / OBJECTS, videos.objects)

    def index_shard(self, videos: Videos, number: int) -> None:
        """Write one shard of the index that was planned for these videos; the first one has the number 1."""
        first, stop = (len(videos) * part // self.options.shards for part in (number - 1, number))
        write_shard(self.folder / CLIPS, number, map(self._embedded, in_parts(videos, first, stop)))
        write_shard(self.folder / FEATURES, number, in_parts(videos, first, stop))

    def _embedded(self, videos: Videos) -> Videos:
        none = np.empty((0, self.options.embedding), np.float32)
        return replace(videos, clips=np.concatenate([none, *self.first.clip_vectors(videos)]))

    def _sample(self, videos: Videos) -> Rows:
        """Return the vectors of the clips of videos that are drawn, for codes to learn from."""
        if self.options.kind == "flat":
            return np.empty((0, self.options.embedding), np.float32)
        return self._embedded(to_learn_from(videos, self.options.seed)).clips

    def finds(self) -> str:
        return ClipIndex(self.folder / CLIPS).finds

    def check_index(self) -> None:
        for part in (CLIPS, FEATURES):
            check(self.folder / part)
        Kept(self.folder / FEATURES, self.folder / OBJECTS)
        if not ClipIndex(self.folder / CLIPS).has_videos_of(ClipIndex(self.folder / FEATURES)):
            raise SystemsError(
                f"{self.folder}: {CLIPS} and {FEATURES} are of different videos; index the collection again"
            )

    def search(self, queries: Sequence[Query], depth: int = 100, report: Report = silent) -> Run:
        must_ask(queries)
        index = ClipIndex(self.folder / CLIPS)
        features = Kept(self.folder / FEATURES, self.folder / OBJECTS)
        found = index.search(self.first.query_vectors(queries), self.options.clips)
        ranked = []
        for query, near in zip(queries, found, strict=True):
            ranked.append(self._ranked(index, features, query, near, depth))
            report(Progress(len(ranked), len(queries), "searching"))
        return run_in(self.name, queries, ranked, index)

    def _ranked(self, index: ClipIndex, features: Kept, query: Query, near: Found, depth: int) -> Ranked:
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


def run_in(name: str, queries: Sequence[Query], ranked: list[Ranked], index: ClipIndex) -> Run:
    """Make a run that names only the videos that are in it."""
    videos = np.unique(np.concatenate([np.empty(0, np.int64), *(each.video for each in ranked)]))
    renamed = (each._replace(video=np.searchsorted(videos, each.video)) for each in ranked)
    return run_of(name, queries, renamed, tuple(index.names(videos)))
