"""Costs of moments: worked by hand, beside slow loops, and of moments of any length."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from systems.data import Rows
from tests.systems.chamfer import chamfer, mean, squared_distances


def slow_chamfer(rows: NDArray[np.float64], words: NDArray[np.float64]) -> float:
    """STAL's Equation 2, sum by sum."""
    here = sum(min(float(((row - word) ** 2).sum()) for word in words) for row in rows) / len(rows)
    there = sum(min(float(((row - word) ** 2).sum()) for row in rows) for word in words) / len(words)
    return here + there


def drawn(rows: int, words: int) -> tuple[Rows, Rows]:
    generator = np.random.default_rng(7)
    return generator.standard_normal((rows, 12), np.float32), generator.standard_normal((words, 12), np.float32)


def test_a_moment_of_two_clips_by_hand() -> None:
    """Clips at 0 and 3, words at 1 and 5: (1 + 4) / 2 from clips to words, (1 + 4) / 2 back."""
    clips, words = np.array([[0], [3]], np.float32), np.array([[1], [5]], np.float32)
    distances = squared_distances(clips, words)
    assert distances.tolist() == [[1, 25], [4, 4]]
    assert chamfer(distances, np.array([0]), np.array([2])).tolist() == [(1 + 4) / 2 + (1 + 4) / 2]
    assert mean(distances[:, 0], np.array([0, 1]), np.array([2, 2])).tolist() == [2.5, 4]


@pytest.mark.parametrize("words", [1, 7])
def test_every_range_costs_what_a_loop_says(words: int) -> None:
    """All ranges of 21 rows: lengths around every power of two, and moments that overlap."""
    rows, spoken = drawn(21, words)
    first, stop = (np.concatenate(ends) for ends in zip(*[
        (np.arange(0, 21 - length + 1), np.arange(length, 22)) for length in range(1, 22)
    ], strict=True))  # fmt: skip
    exact_rows, exact_words = rows.astype(np.float64), spoken.astype(np.float64)
    wanted = [slow_chamfer(exact_rows[a:b], exact_words) for a, b in zip(first, stop, strict=True)]
    distances = squared_distances(rows, spoken)
    np.testing.assert_allclose(chamfer(distances, first, stop), wanted, rtol=2e-6)
    average = [((exact_rows[a:b] - exact_words[0]) ** 2).sum(1).mean() for a, b in zip(first, stop, strict=True)]
    np.testing.assert_allclose(mean(distances[:, 0], first, stop), average, rtol=2e-6)


def test_no_moments_cost_nothing() -> None:
    none = np.empty(0, np.int64)
    assert chamfer(np.ones((3, 2), np.float32), none, none).shape == (0,)


def test_a_word_at_a_clip_is_never_less_than_nothing_away() -> None:
    rows, _ = drawn(400, 1)
    assert squared_distances(rows * 1e3, rows * 1e3).min() >= 0
