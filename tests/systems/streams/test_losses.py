"""Each loss of the two-stream systems is what a slow loop over numbers says, and what a case worked by hand says."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from systems.streams import losses

PAIRS, CLIPS = 7, 6
GENERATOR = np.random.default_rng(15)
SCORES = GENERATOR.normal(0, 1, (PAIRS, PAIRS))
SEVERAL = np.eye(PAIRS, dtype=bool) | (GENERATOR.random((PAIRS, PAIRS)) < 0.3)
ALONE = np.eye(PAIRS, dtype=bool)
BY_CLIP = GENERATOR.normal(0, 1, (PAIRS, CLIPS))
LENGTHS = [6, 5, 4, 6, 3, 6, 2]
FIRST = [0, 2, 1, 5, 0, 0, 1]
LAST = [5, 3, 1, 5, 1, 2, 1]  # the first moment is as long as its video


def slow_video_loss(scores: np.ndarray, positives: np.ndarray, pair: int) -> float:
    positive = total = 0.0
    for other in range(len(scores)):
        total += math.exp(scores[pair, other])
        if positives[pair, other]:
            positive += math.exp(scores[pair, other])
        if other == pair or not positives[other, pair]:
            total += math.exp(scores[other, pair])
    return -math.log(positive / total)


def slow_ranking(
    scores: np.ndarray, positives: np.ndarray, draws: np.ndarray, pair: int, hardest: int, loss: str
) -> list[float]:
    found = []
    for beside, allowed, drawn in ((scores, ~positives, draws[0]), (scores.T, ~positives.T, draws[1])):
        pool = [other for other in range(len(scores)) if allowed[pair, other]]
        pool = sorted(pool, key=lambda other: -beside[pair, other])[:hardest]
        chosen = max(pool, key=lambda other: drawn[pair, other])
        above = beside[pair, chosen] - scores[pair, pair]
        found.append(max(0.0, 0.1 + above) if loss == "hinge" else math.log(1 + math.exp(above)))
    return found


def slow_clip_loss(scores: np.ndarray, first: int, last: int, length: int) -> float:
    near = [math.log1p(math.exp(-scores[clip])) - math.log(2) for clip in range(first, last + 1)]
    far = [math.log1p(math.exp(scores[clip])) - math.log(2) for clip in range(length) if not first <= clip <= last]
    return sum(near) / len(near) + (sum(far) / len(far) if far else 0.0)


def slow_boundary_loss(scores: np.ndarray, length: int, place: int) -> float:
    return -math.log(math.exp(scores[place]) / sum(math.exp(scores[clip]) for clip in range(length)))


def places(lengths: list[int]) -> torch.Tensor:
    """True where a video has a clip, shape (pairs, clips)."""
    return torch.arange(CLIPS) < torch.tensor(lengths)[:, None]


@pytest.mark.parametrize("positives", [ALONE, SEVERAL], ids=["one positive", "several"])
def test_the_video_loss_is_that_of_a_loop(positives: np.ndarray) -> None:
    found = losses.video_losses(torch.tensor(SCORES), torch.tensor(positives))
    assert found.tolist() == pytest.approx([slow_video_loss(SCORES, positives, pair) for pair in range(PAIRS)])


def test_another_positive_video_lowers_the_loss_instead_of_raising_it() -> None:
    """Query 0 fits videos 0 and 1 alike. Without the mask, its second video would be pushed away."""
    scores = torch.tensor([[2.0, 2.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 2.0]])
    alone = torch.eye(3, dtype=torch.bool)
    both = alone.clone()
    both[0, 1] = True
    positive, rest = 2 * math.exp(2), 1 + 2 + math.exp(2)  # the third video, and all queries beside the first one
    assert losses.video_losses(scores, both)[0].item() == pytest.approx(-math.log(positive / (positive + rest)))
    assert losses.video_losses(scores, both)[0] < losses.video_losses(scores, alone)[0]


@pytest.mark.parametrize("loss", ["hinge", "lse"])
@pytest.mark.parametrize("hardest", [2, 100])
@pytest.mark.parametrize("positives", [ALONE, SEVERAL], ids=["one positive", "several"])
def test_the_ranking_is_that_of_a_loop(positives: np.ndarray, hardest: int, loss: str) -> None:
    draws = GENERATOR.random((2, PAIRS, PAIRS))
    found = losses.ranking_losses(
        torch.tensor(SCORES), torch.tensor(positives), torch.tensor(draws), hardest=hardest, loss=loss
    )
    expected = [slow_ranking(SCORES, positives, draws, pair, hardest, loss) for pair in range(PAIRS)]
    for side in (0, 1):
        assert found[side].tolist() == pytest.approx([each[side] for each in expected])
    assert max(map(max, expected)) > 0


def test_where_all_are_positive_there_is_nothing_to_be_ranked_below() -> None:
    every = torch.ones(PAIRS, PAIRS, dtype=torch.bool)
    scores = torch.tensor(SCORES)
    for side in losses.ranking_losses(scores, every, torch.rand(2, PAIRS, PAIRS)):
        assert side.tolist() == [0.0] * PAIRS
    own = torch.tensor(SCORES).diagonal() - torch.logsumexp(scores, 1)
    assert losses.video_losses(scores, every).tolist() == pytest.approx(torch.log1p(own.exp()).tolist())


def test_the_clip_loss_is_that_of_a_loop() -> None:
    numbers = torch.arange(CLIPS)
    inside = (numbers >= torch.tensor(FIRST)[:, None]) & (numbers <= torch.tensor(LAST)[:, None])
    found = losses.clip_losses(torch.tensor(BY_CLIP), inside, places(LENGTHS) & ~inside)
    expected = [slow_clip_loss(*each) for each in zip(BY_CLIP, FIRST, LAST, LENGTHS, strict=True)]
    assert found.tolist() == pytest.approx(expected)


def test_the_boundary_loss_is_that_of_a_loop() -> None:
    logits = torch.tensor(BY_CLIP).masked_fill(~places(LENGTHS), losses.NEVER)
    found = losses.boundary_losses(logits, logits, torch.tensor(FIRST), torch.tensor(LAST))
    rows = zip(BY_CLIP, LENGTHS, FIRST, LAST, strict=True)
    expected = [
        slow_boundary_loss(row, size, first) + slow_boundary_loss(row, size, last) for row, size, first, last in rows
    ]
    assert found.tolist() == pytest.approx(expected)


def test_weight_1_gives_the_plain_mean_and_less_counts_less() -> None:
    each = torch.tensor(SCORES[0] ** 2)
    assert losses.weighted(each, torch.ones(PAIRS)).item() == pytest.approx(each.mean().item(), abs=1e-6)
    weights = torch.tensor([1.0, 0.5, 0.0, -0.2, 1.0, 0.25, 0.75])
    expected = (
        sum(loss * max(0.0, weight) for loss, weight in zip(each.tolist(), weights.tolist(), strict=True)) / PAIRS
    )
    assert losses.weighted(each, weights).item() == pytest.approx(expected)


def test_a_pair_of_weight_0_teaches_nothing() -> None:
    scores = torch.tensor(BY_CLIP, requires_grad=True)
    weights = torch.tensor([0.0] + [1.0] * (PAIRS - 1))
    found = losses.boundary_losses(scores, scores, torch.tensor(FIRST), torch.tensor(LAST))
    losses.weighted(found, weights).backward()
    assert scores.grad is not None
    assert scores.grad[0].abs().max() == 0
    assert scores.grad[1].abs().max() > 0
