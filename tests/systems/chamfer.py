"""Costs of many moments at once: each is a range of rows, and the distances of rows to words are computed once.

A moment's mean is a difference of running sums, and its smallest distance to a word the smaller one of two blocks that
cover it, so that the time does not depend on how long moments are or how many of them share a clip.
"""

from __future__ import annotations

import numpy as np

from systems.clips.index import ClipIndex
from systems.clips.two_stage import Cost
from systems.data import Floats, Ints, Rows
from systems.windows import Windows


def chamfer_cost(index: ClipIndex, words: Rows) -> Cost:
    """Return the cost that compares the vectors of the index themselves with those of a query's words (Equation 2).

    words: shape (words, d), float32.
    """

    def cost(windows: Windows) -> Floats:
        videos, place = np.unique(windows.video, return_inverse=True)
        clips, begins = index.clips_of(videos)
        distances = squared_distances(index.rows(clips), words)
        return chamfer(distances, begins[place] + windows.first, begins[place] + windows.stop)

    return cost


def squared_distances(rows: Rows, words: Rows) -> Rows:
    """Return the squared Euclidean distance of each row to each word, rounded as float32 is: shape (rows, words).

    rows: shape (rows, d), float32.
    words: shape (words, d), float32.
    """
    distances = rows @ words.T
    distances *= -2
    distances += np.einsum("ij,ij->i", rows, rows)[:, None]
    distances += np.einsum("ij,ij->i", words, words)
    found: Rows = np.maximum(distances, 0, out=distances)
    return found


def chamfer(distances: Rows, first: Ints, stop: Ints) -> Floats:
    """Return the symmetric squared Chamfer distance of each moment to the query (STAL, Equation 2).

    It is the mean over the moment's rows of the distance to the nearest word, plus the mean over words of the
    distance to the moment's nearest row.

    distances: squared distances of rows to the query's words: shape (rows, words).
    first, stop: rows first to stop - 1 are those of the moment, at least one: shape (moments,).

    >>> distances = np.array([[0, 4], [1, 2]], np.float32)
    >>> chamfer(distances, np.array([0, 0]), np.array([1, 2])).tolist()
    [2.0, 1.5]
    """
    back: Floats = _least(distances, first, stop).mean(axis=1, dtype=np.float64)
    return mean(distances.min(axis=1), first, stop) + back


def mean(distances: Rows, first: Ints, stop: Ints) -> Floats:
    """Return the mean distance of each moment's rows (STAL, Equation 6, for a query of one vector).

    distances: shape (rows,).
    first, stop: as for `chamfer`.
    """
    sums = np.concatenate([[0.0], np.cumsum(distances, dtype=np.float64)])
    means: Floats = (sums[stop] - sums[first]) / (stop - first)
    return means


def _least(distances: Rows, first: Ints, stop: Ints) -> Rows:
    """Return the least of each moment's distances to each word: shape (moments, words). A table of level k holds the
    least of the 2^k rows from each row on. Two blocks of the largest power of two that fits cover a moment.
    """
    least = np.empty((len(first), distances.shape[1]), distances.dtype)
    levels = np.frexp((stop - first).astype(np.float64))[1] - 1
    table = distances
    for level in range(levels.max(initial=-1) + 1):
        block = 1 << level
        if level:
            table = np.minimum(table[: -block // 2], table[block // 2 :])
        here = np.flatnonzero(levels == level)
        least[here] = np.minimum(table[first[here]], table[stop[here] - block])
    return least
