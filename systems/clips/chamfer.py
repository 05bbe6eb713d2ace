"""Costs of many moments at once: each is a range of rows, and the distances of rows to words are computed once.

A moment's mean is a difference of running sums, and its smallest distance to a word the smaller one of two blocks that
cover it, so that the time does not depend on how long moments are or how many of them share a clip.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..data import Floats, Ints, Rows


def squared_distances(rows: Rows, words: Rows) -> Rows:
    """Return the squared Euclidean distance of each row to each word, rounded as float32 is: shape (rows, words).

    rows: shape (rows, d), float32.
    words: shape (words, d), float32.
    """
    distances = rows @ words.T
    distances *= -2
    distances += np.einsum("ij,ij->i", rows, rows)[:, None]
    distances += np.einsum("ij,ij->i", words, words)
    return np.maximum(distances, 0, out=distances)


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
    return mean(distances.min(axis=1), first, stop) + _least(distances, first, stop).mean(axis=1, dtype=np.float64)


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


@dataclass(frozen=True, eq=False)
class Sets:
    """Sets of vectors, such as moments' clips; those of one set stand together.

    vectors: shape (members of all sets, d).
    sizes: members of each set, which may be 0: shape (sets,).
    """

    vectors: Rows
    sizes: Ints

    @cached_property
    def lengths(self) -> Rows:
        """The squared length of each vector."""
        return np.asarray(np.einsum("nd,nd->n", self.vectors, self.vectors), np.float32)

    @cached_property
    def filled(self) -> Ints:
        """The numbers of the sets that have members."""
        return np.flatnonzero(self.sizes).astype(np.int64)

    @cached_property
    def starts(self) -> Ints:
        """Where the members of each set in `filled` begin."""
        sizes = self.sizes[self.filled]
        return (np.cumsum(sizes) - sizes).astype(np.int64)


def chamfer_to_words(sets: Sets, words: Rows) -> Floats:
    """Return the symmetric squared Chamfer distance of each set from the words.

    An empty set has the mean of the others, which makes it neither better nor worse than what is not known of it.

    words: shape (words, d).
    """
    costs = np.zeros(len(sets.sizes))
    if not len(sets.filled) or not len(words):
        return costs
    distances = sets.vectors @ (-2 * words.T)
    distances += sets.lengths[:, None]
    distances += np.einsum("nd,nd->n", words, words)
    np.maximum(distances, 0, out=distances)
    to_words = np.add.reduceat(distances.min(1), sets.starts) / sets.sizes[sets.filled]
    to_members = np.minimum.reduceat(distances, sets.starts, axis=0).mean(1)
    costs[sets.filled] = found = to_words + to_members
    costs[sets.sizes == 0] = found.mean(dtype=np.float64)
    return costs
