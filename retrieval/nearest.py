"""Exact search for the captions most similar to each query, in bounded memory, little slower than a matrix product."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Indices = NDArray[np.intp]
Cosines = NDArray[np.float64]

BLOCK = 96 * 2**20  # bytes of similarities that are in memory at a time
GROUP = (
    32  # captions in a group, whose largest similarity is examined first; a group has every n/32th caption
)
# For vectors of length 1, products in float32 differ from those in float64 by less than this.
ROUNDING = np.float32(1e-5)


@dataclass(frozen=True)
class Nearest:
    """The k nearest of n captions for each of m queries, best first.

    Attributes
    ----------
    indices : array of shape (m, k)
        Indices into the captions.
    similarities : array of shape (m, k), float64
        Cosines in [-1, 1].
    """

    indices: Indices
    similarities: NDArray[np.float64]


def nearest(
    queries: Floats,
    captions: Floats,
    k: int,
    report: Callable[[int, int], None] = lambda done, total: None,
) -> Nearest:
    """Return the k captions with the highest cosine for each query. Captions with equal cosines keep their order.

    The product in float32 only chooses the captions that can be among the k. Their cosines are computed again in
    float64, so that neither the size of blocks nor the number of threads changes the result.

    Parameters
    ----------
    queries : array of shape (m, d), float32
        Vectors of length 1.
    captions : array of shape (n, d), float32
        Vectors of length 1.
    k
        The number of captions for each query; if there are fewer, all n.
    report
        A function that is called with the number of queries that are done and the number of all.

    Examples
    --------
    >>> import numpy as np
    >>> axes = np.eye(3, dtype=np.float32)
    >>> nearest(axes[:1], axes, 2).indices.tolist()
    [[0, 1]]
    """
    m, n = len(queries), len(captions)
    k = min(k, n)

    indices, similarities = np.empty((m, k), np.intp), np.empty((m, k))
    width = n + -n % GROUP  # a whole number of groups; the columns beyond the captions are never chosen
    rows = max(1, BLOCK // max(4 * width, 1))
    products = np.empty((min(rows, m), width), np.float32)
    products[:, n:] = -np.inf

    for start in range(0, m if k else 0, rows):
        block = slice(start, start + rows)
        product = products[: len(queries[block])]
        np.matmul(queries[block], captions.T, out=product[:, :n])
        indices[block], similarities[block] = _best(queries[block], captions, product, k)
        report(min(start + rows, m), m)
    return Nearest(indices, similarities)


def _best(queries: Floats, captions: Floats, product: Floats, k: int) -> tuple[Indices, Cosines]:
    """Return the indices and cosines of the k nearest of a few queries, from their products with all captions."""
    row, hopeful = _hopeful(product, len(captions), k)
    cosines = np.empty(len(hopeful))
    first = np.searchsorted(row, np.arange(len(queries) + 1))
    for query, start, stop in zip(queries.astype(np.float64), first, first[1:], strict=False):
        # Summed caption by caption, because equal captions must get equal cosines, and a matrix product may differ.
        cosines[start:stop] = (captions.take(hopeful[start:stop], axis=0) * query).sum(axis=1)
    cosines = cosines.clip(-1.0, 1.0)  # before the comparison, so that values that print as equal are ties
    ranked = np.lexsort((hopeful, -cosines, row))
    best = ranked[first[:-1, None] + np.arange(k)]
    return hopeful[best], cosines[best]


def _hopeful(product: Floats, n: int, k: int) -> tuple[Indices, Indices]:
    """Return the rows, in ascending order, and the columns of all values that can be among the k largest of their row.

    The k-th largest maximum of a group bounds the k-th largest value from below. Only groups that reach this bound
    are examined.
    """
    groups = product.reshape(len(product), GROUP, -1)
    tops = groups.max(axis=1)
    bounds = tops if tops.shape[1] >= k else product[:, :n]
    floor = np.partition(bounds, -k, axis=1)[:, -k] - ROUNDING
    row, group = np.nonzero(tops >= floor[:, None])
    pair, member = np.nonzero(groups[row, :, group] >= floor[row, None])
    return row[pair], member * tops.shape[1] + group[pair]
