"""Search without training: clips and queries are vectors of one model, and a moment stands out of its surround."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from ..data import Data, Floats, Ints, Query, Rows, Videos
from ..encoders import unit
from ..errors import SystemsError
from ..interface import Progress, Report, silent
from ..options import ZeroShot as ZeroShotOptions
from ..storage import read_arrays, read_json, write_arrays, write_json
from ..windows import MOST_CLIPS, Scales, Windows
from .building import write_shard
from .index import ClipIndex, check
from .two_stage import CLIPS, AroundClips, Cost, in_parts

LENGTHS, MEAN = "lengths.json", "mean.npz"
FEWEST, MOST = 0.05, 0.95  # of the moments are longer than the shortest window, and shorter than the longest


class ZeroShot(AroundClips):
    """The clips whose directions are nearest to a query's, and around them the windows that stand out.

    A window's score, weighed by the option `length_power`, is the mean cosine of its clips and the query, minus that of
    its surround; see `standing_out`. A query's vector is the mean of its `tokens`. Only lengths of moments are learned.
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
        sums = np.zeros(videos.clips.shape[1])

        def embedded(part: Videos) -> Videos:
            return replace(part, clips=unit(part.clips))

        def parts() -> Iterator[Videos]:
            for part in map(embedded, in_parts(videos, 0, len(videos))):
                sums[:] += part.clips.sum(0, dtype=np.float64)
                report(Progress(0, 1, "indexing clips"))
                yield part

        self.plan_clips(videos, len(sums), embedded)
        write_shard(self.folder / CLIPS, 1, parts())
        write_arrays(self.folder / MEAN, {"mean": sums / len(videos.clips)})
        report(Progress(1, 1, f"{len(videos.clips):,} clips are indexed"))

    def check_index(self) -> None:
        check(self.folder / CLIPS)
        ClipIndex(self.folder / CLIPS)
        self._mean()

    def query_vectors(self, queries: Sequence[Query], dimensions: int) -> Rows:
        """Return vectors of length 1."""
        for query in queries:
            if query.tokens is None or query.tokens.ndim != 2 or query.tokens.shape[1:] != (dimensions,):
                found = "no vector" if query.tokens is None else f"vectors of shape {query.tokens.shape}"
                right = f"(1, {dimensions}), by the model that made the clips' features"
                raise SystemsError(f"query {query.id}: has {found}; expected {right}")
        return unit(np.stack([np.asarray(query.tokens, np.float64).mean(0) for query in queries]))

    def _mean(self) -> Floats:
        if not (self.folder / MEAN).exists():
            raise SystemsError(f"{self.folder}: there is no index; index a collection first")
        return read_arrays(self.folder / MEAN)["mean"]

    def costs(self, index: ClipIndex) -> Callable[[Query, Rows], Cost]:
        mean = self._mean()

        def cost(vector: Floats, windows: Windows) -> Floats:
            numbers, place = np.unique(windows.video, return_inverse=True)
            clips, begins = index.clips_of(numbers)
            sums = np.concatenate([[0.0], np.cumsum(index.rows(clips) @ vector)])
            difference = standing_out(sums, begins[place], begins[place + 1], windows, float(mean @ vector))
            return -difference * (windows.stop - windows.first) ** self.options.length_power

        return lambda query, vector: partial(cost, vector.astype(np.float64))


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
