"""Which judged moments a run retrieved, by the moments' ids alone, without IoU."""

from collections.abc import Sequence

import numpy as np

from ..formats.arrays import Ints
from ..formats.by_id import IdQrels, IdRun
from .ground import ranks
from .matching import Spans


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


def grades_of_spans(
    moments: Spans, grades: Ints, predictions: Spans, rank: Ints, queries: int, units: int
) -> Ints:
    """Grade at each rank, where two moments are the same if video, start and end, in whole milliseconds, are.

    A judged moment counts once, where it is retrieved first.

    Parameters
    ----------
    moments, grades
        The judged moments, of shape (moments,).
    predictions, rank
        Spans of units, in the order of their ranks, and their ranks from 0: shape (predictions,).
    queries, units
        Number of queries, and of units.

    Returns
    -------
    int64 of shape (units, longest list).
    """
    times = (moments.start, predictions.start), (moments.end, predictions.end)
    stamps = [tuple(np.rint(seconds * 1000).astype(np.int64) for seconds in pair) for pair in times]
    columns = [(moments.unit, predictions.unit % queries), (moments.video, predictions.video), *stamps]
    moment, wanted = _codes(columns)
    rows = np.flatnonzero(wanted >= 0)
    retrieved = predictions.unit[rows] * moments.unit.size + wanted[rows]
    rows = rows[np.unique(retrieved, return_index=True)[1]]  # the first of each moment in a list
    grade = np.zeros(rank.size, dtype=np.int64)
    grade[rows] = grades[np.unique(moment, return_index=True)[1][wanted[rows]]]
    return _table(predictions.unit, rank, grade, units)


def _codes(columns: Sequence[tuple[Ints, ...]]) -> tuple[Ints, Ints]:
    """One number for each row of some columns of moments, and the same for predictions; −1 for a prediction
    that equals no moment.
    """
    moment = np.zeros(columns[0][0].size, dtype=np.int64)
    prediction = np.zeros(columns[0][1].size, dtype=np.int64)
    for known, asked in columns:
        values, code = np.unique(known, return_inverse=True)
        wanted = _position(values, asked)
        both = np.where((prediction < 0) | (wanted < 0), -1, prediction * values.size + wanted)
        dense, moment = np.unique(moment * values.size + code, return_inverse=True)
        prediction = _position(dense, both)
    return moment, prediction


def _position(values: Ints, asked: Ints) -> Ints:
    """Position of each number among sorted values, −1 for one that is not there."""
    if values.size == 0:
        return np.full(asked.size, -1)
    position = np.minimum(np.searchsorted(values, asked), values.size - 1)
    return np.where(values[position] == asked, position, -1)


def _table(unit: Ints, rank: Ints, grade: Ints, units: int) -> Ints:
    table = np.zeros((units, int(rank.max(initial=0)) + 1), dtype=np.int64)
    table[unit, rank] = grade
    return table
