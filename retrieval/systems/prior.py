"""The moment prior: how often training moments start and end at a window's place in its video (STAL, Section 4.2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

import numpy as np

from retrieval.systems.data import Data, Floats, Ints, Query, Rows, Videos
from retrieval.systems.errors import SystemsError
from retrieval.systems.exhaustive import Arrays, Exhaustive, Index
from retrieval.systems.interface import Progress, Report, silent
from retrieval.systems.options import Prior as PriorOptions
from retrieval.systems.storing import read_arrays, write_arrays
from retrieval.systems.windows import Windows, endpoints

TABLE = "prior.npz"


class Prior(Exhaustive):
    """A histogram of the normalised starts and ends of training moments; windows in equal bins are drawn by lot."""

    name = "prior"

    def train(self, data: Data, report: Report = silent) -> None:
        if not data.examples:
            raise SystemsError("there are no examples; expected at least one to learn from")
        self.keep_card()
        video = [data.videos.number[example.video] for example in data.examples]
        start = np.array([example.start for example in data.examples])
        end = np.array([example.end for example in data.examples])
        bins = cast(PriorOptions, self.options).bins
        table = np.zeros((bins, bins), np.int64)
        np.add.at(table, self._bins(endpoints(start, end, data.videos.duration[video]), bins), 1)
        write_arrays(self.folder / TABLE, {"table": table})
        report(Progress(1, 1, f"{len(video):,} moments are counted"))

    def represent(self, videos: Videos, windows: Windows, report: Report = silent) -> Arrays:
        if not (self.folder / TABLE).exists():
            raise SystemsError(f"{self.folder}: nothing was learned; train the system first")
        table = read_arrays(self.folder / TABLE)["table"]
        places = endpoints(windows.start, windows.end, videos.duration[windows.video])
        return {"count": table[self._bins(places, len(table))]}

    def scores(self, index: Index, queries: Sequence[Query]) -> Iterator[Rows | Floats]:
        count = index.arrays["count"]
        for number in range(len(queries)):
            lots = np.random.default_rng([self.options.seed, number]).random(len(count))
            yield count + lots

    def _bins(self, places: Rows, bins: int) -> tuple[Ints, Ints]:
        """Return the bins of starts and ends, which are shares of a video's duration."""
        numbers = np.clip((places * bins).astype(np.int64), 0, bins - 1)
        return numbers[:, 0], numbers[:, 1]
