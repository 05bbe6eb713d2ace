"""The videos that CONQUER learns to tell from a query's own: some that the first stage ranks high, and no answers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from retrieval.systems.data import Ints
from retrieval.systems.errors import SystemsError
from retrieval.systems.ranking import best
from retrieval.systems.storing import read_arrays, write_arrays
from retrieval.systems.streams.options import Conquer
from retrieval.systems.streams.pairs import Batch, Pairs
from retrieval.systems.streams.reloclnet import Reloclnet
from retrieval.systems.streams.stored import Index, stored
from retrieval.systems.streams.two_streams import QUERIES_AT_A_TIME

POOL = "pool.npz"
NOBODY = -1


class Others:
    """The highest videos of the first stage for each query of a training set, without those that answer it.

    Parameters
    ----------
    pool
        Numbers of videos, `NOBODY` where there are no more: shape (queries, size of the pool).
    """

    def __init__(self, pool: Ints, options: Conquer) -> None:
        self.pool, self.options = pool, options

    @classmethod
    def of(cls, first: Reloclnet, pairs: Pairs, options: Conquer, folder: Path) -> Others:
        """Search with the first stage, or take what an earlier start of the same training found and stored."""
        file = folder / POOL
        if not file.exists():
            first.index(pairs.videos)
            pool = np.concatenate(list(_pools(first, stored(first.folder), pairs, options.pool)))
            write_arrays(file, {"pool": pool})
        pool = read_arrays(file)["pool"]
        if pool.shape[0] != len(pairs.queries):
            raise SystemsError(
                f"{file}: has {pool.shape[0]} queries, and the training set {len(pairs.queries)}; expected the "
                "training set with which the training began"
            )
        return cls(pool, options)

    def draw(self, batch: Batch, step: int) -> tuple[Ints, NDArray[np.bool_]]:
        """Draw other videos for each pair of a step, each once, and say which there are: shape (B, others) both.

        They follow from the seed and the step's number. Where a pool has too few, there are fewer.
        """
        pool = self.pool[batch.query]
        draws = np.random.default_rng([self.options.seed, 3, step]).random(pool.shape)
        order = np.argsort(np.where(pool == NOBODY, -1, draws), axis=1)[:, ::-1][:, : self.options.others]
        numbers = np.take_along_axis(pool, order, 1)
        return np.maximum(numbers, 0), numbers != NOBODY


def _pools(first: Reloclnet, index: Index, pairs: Pairs, size: int) -> Iterator[Ints]:
    """Yield the pools of some queries at a time."""
    videos = np.arange(len(pairs.videos))
    for start in range(0, len(pairs.queries), QUERIES_AT_A_TIME):
        numbers = np.arange(start, min(start + QUERIES_AT_A_TIME, len(pairs.queries)))
        scores = first.of_videos(index, first.ask([pairs.queries[number] for number in numbers.tolist()]))
        scores[pairs.answer(numbers[:, None], videos[None])] = -np.inf
        pool = np.full((len(numbers), size), NOBODY, np.int64)
        for row, each in enumerate(scores):
            found = best(each, size)
            found = found[np.isfinite(each[found])]
            pool[row, : len(found)] = found
        yield pool
