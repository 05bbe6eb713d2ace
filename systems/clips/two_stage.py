"""STAL in two stages (Section 3.1): clips by an index of STAL (clips), the moments around them ranked by STAL (TEF)."""

from __future__ import annotations

from abc import abstractmethod
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
from ..interface import Progress, Report, System, part_of, silent
from ..library import Run
from ..neural.stal import Stal, StalClips
from ..options import Contrastive, Indexed, TwoStage
from ..ranking import Ranked, must_ask, rank, run_of
from ..storage import read_arrays, write, write_arrays
from ..windows import Scales, Windows, clips_in, slide
from .building import plan_index, write_shard
from .codes import HELD_OUT, wanted_sample
from .index import ClipIndex, Found, check

CLIPS, FEATURES, OBJECTS = "clips", "features", "objects"  # folders
VIDEOS_AT_A_TIME = 1000
KNOWN = "queries.npz"  # vectors of queries that training knew, by which the index measures its recall
NAMES, COLUMNS = "names.npz", ("clip", "name", "box")
Cost = Callable[[Windows], Floats]
Embed = Callable[[Videos], Videos]


def to_learn_from(videos: Videos, seed: int) -> Videos:
    """Return videos that are drawn, with as many clips as codes should learn from."""
    drawn = np.random.default_rng(seed).permutation(len(videos))
    enough = np.searchsorted(np.cumsum(videos.counts[drawn]), wanted_sample(len(videos.clips))) + 1
    return videos.some(np.sort(drawn[:enough]))


def in_parts(videos: Videos, first: int, stop: int) -> Iterator[Videos]:
    """Yield the videos first to stop - 1, some at a time, without their objects."""
    for start in range(first, stop, VIDEOS_AT_A_TIME):
        yield videos.part(start, min(start + VIDEOS_AT_A_TIME, stop))


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
        self._index, self._objects = ClipIndex(folder), None
        if (objects / NAMES).exists():
            stored = read_arrays(objects / NAMES)
            columns = {column: _mapped(objects / f"{column}.npy") for column in COLUMNS}
            names = tuple(stored["names"].tolist())
            self._objects = Objects(**columns, names=names, vectors=stored.get("vectors"))

    def some(self, numbers: Ints) -> Videos:
        """Return some videos of the collection, in ascending order of their numbers."""
        clips, begins = self._index.clips_of(numbers)
        return Videos(
            names=tuple(self._index.names(numbers)),
            duration=self._index.durations(numbers),
            offsets=begins,
            clips=self._index.rows(clips),
            clip_seconds=self._index.plan.clip_seconds,
            objects=self._objects and self._objects.of(clips),
        )


def _mapped(file: Path) -> NDArray[Any]:
    try:
        return np.asarray(np.load(file, mmap_mode="r"))
    except (OSError, ValueError, EOFError) as fault:
        raise SystemsError(f"{file}: cannot be read ({fault}); index the collection again") from fault


def rank_around(
    index: ClipIndex, found: Found, scales: Scales, cost: Cost, depth: int = 100, nms: float = 1.0
) -> Ranked:
    """Rank all moments that contain at least one of the clips that were found for a query; see `rank`.

    cost: returns the costs of moments, of which the lowest is the best; `Windows.video` are numbers in the index.
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


class AroundClips(System):
    """A system that searches an index of clips, and ranks the moments around the clips that are nearest to a query."""

    options: Indexed

    @property
    def scales(self) -> Scales:
        """The lengths of the moments."""
        return self.options.scales

    @abstractmethod
    def query_vectors(self, queries: Sequence[Query], dimensions: int) -> Rows:
        """Return the vectors that the clips' are compared with: shape (queries, dimensions)."""

    @abstractmethod
    def costs(self, index: ClipIndex) -> Callable[[Query, Rows], Cost]:
        """Return what makes the cost of moments for a query and its vector."""

    def plan_clips(self, videos: Videos, width: int, embed: Embed, shards: int = 1, known: Rows | None = None) -> None:
        """Begin the index of clips, in place of the one that was there. See `plan_index`.

        width, embed: of the vectors by which clips are found, and what replaces features by them.
        known: vectors of queries, by which recall is measured.
        """
        options, sample = self.options, np.empty((0, width), np.float32)
        if options.kind != "flat":
            sample = embed(to_learn_from(videos, options.seed)).clips
        plan_index(
            *(self.folder / CLIPS, options.kind, videos.clip_seconds, sample, len(videos.clips), shards),
            queries=known,
            nearest=options.clips,
            target=options.recall,
        )

    def finds(self) -> str:
        return ClipIndex(self.folder / CLIPS).finds

    def search(self, queries: Sequence[Query], depth: int = 100, report: Report = silent) -> Run:
        must_ask(queries)
        index = ClipIndex(self.folder / CLIPS)
        cost_for, vectors = self.costs(index), self.query_vectors(queries, index.plan.dimensions)
        ranked = []
        for query, vector, near in zip(queries, vectors, index.search(vectors, self.options.clips), strict=True):
            cost = cost_for(query, vector)
            ranked.append(rank_around(index, near, self.scales, cost, depth, self.options.nms))
            report(Progress(len(ranked), len(queries), "searching"))
        videos = np.unique(np.concatenate([each.video for each in ranked]))  # the run names no others
        renamed = (each._replace(video=np.searchsorted(videos, each.video)) for each in ranked)
        return run_of(self.name, queries, renamed, tuple(index.names(videos)))


class TwoStages(AroundClips):
    """Both networks, and the index between them. Of a large collection jobs call `plan` once, then `index_shard`."""

    name = "two_stage"
    options: TwoStage

    def __init__(self, options: TwoStage, folder: Path) -> None:
        super().__init__(options, folder)
        both = Contrastive(**{field.name: getattr(options, field.name) for field in fields(Contrastive)})
        self.first, self.second = StalClips(both, folder / "first"), Stal(both, folder / "second")

    def train(self, data: Data, report: Report = silent) -> None:
        self.keep_card()
        steps = self.options.iterations
        self.first.train(data, part_of(report, 0, steps, 2 * steps, "first stage: "))
        self.second.train(data, part_of(report, steps, steps, 2 * steps, "second stage: "))
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
        shards, known = self.options.shards, self.folder / KNOWN
        queries = read_arrays(known)["vectors"] if known.exists() else None
        self.plan_clips(videos, self.options.embedding, self._embedded, shards, queries)
        none = videos.clips[:0]
        plan_index(self.folder / FEATURES, "flat", videos.clip_seconds, none, len(videos.clips), shards)
        keep_objects(self.folder / OBJECTS, videos.objects)

    def index_shard(self, videos: Videos, number: int) -> None:
        """Write one shard of the index that was planned for these videos; the first one has the number 1."""
        first, stop = (len(videos) * part // self.options.shards for part in (number - 1, number))
        write_shard(self.folder / CLIPS, number, map(self._embedded, in_parts(videos, first, stop)))
        write_shard(self.folder / FEATURES, number, in_parts(videos, first, stop))

    def _embedded(self, videos: Videos) -> Videos:
        none = np.empty((0, self.options.embedding), np.float32)
        return replace(videos, clips=np.concatenate([none, *self.first.clip_vectors(videos)]))

    def check_index(self) -> None:
        for part in (CLIPS, FEATURES):
            check(self.folder / part)
        Kept(self.folder / FEATURES, self.folder / OBJECTS)
        if not ClipIndex(self.folder / CLIPS).has_videos_of(ClipIndex(self.folder / FEATURES)):
            raise SystemsError(
                f"{self.folder}: {CLIPS} and {FEATURES} are of different videos; index the collection again"
            )

    def query_vectors(self, queries: Sequence[Query], dimensions: int) -> Rows:
        return self.first.query_vectors(queries)

    def costs(self, index: ClipIndex) -> Callable[[Query, Rows], Cost]:
        features = Kept(self.folder / FEATURES, self.folder / OBJECTS)

        def cost(query: Query, windows: Windows) -> Floats:
            numbers, place = np.unique(windows.video, return_inverse=True)
            videos = features.some(numbers)
            here = replace(windows, video=place.astype(np.int64))
            moments = Index(videos.names, videos.duration, here, self.second.represent(videos, here))
            return -next(iter(self.second.scores(moments, [query]))).astype(np.float64)

        return lambda query, vector: partial(cost, query)
