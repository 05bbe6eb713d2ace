"""The captions most similar to each query: exact, in bounded memory, at little more than the matrix product."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Indices = NDArray[np.intp]
Cosines = NDArray[np.float64]

BLOCK = 96 * 2**20  # bytes of similarities in memory at a time
GROUP = 32  # captions whose largest similarity is looked at first; a group takes every n/32th caption
# Products in float32 differ from those in float64 by less than this, for vectors of length 1.
ROUNDING = np.float32(1e-5)


@dataclass(frozen=True)
class Nearest:
    """For each of m queries the k nearest of n captions, best first.

    indices : (m, k), into the captions
    similarities : (m, k), cosines in float64, in [-1, 1]
    """

    indices: Indices
    similarities: NDArray[np.float64]


def nearest(
    queries: Floats,
    captions: Floats,
    k: int,
    order: Indices | None = None,
    report: Callable[[int, int], None] = lambda done, total: None,
) -> Nearest:
    """The k captions with the highest cosine for each query; equal cosines come in the order given.

    The product in float32 only chooses who can be among the k; those are compared again in float64, so that
    neither blocks nor threads change the result.

    Parameters
    ----------
    queries : (m, d) vectors of length 1
    captions : (n, d) vectors of length 1
    k : how many; all n when there are fewer
    order : (n,) distinct ranks that break ties, smallest first; by default the captions' own order
    report : called with the queries done and their number

    Examples
    --------
    >>> import numpy as np
    >>> axes = np.eye(3, dtype=np.float32)
    >>> nearest(axes[:1], axes, 2).indices.tolist()
    [[0, 1]]
    >>> nearest(axes[:1], axes, 2, order=np.array([0, 2, 1])).indices.tolist()
    [[0, 2]]
    """
    m, n = len(queries), len(captions)
    k = min(k, n)
    order = np.arange(n) if order is None else order
    indices, similarities = np.empty((m, k), np.intp), np.empty((m, k))
    width = n + -n % GROUP  # a whole number of groups; what lies behind the captions is never chosen
    rows = max(1, BLOCK // max(4 * width, 1))
    products = np.empty((min(rows, m), width), np.float32)
    products[:, n:] = -np.inf

    for start in range(0, m if k else 0, rows):
        block = slice(start, start + rows)
        product = products[: len(queries[block])]
        np.matmul(queries[block], captions.T, out=product[:, :n])
        indices[block], similarities[block] = _best(queries[block], captions, product, order, k)
        report(min(start + rows, m), m)
    return Nearest(indices, similarities)


def _best(
    queries: Floats, captions: Floats, product: Floats, order: Indices, k: int
) -> tuple[Indices, Cosines]:
    """Indices and cosines of the k nearest of a few queries, from their products with all captions."""
    row, hopeful = _hopeful(product, len(captions), k)
    cosines = np.empty(len(hopeful))
    first = np.searchsorted(row, np.arange(len(queries) + 1))
    for query, start, stop in zip(queries.astype(np.float64), first, first[1:], strict=False):
        # Summed caption by caption: equal ones must get equal cosines, which a matrix product does not promise.
        cosines[start:stop] = (captions.take(hopeful[start:stop], axis=0) * query).sum(axis=1)
    cosines = cosines.clip(-1.0, 1.0)  # before they are compared: what reads as equal is a tie
    ranked = np.lexsort((order[hopeful], -cosines, row))
    best = ranked[first[:-1, None] + np.arange(k)]
    return hopeful[best], cosines[best]


def _hopeful(product: Floats, n: int, k: int) -> tuple[Indices, Indices]:
    """Rows, ascending, and columns of all that can be among the k largest of their row.

    The k-th largest of the groups' maxima bounds the k-th largest value from below; only groups that reach that
    floor are looked into.
    """
    groups = product.reshape(len(product), GROUP, -1)
    tops = groups.max(axis=1)
    bounds = tops if tops.shape[1] >= k else product[:, :n]
    floor = np.partition(bounds, -k, axis=1)[:, -k] - ROUNDING
    row, group = np.nonzero(tops >= floor[:, None])
    pair, member = np.nonzero(groups[row, :, group] >= floor[row, None])
    return row[pair], member * tops.shape[1] + group[pair]
