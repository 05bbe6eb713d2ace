"""Qrels made ready for the kernels: which moments take part, in which order, and which ids a run retrieved."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..formats.arrays import Bools, Ints
from ..formats.dicts import IdQrels, IdRun
from ..formats.tables import Qrels
from .matching import Spans, ranks


@dataclass(frozen=True)
class Plan:
    """What all measures of a family need together, so that one pass over the runs is enough.

    depth: the deepest cutoff; 0 if a measure has none.
    thresholds: all thresholds of IoU, ascending.
    """

    depth: int
    thresholds: tuple[float, ...]


@dataclass(frozen=True)
class Pick:
    """Which moments and predictions take part in a measure.

    lowest: the lowest grade that takes part.
    length: only moments longer than the first and at most as long as the second, in seconds; None for all.
    own_video: whether only predictions in a judged video of the query take part (TVRetrieval's SVMR).
    last: whether, of moments with the same grade, the last in the file comes first.
    """

    lowest: int
    length: tuple[float, float] | None = None
    own_video: bool = False
    last: bool = False


class Ground:
    """Qrels made ready once and used for many runs.

    source: the qrels; those given by moment id are read as spans only when a measure asks for spans.
    """

    def __init__(self, source: Qrels | IdQrels) -> None:
        self.source = source
        self.queries = source.queries

    @cached_property
    def qrels(self) -> Qrels:
        return self.source if isinstance(self.source, Qrels) else self.source.table

    @property
    def listing(self) -> Qrels | None:
        """The qrels, if they list the times of ids that do not say them."""
        return self.source if isinstance(self.source, Qrels) and self.source.times else None

    @cached_property
    def position(self) -> dict[str, int]:
        """Number of every query."""
        return {query: i for i, query in enumerate(self.queries)}

    @cached_property
    def spans(self) -> Spans:
        qrels = self.qrels
        return Spans(qrels.query_of_row(), qrels.video, qrels.start, qrels.end)

    @cached_property
    def videos(self) -> dict[str, None]:
        """The names of the videos with judged moments."""
        return dict.fromkeys(self.qrels.names)

    @cached_property
    def has_relevant(self) -> Bools:
        """Whether a query has a moment of grade 1 or more: bool of shape (queries,)."""
        return np.asarray(self.grades(1).max(axis=1) > 0, dtype=np.bool_)

    def doubts_about_lengths(self) -> Iterator[str]:
        """Yield a sentence about relevant moments of length 0, whose IoU with themselves is 0/0."""
        rows = self.moments(Pick(1))
        empty = rows[self.qrels.end[rows] <= self.qrels.start[rows]]
        if empty.size:
            query = self.queries[int(self.spans.unit[empty[0]])]
            first = f"the first: query {query!r}, {self.qrels.moments[int(empty[0])]}"
            yield (
                f"{empty.size:,} of {rows.size:,} relevant moments have length 0 ({first}); the IoU of any prediction "
                "with them counts 0"
            )

    @cached_property
    def known(self) -> "KnownMoments":
        """The judged moments, ready to be recognised by video and times."""
        return KnownMoments(self.spans, self.qrels.grades)

    def moments(self, pick: Pick) -> Ints:
        """Rows of the moments that take part: by query, then grade (highest first), then file order."""
        if pick not in self._chosen:
            self._chosen[pick] = self._choose(pick)
        return self._chosen[pick]

    @cached_property
    def _chosen(self) -> dict[Pick, Ints]:
        return {}

    def _choose(self, pick: Pick) -> Ints:
        row = np.arange(self.qrels.grades.size)
        rows = np.lexsort((-row if pick.last else row, -self.qrels.grades, self.spans.unit)).astype(np.int64)
        rows = rows[self.qrels.grades[rows] >= pick.lowest]
        if pick.length:
            length = self.qrels.end[rows] - self.qrels.start[rows]
            rows = rows[(length > pick.length[0]) & (length <= pick.length[1])]
        return rows

    def annotations(self, rows: Ints) -> tuple[Spans, Ints]:
        """All annotations of those moments, one moment after the other, and the position of each one's
        moment in `rows`.
        """
        spans, owner, further = self.spans.take(rows), np.arange(rows.size), self.qrels.further
        if further is None:
            return spans, owner
        position = np.full(self.qrels.start.size, -1)
        position[rows] = owner
        kept = position[further.row] >= 0
        at = position[further.row[kept]]
        owner = np.concatenate([owner, at])
        order = np.argsort(owner, kind="stable")
        start = np.concatenate([spans.start, further.start[kept]])
        end = np.concatenate([spans.end, further.end[kept]])
        owner = owner[order]
        return Spans(spans.unit[owner], spans.video[owner], start[order], end[order]), owner

    def grades(self, lowest: int) -> Ints:
        """Grades of every query's moments from `lowest` up, highest first, padded with 0: shape
        (queries, most moments).
        """
        if isinstance(self.source, IdQrels):
            unit, grade = self.source.columns()
        else:
            unit, grade = self.source.query_of_row(), self.source.grades
        rows = np.lexsort((-grade, unit))
        rows = rows[grade[rows] >= lowest]
        rank = ranks(unit[rows])
        table = np.zeros((len(self.queries), int(rank.max(initial=0)) + 1), dtype=np.int64)
        table[unit[rows], rank] = grade[rows]
        return table


def grades_of_ids(qrels: IdQrels, runs: Sequence[IdRun], numbers: Sequence[Ints], depth: int) -> Ints:
    """Grade at each rank, 0 for a moment that nobody judged.

    numbers: for each run the number in the qrels of each of its queries, -1 for one that nobody judged.
    depth: number of ranks; 0 for all.
    Returns int64 of shape (runs × queries, longest list).
    """
    units, grades = [], []
    judged = list(qrels.grades.values())
    for r, (run, number) in enumerate(zip(runs, numbers, strict=True)):
        sizes, ids = run.ranked(depth)
        units.append(np.repeat(np.where(number < 0, -1, number + r * len(judged)), sizes))
        low = 0
        for query, size in zip(number.tolist(), sizes.tolist(), strict=True):
            held = judged[query] if query >= 0 else {}
            grades += [held.get(moment, 0) for moment in ids[low : low + size]]
            low += size
    unit, grade = np.concatenate(units), np.array(grades, dtype=np.int64)
    unit, grade = unit[unit >= 0], grade[unit >= 0]
    return _table(unit, ranks(unit), grade, len(runs) * len(judged))


class KnownMoments:
    """Judged moments, ready to be recognised: two moments are the same if query, video, start and end, in whole
    milliseconds, are.

    moments, grades: spans whose units are queries, and their grades: shape (moments,). Of equal moments the first
    counts.
    """

    def __init__(self, moments: Spans, grades: Ints) -> None:
        self._videos, video = np.unique(_pair(moments.unit, moments.video), return_inverse=True)
        self._times, times = np.unique(_times(moments), return_inverse=True)
        self._both, first = np.unique(video * self._times.size + times, return_index=True)
        self._grades = grades[first]

    def has_any(self, predictions: Spans, queries: int) -> bool:
        """Whether one of the predictions is a judged moment; units are run × queries + query."""
        return bool((self._moments(predictions, queries) >= 0).any())

    def _moments(self, predictions: Spans, queries: int) -> Ints:
        """Number of the judged moment that each prediction is, −1 for none: int64 of shape (predictions,)."""
        video = _position(self._videos, _pair(predictions.unit % queries, predictions.video))
        times = _position(self._times, _times(predictions))
        both = np.where((video < 0) | (times < 0), -1, video * self._times.size + times)
        return _position(self._both, both)

    def grades_of(self, predictions: Spans, rank: Ints, queries: int, units: int) -> Ints:
        """Grade at each rank, 0 for a moment that nobody judged or that the same list held before.

        predictions, rank: spans in the order of their ranks, and their ranks from 0: shape (predictions,).
        queries, units: number of queries, and of units: unit = run × queries + query.
        Returns int64 of shape (units, longest list).
        """
        moment = self._moments(predictions, queries)
        rows = np.flatnonzero(moment >= 0)
        retrieved = predictions.unit[rows] * self._both.size + moment[rows]
        rows = rows[np.unique(retrieved, return_index=True)[1]]  # the first of each moment in a list
        grade = np.zeros(rank.size, dtype=np.int64)
        grade[rows] = self._grades[moment[rows]]
        return _table(predictions.unit, rank, grade, units)


def _times(spans: Spans) -> Ints:
    """Start and end in milliseconds as one number."""
    start, end = (np.clip(np.rint(times * 1000), -(2**31), 2**31 - 1) for times in (spans.start, spans.end))
    return _pair(start.astype(np.int64), end.astype(np.int64))


def _pair(first: Ints, second: Ints) -> Ints:
    """Two numbers of 32 bits as one of 64."""
    pair: Ints = (first << 32) | (second & 0xFFFFFFFF)
    return pair


def _position(values: Ints, numbers: Ints) -> Ints:
    """Position of each number among sorted values, −1 for one that is not there."""
    if values.size == 0:
        return np.full(numbers.size, -1)
    position = np.minimum(np.searchsorted(values, numbers), values.size - 1)
    return np.where(values[position] == numbers, position, -1)


def _table(unit: Ints, rank: Ints, grade: Ints, units: int) -> Ints:
    table = np.zeros((units, int(rank.max(initial=0)) + 1), dtype=np.int64)
    table[unit, rank] = grade
    return table
