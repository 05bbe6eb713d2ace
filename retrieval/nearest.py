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
# Captions in a group, whose largest similarity is examined first; a group has every n/32th caption.
GROUP = 32
SPARE = 8  # captions that are looked at beyond k, because some have labels that are there already
# For vectors of length 1, products in float32 differ from those in float64 by less than this.
ROUNDING = np.float32(1e-5)


@dataclass(frozen=True)
class Nearest:
    """The k nearest of n captions for each of m queries, best first.

    indices: array of shape (m, k): indices into the captions.
    similarities: array of shape (m, k), float64: cosines in [-1, 1].
    """

    indices: Indices
    similarities: NDArray[np.float64]


def nearest(
    queries: Floats, captions: Floats, k: int, report: Callable[[int, int], None] = lambda done, total: None
) -> Nearest:
    """Return the k captions with the highest cosine for each query. Captions with equal cosines keep their order.

    The product in float32 only chooses the captions that can be among the k. Their cosines are computed again in
    float64, so that neither the size of blocks nor the number of threads changes the result.

    queries: array of shape (m, d), float32: vectors of length 1.
    captions: array of shape (n, d), float32: vectors of length 1.
    k: the number of captions for each query; if there are fewer, all n.
    report: a function that is called with the number of queries that are done and the number of all.

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


def merged(one: Nearest, other: Nearest, labels: Indices, k: int) -> Nearest:
    """Return the k nearest of two answers to the same queries, as `nearest_distinct` finds them among all captions.

    Both point into one list of captions, for which the labels are.

    >>> import numpy as np
    >>> one = Nearest(np.array([[0, 2]]), np.array([[0.9, 0.7]]))
    >>> other = Nearest(np.array([[1, 3]]), np.array([[0.8, 0.7]]))
    >>> merged(one, other, np.array([5, 5, 6, 7]), 2).indices.tolist()
    [[0, 2]]
    """
    indices = np.hstack([one.indices, other.indices])
    similarities = np.hstack([one.similarities, other.similarities])
    order = np.lexsort((indices, -similarities), axis=-1)
    ranked = Nearest(np.take_along_axis(indices, order, 1), np.take_along_axis(similarities, order, 1))
    is_first = _first_of_label(labels[ranked.indices])
    return _of_places(ranked, is_first, min(k, int(is_first.sum(axis=1).min(initial=k))))


def nearest_distinct(queries: Floats, captions: Floats, labels: Indices, k: int) -> Nearest:
    """Return for each query the k nearest captions of which no two have the same label: of equal labels, the nearest.

    As `nearest`, with one more parameter.

    labels: array of shape (n,), integers: what each caption stands for, such as the number of its moment.
    The result is of shape (m, k); if there are fewer labels, all of them.

    >>> import numpy as np
    >>> axes = np.eye(3, dtype=np.float32)
    >>> nearest_distinct(axes[:1], axes[[0, 0, 1]], np.array([5, 5, 6]), 2).indices.tolist()
    [[0, 2]]
    """
    different = len(np.unique(labels))
    k = min(k, different)
    if different == len(labels):
        return nearest(queries, captions, k)
    deep = nearest(queries, captions, k + SPARE)
    is_first = _first_of_label(labels[deep.indices])
    found = _of_places(deep, is_first, k)
    for row in np.flatnonzero(is_first.sum(axis=1) < k):
        found.indices[row], found.similarities[row] = _one_distinct(queries[row], captions, labels, k)
    return found


def _one_distinct(query: Floats, captions: Floats, labels: Indices, k: int) -> tuple[Indices, Cosines]:
    """Look as deep as one query needs, because many captions near it have equal labels."""
    depth = k
    while True:
        depth = min(4 * depth, len(captions))
        found = nearest(query[None], captions, depth)
        first = np.flatnonzero(_first_of_label(labels[found.indices])[0])[:k]
        if len(first) == k:
            return found.indices[0, first], found.similarities[0, first]


def _of_places(found: Nearest, wanted: NDArray[np.bool_], k: int) -> Nearest:
    """Return the first k that are wanted of each row, in their order."""
    places = np.argsort(~wanted, axis=1, kind="stable")[:, :k]
    return Nearest(np.take_along_axis(found.indices, places, 1), np.take_along_axis(found.similarities, places, 1))


def _first_of_label(labels: Indices) -> NDArray[np.bool_]:
    """Return which values of each row are the first of their kind in the row."""
    order = np.argsort(labels, axis=1, kind="stable")
    ordered = np.take_along_axis(labels, order, 1)
    is_first = np.ones(labels.shape, np.bool_)
    is_first[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    found = np.empty_like(is_first)
    np.put_along_axis(found, order, is_first, 1)
    return found


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
