"""The pairs of a query and a moment that a step learns from, and which videos of the step answer which query."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..data import Data, Ints, Query
from ..neural.samples import answers, rows_of_step
from ..windows import counts_in
from .options import Streams

Mask = NDArray[np.bool_]


class Batch(NamedTuple):
    """The pairs of a step.

    Attributes
    ----------
    query
        Numbers of the pairs' queries: shape (B,).
    video, first, last
        The moments: the video's number, and the moment's first and last clip: shape (B,).
    positives
        The mask of positive pairs, shape (B, B); see `systems.streams.losses`.
    weights
        sim(q, m.c): shape (B,).
    """

    query: Ints
    video: Ints
    first: Tensor
    last: Tensor
    positives: Tensor
    weights: Tensor


class Pairs:
    """All pairs of a training set, whose queries are numbered in the order of their first examples."""

    def __init__(self, data: Data, options: Streams) -> None:
        self.videos, self.options = data.videos, options
        self.counts = counts_in(data.videos)
        self.moments = answers(data)
        numbers: dict[str, int] = {}
        rows = [numbers.setdefault(example.query.id, len(numbers)) for example in data.examples]
        self.query = np.array(rows, np.int64)
        by_id = {example.query.id: example.query for example in data.examples}
        self.queries: Sequence[Query] = list(by_id.values())
        self.weights = np.array([example.weight for example in data.examples], np.float32)
        self._known = np.unique(self.query * len(data.videos) + self.moments.video)

    def batch(self, step: int) -> Batch:
        """Return the pairs of the step of this number, which follow from it and the seed alone."""
        rows = rows_of_step(step, self.options.batch_size, len(self.query), self.options.seed)
        moments = self.moments.take(rows)
        return Batch(
            self.query[rows],
            moments.video,
            torch.from_numpy(moments.first),
            torch.from_numpy(moments.stop - 1),
            torch.from_numpy(self.answer(self.query[rows][:, None], moments.video[None])),
            torch.from_numpy(self.weights[rows]),
        )

    def answer(self, query: Ints, video: Ints) -> Mask:
        """Return which videos hold a moment that the training set gives the query, by broadcasting."""
        return np.isin(query * len(self.videos) + video, self._known)

    def queries_of(self, batch: Batch) -> list[Query]:
        """Return the queries of a step."""
        return [self.queries[number] for number in batch.query.tolist()]
