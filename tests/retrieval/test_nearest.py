"""The nearest captions are exact, and in the captions' order where they are equally near, whatever the blocks."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from retrieval import nearest as module
from retrieval.nearest import GROUP, Floats, Nearest, nearest, nearest_distinct

seeds = st.integers(0, 2**32 - 1)


def vectors(random: np.random.Generator, n: int, d: int, different: int | None = None) -> Floats:
    """n vectors of length 1, drawn from so many different ones."""
    pool = random.standard_normal((n if different is None else different, d))
    pool /= np.linalg.norm(pool, axis=1, keepdims=True)
    chosen = pool if different is None else pool[random.integers(0, different, n)]
    return chosen.astype(np.float32)


def slowly(queries: Floats, captions: Floats, k: int) -> Nearest:
    """The same by looking at every pair, in float64."""
    indices, similarities = [], []
    for query in queries.astype(np.float64):
        cosines = [float((caption * query).sum()) for caption in captions.astype(np.float64)]
        cosines = [min(1.0, max(-1.0, cosine)) for cosine in cosines]
        best = sorted(range(len(captions)), key=lambda i: (-cosines[i], i))[:k]
        indices.append(best)
        similarities.append([cosines[i] for i in best])
    shape = (len(queries), min(k, len(captions)))
    return Nearest(np.array(indices, np.intp).reshape(shape), np.array(similarities).reshape(shape))


def assert_same(found: Nearest, expected: Nearest) -> None:
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_array_equal(found.similarities, expected.similarities)


@given(seed=seeds, m=st.integers(0, 5), n=st.integers(1, 300), k=st.integers(1, 45), d=st.integers(1, 20))
def test_it_finds_what_a_slow_search_finds(seed: int, m: int, n: int, k: int, d: int) -> None:
    random = np.random.default_rng(seed)
    queries, captions = vectors(random, m, d), vectors(random, n, d)
    assert_same(nearest(queries, captions, k), slowly(queries, captions, k))


@given(seed=seeds, n=st.integers(1, 300), different=st.integers(1, 6), k=st.integers(1, 45))
def test_equal_captions_come_in_the_order_given(seed: int, n: int, different: int, k: int) -> None:
    random = np.random.default_rng(seed)
    captions = vectors(random, n, 7, different)
    queries = np.concatenate([captions[:2], vectors(random, 1, 7)])  # two of them among the captions
    assert_same(nearest(queries, captions, k), slowly(queries, captions, k))


def test_captions_all_equal_come_in_the_order_given() -> None:
    captions = np.tile(vectors(np.random.default_rng(0), 1, 8), (1000, 1))
    assert nearest(captions[:1], captions, 5).indices.tolist() == [[0, 1, 2, 3, 4]]


def test_similarities_that_print_as_equal_are_ties() -> None:
    one = np.float32(1)
    captions = np.array([[one], [np.nextafter(one, np.float32(2))], [one]], np.float32)
    found = nearest(captions[:1], captions, 3)  # rounding makes vectors a little longer than 1
    assert found.similarities.tolist() == [[1.0, 1.0, 1.0]]
    assert found.indices.tolist() == [[0, 1, 2]]


@pytest.mark.parametrize("n", [1, GROUP - 1, GROUP, GROUP + 1, 3 * GROUP, 3 * GROUP + 7])
@pytest.mark.parametrize("k", [1, 3, GROUP, 1000])
def test_any_number_of_captions_will_do(n: int, k: int) -> None:
    random = np.random.default_rng(n)
    queries, captions = -np.abs(vectors(random, 3, 5)), np.abs(vectors(random, n, 5))
    found = nearest(queries, captions, k)  # all cosines are negative: what fills the last group up is nearer
    assert found.indices.shape == (3, min(k, n))
    assert_same(found, slowly(queries, captions, k))


@pytest.mark.parametrize(("m", "n", "k"), [(0, 10, 4), (3, 0, 4), (0, 0, 4), (3, 10, 0)])
def test_nothing_to_find_is_found(m: int, n: int, k: int) -> None:
    random = np.random.default_rng(0)
    found = nearest(vectors(random, m, 5), vectors(random, n, 5), k)
    assert found.indices.shape == found.similarities.shape == (m, min(k, n))


@given(seed=seeds, block=st.integers(1, 200_000))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_size_of_blocks_changes_nothing(monkeypatch: pytest.MonkeyPatch, seed: int, block: int) -> None:
    random = np.random.default_rng(seed)
    queries, captions = vectors(random, 40, 24), vectors(random, 500, 24, 120)
    whole = nearest(queries, captions, 20)
    with monkeypatch.context() as patched:
        patched.setattr(module, "BLOCK", block)
        assert_same(nearest(queries, captions, 20), whole)


def test_queries_alone_and_together_find_the_same() -> None:
    random = np.random.default_rng(3)
    queries, captions = vectors(random, 30, 64), vectors(random, 2000, 64)
    together = nearest(queries, captions, 40)
    for number, query in enumerate(queries):
        alone = nearest(query[None], captions, 40)
        assert_same(alone, Nearest(together.indices[[number]], together.similarities[[number]]))


def test_memory_does_not_grow_with_the_number_of_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BLOCK", 2**20)
    random = np.random.default_rng(5)
    queries, captions = vectors(random, 2000, 8), vectors(random, 20_032, 8)
    tracemalloc.start()
    nearest(queries, captions, 5)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * 2**20 < 4 * len(queries) * len(captions) / 15  # all pairs would take 152 MiB


def test_progress_is_told_up_to_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BLOCK", 4 * 128 * 3)
    random = np.random.default_rng(0)
    progress: list[tuple[int, int]] = []
    nearest(vectors(random, 8, 4), vectors(random, 100, 4), 2, report=lambda *done: progress.append(done))
    assert progress == [(3, 8), (6, 8), (8, 8)]


@given(
    seed=seeds,
    m=st.integers(0, 4),
    n=st.integers(1, 120),
    k=st.integers(1, 30),
    different=st.integers(1, 120),
    spare=st.integers(0, 8),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_of_equal_labels_the_nearest_counts(
    monkeypatch: pytest.MonkeyPatch, seed: int, m: int, n: int, k: int, different: int, spare: int
) -> None:
    random = np.random.default_rng(seed)
    queries, captions = vectors(random, m, 6), vectors(random, n, 6, 40)
    labels = random.integers(0, different, n)
    whole = slowly(queries, captions, n)
    with monkeypatch.context() as patched:
        patched.setattr(module, "SPARE", spare)
        found = nearest_distinct(queries, captions, labels, k)
    assert found.indices.shape == (m, min(k, len(set(labels.tolist()))))
    for row, (indices, similarities) in enumerate(zip(whole.indices, whole.similarities, strict=True)):
        first: dict[int, tuple[int, float]] = {}
        for index, similarity in zip(indices.tolist(), similarities.tolist(), strict=True):
            first.setdefault(int(labels[index]), (index, similarity))
        expected = list(first.values())[:k]
        assert list(zip(found.indices[row].tolist(), found.similarities[row].tolist(), strict=True)) == expected
