"""The whole losses: without weights and with one positive video each, they are those of the papers' systems."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from systems.data import Data
from systems.interface import system
from systems.neural.layers import as_rows
from systems.options import Conquer
from systems.streams.conquer import Judged, losses_of
from systems.streams.inputs import Batch, Pairs
from systems.streams.network import products
from systems.streams.two_streams import TwoStreams, loss_of
from tests.systems.streams.noise import noise

PAIRS = 8
PARTS = {"ranking": 0.0, "video": 0.0, "span": 0.0, "frame": 0.0}


def network_for(data: Data, folder: Path, **options: float) -> tuple[Any, Pairs]:
    """A network with drawn weights that drops nothing, and the pairs of a step that holds them all."""
    made = system("reloclnet", folder / "reloclnet", hidden=16, batch_size=PAIRS, **PARTS | options)
    assert isinstance(made, TwoStreams)
    torch.manual_seed(4)
    network = made.network_class(made.options, **made.facts(data)).eval()
    return network, Pairs(data, made.options, made.reading)


def plain_contrast(scores: np.ndarray) -> float:
    """The contrastive loss of a batch in which each query has one video, the one of its own row."""
    losses = []
    for pair in range(len(scores)):
        row = sum(math.exp(score) for score in scores[pair])
        column = sum(math.exp(scores[other, pair]) for other in range(len(scores)))
        losses.append(math.log(row + column) - scores[pair, pair])
    return float(sum(losses) / len(losses))


def plain_boundaries(starts: np.ndarray, ends: np.ndarray, first: list[int], last: list[int]) -> float:
    losses = []
    for logits, places in ((starts, first), (ends, last)):
        for row, place in zip(logits, places, strict=True):
            losses.append(math.log(sum(math.exp(logit) for logit in row)) - row[place])
    return float(sum(losses) / len(starts))


def test_weight_1_and_one_positive_give_the_plain_loss(tmp_path: Path) -> None:
    data = noise(PAIRS)
    network, pairs = network_for(data, tmp_path, video=0.5, span=2.0)
    with torch.inference_mode():
        found = loss_of(network, pairs, 0).item()
        batch = pairs.batch(0)
        vectors = network.ask(pairs.queries_of(batch))
        seen = network.look(*pairs.reading.read(pairs.videos, batch.video))
        scores = as_rows(products(vectors.of_videos, seen.for_contrast, seen.are_there))
        starts, ends = network.find(vectors.of_moments, seen.for_moments, seen.are_there, False)
    boundaries = plain_boundaries(as_rows(starts), as_rows(ends), batch.first.tolist(), batch.last.tolist())
    plain = 0.5 * plain_contrast(scores.astype(np.float64)) + 2.0 * boundaries
    assert found == pytest.approx(plain, abs=1e-6 * abs(plain))


@pytest.mark.parametrize("part", PARTS)
def test_half_the_weight_is_half_of_each_loss_but_of_the_ranking(part: str, tmp_path: Path) -> None:
    data = noise(PAIRS)
    halved = Data(data.videos, [replace(each, weight=0.5) for each in data.examples])
    found = []
    for each in (data, halved):
        network, pairs = network_for(each, tmp_path, **{part: 1.0})
        torch.manual_seed(5)  # of the hinge's negatives
        found.append(loss_of(network, pairs, 0).item())
    assert found[0] != 0
    assert found[1] == pytest.approx(found[0] / (1 if part == "ranking" else 2), rel=1e-5)


def test_a_second_positive_video_is_no_negative(tmp_path: Path) -> None:
    """One query has two videos: the loss is lower than if its moments were those of two queries that read the same."""
    data = noise(PAIRS)
    same = data.examples[0].query
    twin = replace(data.examples[1], query=replace(same, id="twin"))
    both = replace(data.examples[1], query=same)
    found = []
    for second in (both, twin):
        network, pairs = network_for(
            Data(data.videos, [data.examples[0], second, *data.examples[2:]]), tmp_path, video=1.0, several=True
        )
        found.append(loss_of(network, pairs, 0).item())
    assert found[0] < found[1] - 0.05


def test_conquers_starts_and_ends_are_normalised_over_all_candidates() -> None:
    """Two queries with three candidates of four clips, beside a loop; the first query lacks its last candidate."""
    random = np.random.default_rng(6)
    starts, ends, videos = (random.normal(0, 1, shape) for shape in ((2, 3, 4), (2, 3, 4), (2, 3)))
    starts[0, 2] = ends[0, 2] = videos[0, 2] = -math.inf
    judged = Judged(*(torch.tensor(each) for each in (starts, ends, videos)))
    first, last = torch.tensor([0, 2]), torch.tensor([1, 3])
    nothing = torch.ones(2)
    batch = Batch(np.zeros(2, int), np.zeros(2, int), first, last, nothing, nothing)
    found = losses_of(judged, batch, Conquer(span=1.0, choice=0.25))
    for query in range(2):
        expected = 0.0
        for logits, place, weight in (
            (starts[query].ravel(), first[query], 1.0),
            (ends[query].ravel(), last[query], 1.0),
            (videos[query], 0, 0.25),
        ):
            expected += weight * (math.log(sum(math.exp(each) for each in logits)) - logits[int(place)])
        assert found[query].item() == pytest.approx(expected)
