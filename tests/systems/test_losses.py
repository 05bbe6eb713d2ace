"""The costs and losses of STAL's equations, beside loops over single numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from systems.data import Rows
from systems.neural.contrast import chamfer, contrast
from systems.neural.stal import Sets, chamfer_to_words


def distance(one: Rows, other: Rows) -> float:
    return sum((float(a) - float(b)) ** 2 for a, b in zip(one, other, strict=True))


def slow_chamfer(one: Rows, other: Rows) -> float:
    """STAL, Equation 2, as it is written."""
    return sum(min(distance(x, y) for y in other) for x in one) / len(one) + sum(
        min(distance(x, y) for x in one) for y in other
    ) / len(other)


def drawn(*shape: int) -> Rows:
    return np.random.default_rng(shape).normal(size=shape).astype(np.float32)


def test_chamfer_of_padded_sets_beside_a_loop() -> None:
    sizes, words = [1, 4, 3], [2, 5, 1]
    one, other = drawn(3, 4, 6), drawn(3, 5, 6)
    is_one = torch.arange(4)[None] < torch.tensor(sizes)[:, None]
    is_other = torch.arange(5)[None] < torch.tensor(words)[:, None]
    found = chamfer(torch.from_numpy(one), is_one, torch.from_numpy(other), is_other)
    slow = [slow_chamfer(one[row, : sizes[row]], other[row, : words[row]]) for row in range(3)]
    assert found.tolist() == pytest.approx(slow, rel=1e-5)


def test_chamfer_of_many_sets_beside_a_loop() -> None:
    sizes = np.array([2, 0, 1, 5, 0])
    vectors, words = drawn(8, 6), drawn(3, 6)
    found = chamfer_to_words(Sets(vectors, sizes), words)
    slow = [slow_chamfer(each, words) for each in (vectors[:2], vectors[2:3], vectors[3:])]
    mean = sum(slow) / 3
    assert found.tolist() == pytest.approx([slow[0], mean, slow[1], slow[2], mean], rel=1e-5)


def test_sets_without_members_cost_what_others_cost_for_the_same_query() -> None:
    one = torch.tensor([[[[0.0]], [[3.0]], [[1.0]]], [[[2.0]], [[9.0]], [[9.0]]]], requires_grad=True)
    is_one = torch.tensor([[True, False, True], [True, False, False]]).unsqueeze(-1)
    found = chamfer(one, is_one, torch.zeros(2, 1, 1, 1), torch.ones(2, 1, 1) > 0)
    assert found.tolist() == [[0.0, 1.0, 2.0], [8.0, 8.0, 8.0]]
    contrast(found, torch.ones(2), "nce", 0.1).backward()
    assert one.grad is not None
    assert one.grad[~is_one].flatten().tolist() == [0.0] * 3
    assert one.grad[1].abs().max() < 1e-6  # three moments of one cost teach nothing


def test_where_all_sets_lack_members_all_cost_nothing() -> None:
    one = torch.zeros(1, 2, 3, requires_grad=True)
    found = chamfer(one, torch.zeros(1, 2, dtype=torch.bool), torch.ones(1, 2, 3), torch.ones(1, 2) > 0)
    found.sum().backward()
    assert found.tolist() == [0.0]
    assert one.grad is not None
    assert torch.isfinite(one.grad).all()
    assert chamfer_to_words(Sets(drawn(0, 3), np.array([0, 0])), drawn(2, 3)).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("weights", [[1.0, 1.0], [0.25, 1.0]])
def test_losses_beside_loops(weights: list[float]) -> None:
    costs = [[0.3, 0.9, 0.35], [2.0, 1.0, 2.05]]
    nce = [-math.log(math.exp(-row[0]) / sum(math.exp(-cost) for cost in row)) for row in costs]
    triplet = [sum(max(0.0, row[0] - cost + 0.1) for cost in row[1:]) for row in costs]
    for name, each in (("nce", nce), ("triplet", triplet)):
        slow = sum(one * weight for one, weight in zip(each, weights, strict=True)) / sum(weights)
        found = contrast(torch.tensor(costs), torch.tensor(weights), name, 0.1)
        assert float(found) == pytest.approx(slow, abs=1e-6)
