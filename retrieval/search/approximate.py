"""An approximate index by faiss, for corpora whose captions are too many to look at all of them for each search.

The captions are grouped by k-means, and stored in 8 bits a number. A search looks at the groups nearest to the query,
and the cosines of what it finds there are then computed exactly. How much of the exact answer this gives is measured
when the index is made, with captions of the corpus as queries.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from retrieval.embedding import Vectors
from retrieval.nearest import Indices, Nearest, merged, nearest
from systems.clips import codes

EXACT_UP_TO = 1_000_000  # captions; so many are searched exactly
WANTED_RECALL = 0.95
GROUPS_LOOKED_AT = (64, 128, 256, 512)  # as few of these as give the wanted recall, else the last
EACH_GROUP_LEARNS_FROM = 64  # captions
CANDIDATES = 10  # for each hit that is wanted, because 8 bits a number confuse near ones
QUERIES, DEPTH = 200, 20  # of the measurement of recall
ROWS_AT_A_TIME = 100_000


def is_wanted(captions: int) -> bool:
    """Return whether a corpus has more captions than are searched exactly."""
    return captions > EXACT_UP_TO


def write(vectors: Vectors, file: Path) -> float:
    """Write an index of n vectors of length 1, and return its recall: the share of the exact answers that it finds. The
    index also keeps how many groups a search looks at.
    """
    import faiss

    n, dimensions = vectors.shape
    groups = max(1, min(int(4 * math.sqrt(n)), n // 39))  # faiss asks for 39 vectors a group at least
    index: Any = faiss.index_factory(dimensions, f"IVF{groups},SQ8", faiss.METRIC_INNER_PRODUCT)
    chosen = np.random.default_rng(1).permutation(n)[: groups * EACH_GROUP_LEARNS_FROM]
    index.train(vectors[np.sort(chosen)])
    drawn = np.sort(np.random.default_rng(2).permutation(n)[:QUERIES])
    exact = Nearest(np.empty((len(drawn), 0), np.intp), np.empty((len(drawn), 0)))
    for start in range(0, n, ROWS_AT_A_TIME):
        some = np.ascontiguousarray(vectors[start : start + ROWS_AT_A_TIME])
        index.add(some)
        near = nearest(vectors[drawn], some, DEPTH)
        exact = merged(exact, Nearest(near.indices + start, near.similarities), np.arange(n), DEPTH)
    for index.nprobe in GROUPS_LOOKED_AT:
        recall = _recall(index, vectors, drawn, exact.indices)
        if recall >= WANTED_RECALL:
            break
    codes.write(index, file)
    return recall


def nearest_of(index: Any, query: Vectors, vectors: Vectors, k: int) -> Nearest:
    """Return the k nearest captions that the index finds, or fewer, with their exact cosines."""
    with _one_thread():
        _, found = index.search(query[None], CANDIDATES * k)
    candidates: Indices = np.sort(found[0][found[0] >= 0])
    of_these = nearest(query[None], vectors[candidates], k)
    return Nearest(candidates[of_these.indices], of_these.similarities)


def _recall(index: Any, vectors: Vectors, drawn: Indices, exact: Indices) -> float:
    """Return the mean share of the DEPTH nearest captions that the index finds, of captions drawn as queries."""
    shares = [
        len(np.intersect1d(nearest_of(index, vectors[query], vectors, DEPTH).indices[0], wanted)) / len(wanted)
        for query, wanted in zip(drawn, exact, strict=True)
    ]
    return float(np.mean(shares))


@contextmanager
def _one_thread() -> Iterator[None]:
    """Search in one thread: others serve other requests."""
    import faiss

    threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(threads)
