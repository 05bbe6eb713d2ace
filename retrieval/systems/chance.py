"""Chance: every candidate moment is as good as any other (STAL, Section 4.2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from retrieval.systems.data import Data, Floats, Query, Rows, Videos
from retrieval.systems.exhaustive import Arrays, Exhaustive, Index
from retrieval.systems.interface import Report, silent
from retrieval.systems.windows import Windows


class Chance(Exhaustive):
    """Scores drawn uniformly, by the seed and the number of the query."""

    name = "chance"

    def train(self, data: Data, report: Report = silent) -> None:
        self.keep_card()

    def represent(self, videos: Videos, windows: Windows, report: Report = silent) -> Arrays:
        return {}

    def scores(self, index: Index, queries: Sequence[Query]) -> Iterator[Rows | Floats]:
        for number in range(len(queries)):
            yield np.random.default_rng([self.options.seed, number]).random(len(index.windows))
