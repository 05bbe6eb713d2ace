"""The systems on collections with planted answers: who sees more finds more."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from systems.data import Data
from systems.exhaustive import Exhaustive
from systems.interface import system
from tests.systems.first_hits import first_hits, summary
from tests.systems.planted import Planted, planted

SYSTEMS = ("chance", "prior", "tef_only", "mcn", "stal_clips", "stal")
WINDOWS: dict[str, Any] = {"shortest": 2, "longest": 6}
QUICK = {
    "iterations": 200,
    "batch_size": 48,
    "learning_rate": 0.004,
    "hidden": 64,
    "words": 32,
    "language": 32,
    "embedding": 32,
}
Scores = dict[str, dict[str, float]]


def training(iterations: int) -> dict[str, Any]:
    """Return the options of a training. Without dropout, systems find less (docs/systems.md)."""
    return {"iterations": iterations, "dropout": 0.3, "decay_every": max(1, iterations * 7 // 10)}


def measured(name: str, corpus: Planted, folder: Path, **options: Any) -> dict[str, float]:
    """Train a system without a validation set, and return what `summary` says of it."""
    made = cast(Exhaustive, system(name, folder, **WINDOWS, **options))
    made.train(Data(corpus.training.videos, corpus.training.examples))
    index = made.look_at(corpus.test)
    return summary(first_hits(made, index, corpus.examples))


def test_each_system_finds_more_than_the_one_that_sees_less(tmp_path: Path) -> None:
    """Twelve concepts, so that small networks learn them in seconds."""
    corpus = planted(1, training=600, test=40, concepts=12)
    found: Scores = {}
    for name in ("chance", "prior", "mcn", "stal_clips", "stal"):
        options = QUICK if name not in ("chance", "prior") else {}
        found[name] = measured(name, corpus, tmp_path / name, seed=1, **options)
    assert found["prior"]["R@100"] >= found["chance"]["R@100"] + 10
    assert found["mcn"]["R@10"] >= found["prior"]["R@10"] + 5
    assert found["stal_clips"]["R@100"] >= found["mcn"]["R@100"] + 10
    assert found["stal"]["R@10"] >= found["stal_clips"]["R@10"] + 15
    medians = [each["median rank"] for each in found.values()]
    assert medians == sorted(medians, reverse=True)


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_the_planted_collection_of_1600_videos(tmp_path: Path) -> None:
    corpus = planted(11)
    found: Scores = {}
    for name in SYSTEMS:
        options = training(1000) if name not in ("chance", "prior") else {}
        found[name] = measured(name, corpus, tmp_path / name, seed=11, **options)
    recall = {name: each["R@100"] for name, each in found.items()}
    assert recall["prior"] >= recall["chance"] + 3
    for name, least_10, least_100, most in (("mcn", 5, 18, 650), ("stal_clips", 13, 50, 100), ("stal", 33, 70, 27)):
        assert found[name]["R@10"] >= least_10, found
        assert recall[name] >= least_100, found
        assert found[name]["median rank"] <= most, found
    assert recall["mcn"] >= recall["prior"] + 6
    assert recall["stal_clips"] >= recall["mcn"] + 20
    assert recall["stal"] >= recall["stal_clips"] + 10
