"""Search without training: clips and queries are vectors of one model, and a moment stands out of its surround."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from ..data import Data, Floats, Ints, Query, Rows, Videos
from ..encoders import unit
from ..errors import SystemsError
from ..interface import Progress, Report, System, silent
from ..library import Run
from ..options import ZeroShot as ZeroShotOptions
from ..ranking import Ranked, must_ask
from ..storage import read_arrays, read_json, write_arrays, write_json
from ..windows import MOST_CLIPS, Scales, Windows
from .building import plan_index, write_shard
from .index import ClipIndex, Found
from .layout import check
from .two_stage import CLIPS, in_parts, rank_around, run_in, to_learn_from

LENGTHS, MEAN = "lengths.json", "mean.npz"
FEWEST, MOST = 0.05, 0.95  # of the moments are longer than the shortest window, and shorter than the longest


class ZeroShot(System):
    """The clips whose directions are nearest to a query's, and around them the windows that stand out.

    A window's score is the mean cosine of its clips and the query, minus that of its surround: as many clips before it
    and behind it as it has, or, where it is its whole video, the mean clip of the collection. The option `length_power`
    weighs it by the window's length. A query's vector stands in its `tokens`; of several, the mean counts. Training is
    not needed; it learns how long moments are.
    """

    name = "zero_shot"
    options: ZeroShotOptions

    def train(self, data: Data, report: Report = silent) -> None:
        self.keep_card()
        if not data.examples:
            return
        clips = (data.columns.end - data.columns.start) / data.videos.clip_seconds
        ends = np.clip(np.round(np.quantile(clips, [FEWEST, MOST])), 1, MOST_CLIPS).astype(np.int64).tolist()
        write_json(self.folder / LENGTHS, {"shortest": ends[0], "longest": ends[1]})
        report(Progress(1, 1, f"{len(clips):,} moments are measured: windows of {ends[0]} to {ends[1]} clips"))

    @property
    def scales(self) -> Scales:
        """The lengths of windows: those of the moments that it learned from, or else those of its options."""
        if not (self.folder / LENGTHS).exists():
            return self.options.scales
        return Scales(**read_json(self.folder / LENGTHS), stride=self.options.stride)

    def index(self, videos: Videos, report: Report = silent) -> None:
        if not len(videos.clips):
            raise SystemsError("the videos have no clips; expected durations above 0")
        self.keep_card()
        sums, seconds, options = np.zeros(videos.clips.shape[1]), videos.clip_seconds, self.options
        sample = np.empty((0, len(sums)), np.float32)
        if options.kind != "flat":
            sample = unit(to_learn_from(videos, options.seed).clips)
        plan_index(
            self.folder / CLIPS,
            options.kind,
            seconds,
            sample,
            len(videos.clips),
            nearest=options.clips,
            target=options.recall,
        )

        def parts() -> Iterator[Videos]:
            for part in in_parts(videos, 0, len(videos)):
                rows = unit(part.clips)
                sums[:] += rows.sum(0, dtype=np.float64)
                report(Progress(0, 1, "indexing clips"))
                yield replace(part, clips=rows)

        write_shard(self.folder / CLIPS, 1, parts())
        write_arrays(self.folder / MEAN, {"mean": sums / len(videos.clips)})
        report(Progress(1, 1, f"{len(videos.clips):,} clips are indexed"))

    def check_index(self) -> None:
        check(self.folder / CLIPS)
        ClipIndex(self.folder / CLIPS)
        self._mean()

    def finds(self) -> str:
        return ClipIndex(self.folder / CLIPS).finds

    def search(self, queries: Sequence[Query], depth: int = 100, report: Report = silent) -> Run:
        must_ask(queries)
        index, mean = ClipIndex(self.folder / CLIPS), self._mean()
        vectors = _vectors(queries, index.plan.dimensions)
        found = index.search(vectors, self.options.clips)
        ranked = []
        for vector, near in zip(vectors, found, strict=True):
            ranked.append(self._ranked(index, near, vector.astype(np.float64), mean, depth))
            report(Progress(len(ranked), len(queries), "searching"))
        return run_in(self.name, queries, ranked, index)

    def _mean(self) -> Floats:
        if not (self.folder / MEAN).exists():
            raise SystemsError(f"{self.folder}: there is no index; index a collection first")
        return read_arrays(self.folder / MEAN)["mean"]

    def _ranked(self, index: ClipIndex, near: Found, vector: Floats, mean: Floats, depth: int) -> Ranked:
        def cost(windows: Windows) -> Floats:
            numbers, place = np.unique(windows.video, return_inverse=True)
            clips, begins = index.clips_of(numbers)
            sums = np.concatenate([[0.0], np.cumsum(index.rows(clips) @ vector)])
            difference = standing_out(sums, begins[place], begins[place + 1], windows, float(mean @ vector))
            return -difference * (windows.stop - windows.first) ** self.options.length_power

        return rank_around(index, near, self.scales, cost, depth, self.options.nms)


def standing_out(sums: Floats, begin: Ints, end: Ints, windows: Windows, elsewhere: float) -> Floats:
    """Return how much more similar windows are to a query than what surrounds them: shape (windows,).

    sums: of the similarities of the clips before each of all clips, and after the last: shape (clips + 1,).
    begin, end: where each window's video begins and ends among these: shape (windows,).
    elsewhere: the mean similarity of the collection, which surrounds a window that is its whole video.
    """
    first, stop = begin + windows.first, begin + windows.stop
    length = stop - first
    low, high = np.maximum(begin, first - length), np.minimum(end, stop + length)
    inside = sums[stop] - sums[first]
    around = high - low - length
    outside = np.where(around > 0, (sums[high] - sums[low] - inside) / np.maximum(around, 1), elsewhere)
    return np.asarray(inside / length - outside, np.float64)


def _vectors(queries: Sequence[Query], dimensions: int) -> Rows:
    """Return a vector of length 1 for each query: shape (queries, d)."""
    for query in queries:
        if query.tokens is None or query.tokens.ndim != 2 or query.tokens.shape[1:] != (dimensions,):
            found = "no vector" if query.tokens is None else f"vectors of shape {query.tokens.shape}"
            raise SystemsError(
                f"query {query.id}: has {found}; expected (1, {dimensions}), by the model that made the clips' features"
            )
    return unit(np.stack([np.asarray(query.tokens, np.float64).mean(0) for query in queries]))
