"""Costs of many moments at once: each is a set of vectors, whose distances from a query's words are computed once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..data import Floats, Ints, Rows


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
