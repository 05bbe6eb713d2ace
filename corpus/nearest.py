"""The captions most similar to each query: exact, in bounded memory, at little more than the matrix product."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Indices = NDArray[np.intp]

BLOCK = 96 * 2**20  # bytes of similarities in memory at a time
GROUP = 64  # captions whose largest similarity is looked at first; a group takes every n/64th caption
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
    padded = _padded(captions)
    rows = max(1, BLOCK // max(4 * len(padded), 1))
    products = np.empty((min(rows, m), len(padded)), np.float32)
    for start in range(0, m if k else 0, rows):
        block = queries[start : start + rows]
        product = np.matmul(block, padded.T, out=products[: len(block)])
        product[:, n:] = -np.inf
        for row, hopeful in enumerate(_hopeful(product, k), start):
            best, cosines = _ranked(queries[row], captions, hopeful, order, k)
            indices[row], similarities[row] = best, cosines
        report(min(start + rows, m), m)
    return Nearest(indices, similarities)


def _padded(captions: Floats) -> Floats:
    """The captions with zero vectors behind them, up to a whole number of groups."""
    missing = -len(captions) % GROUP
    return (
        np.concatenate([captions, np.zeros((missing, captions.shape[1]), np.float32)])
        if missing
        else captions
    )


def _hopeful(product: Floats, k: int) -> list[Indices]:
    """For each row the indices that can be among its k largest.

    The k-th largest of the groups' maxima bounds the k-th largest value from below; only groups that reach it
    are looked into.
    """
    groups = product.reshape(len(product), GROUP, -1)
    tops = groups.max(axis=1)
    if tops.shape[1] > k:
        floor = np.partition(tops, -k, axis=1)[:, -k] - ROUNDING
    else:
        floor = np.full(len(product), -np.inf, np.float32)
    return [_hopeful_in_row(groups[row], tops[row], floor[row], k) for row in range(len(product))]


def _hopeful_in_row(groups: Floats, tops: Floats, floor: np.float32, k: int) -> Indices:
    chosen = np.flatnonzero(tops >= floor)
    inside = groups[:, chosen].ravel()
    if len(inside) > k:
        floor = max(floor, np.partition(inside, -k)[-k] - ROUNDING)
    member, group = np.divmod(np.flatnonzero((inside >= floor) & (inside > -np.inf)), len(chosen))
    return member * len(tops) + chosen[group]


def _ranked(
    query: Floats, captions: Floats, hopeful: Indices, order: Indices, k: int
) -> tuple[Indices, NDArray[np.float64]]:
    # Summed row by row: equal captions must get equal cosines, which a matrix product does not promise.
    cosines = (captions[hopeful].astype(np.float64) * query.astype(np.float64)).sum(axis=1)
    cosines = cosines.clip(-1.0, 1.0)  # before they are compared: what reads as equal is a tie
    best = np.lexsort((order[hopeful], -cosines))[:k]
    return hopeful[best], cosines[best]
