"""Which judged moments a run retrieved, by the moments' ids alone, without IoU."""

from collections.abc import Sequence

import numpy as np

from ..formats.arrays import Ints
from ..formats.by_id import IdQrels, IdRun
from .matching import Spans, ranks


def grades_of_ids(qrels: IdQrels, runs: Sequence[IdRun], numbers: Sequence[Ints], depth: int) -> Ints:
    """Grade at each rank, 0 for a moment that nobody judged.

    Parameters
    ----------
    numbers
        For each run the number in the qrels of each of its queries, -1 for one that nobody judged.
    depth
        Number of ranks; 0 for all.

    Returns
    -------
    int64 of shape (runs × queries, longest list).
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

    Parameters
    ----------
    moments, grades
        Spans whose units are queries, and their grades: shape (moments,). Of equal moments the first counts.
    """

    def __init__(self, moments: Spans, grades: Ints) -> None:
        self._videos, video = np.unique(_pair(moments.unit, moments.video), return_inverse=True)
        self._times, times = np.unique(_times(moments), return_inverse=True)
        self._both, first = np.unique(video * self._times.size + times, return_index=True)
        self._grades = grades[first]

    def grades_of(self, predictions: Spans, rank: Ints, queries: int, units: int) -> Ints:
        """Grade at each rank, 0 for a moment that nobody judged or that the same list held before.

        Parameters
        ----------
        predictions, rank
            Spans in the order of their ranks, and their ranks from 0: shape (predictions,).
        queries, units
            Number of queries, and of units: unit = run × queries + query.

        Returns
        -------
        int64 of shape (units, longest list).
        """
        video = _position(self._videos, _pair(predictions.unit % queries, predictions.video))
        times = _position(self._times, _times(predictions))
        both = np.where((video < 0) | (times < 0), -1, video * self._times.size + times)
        moment = _position(self._both, both)
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
