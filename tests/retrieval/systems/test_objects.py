"""STAL (TEF) with detected objects, and with token vectors that are given."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from benchmarks.first_hits import first_hits, summary
from retrieval.systems.data import Data, Example, Objects, Query, Rows, Video, Videos
from retrieval.systems.errors import SystemsError
from retrieval.systems.exhaustive import Exhaustive
from retrieval.systems.registry import system

NAMES = tuple(f"thing{number}" for number in range(20))
VECTORS = np.random.default_rng(3).normal(size=(len(NAMES), 12)).astype(np.float32)
OPTIONS: dict[str, Any] = {
    "iterations": 100,
    "batch_size": 32,
    "learning_rate": 0.005,
    "hidden": 32,
    "words": 16,
    "language": 16,
    "embedding": 16,
    "longest": 4,
}


def collection(seed: int, count: int, has_vectors: bool) -> Data:
    """Videos whose clips are noise, with two objects in each pair of clips, which the queries name."""
    random = np.random.default_rng(seed)
    videos = [Video(f"v{n}", 24.0, random.normal(size=(8, 4)).astype(np.float32)) for n in range(count)]
    shown = np.array([random.choice(len(NAMES), 8, replace=False).reshape(4, 2) for _ in range(count)])
    clip = np.repeat(np.arange(8 * count), 2)
    objects = Objects(
        clip=clip,
        name=shown.repeat(2, axis=1).ravel(),
        box=np.tile(np.array([0.5, 0.5, 0.2, 0.2], np.float32), (len(clip), 1)),
        names=NAMES,
        vectors=VECTORS if has_vectors else None,
    )
    examples = [
        Example(asked(f"{n}-{part}", shown[n, part], has_vectors), f"v{n}", 6.0 * part, 6.0 * part + 6)
        for n in range(count)
        for part in range(4)
    ]
    return Data(Videos.of(videos, 3.0, objects), examples)


def asked(id: str, names: np.ndarray, has_vectors: bool) -> Query:
    tokens: Rows | None = VECTORS[names] if has_vectors else None
    return Query(id, " ".join(NAMES[name] for name in names), tokens)


def found(made: Exhaustive, data: Data) -> dict[str, float]:
    return summary(first_hits(made, made.look_at(data.videos), data.examples))


@pytest.mark.parametrize("has_vectors", [False, True])
def test_objects_are_found_by_their_names(has_vectors: bool, tmp_path: Path) -> None:
    training, test = collection(1, 100, has_vectors), collection(2, 30, has_vectors)
    made = cast(Exhaustive, system("stal", tmp_path / "stal", **OPTIONS))
    made.train(training)
    assert found(made, test)["R@10"] >= 60
    chance = cast(Exhaustive, system("chance", tmp_path / "chance", longest=4))
    assert found(chance, test)["R@10"] <= 10


def test_clips_without_objects_are_ranked_too(tmp_path: Path) -> None:
    data = collection(1, 30, False)
    made = cast(Exhaustive, system("stal", tmp_path / "stal", **OPTIONS | {"iterations": 3}))
    made.train(data)
    objects = data.videos.objects
    assert objects is not None
    few = replace(objects, clip=objects.clip[:4], name=objects.name[:4], box=objects.box[:4])
    none = replace(objects, clip=objects.clip[:0], name=objects.name[:0], box=objects.box[:0])
    for there in (few, none):
        made.index(replace(data.videos, objects=there))
        run = made.search([data.examples[0].query], 50)
        assert np.isfinite(run.scores).all()
    with pytest.raises(SystemsError, match="the videos have no objects; expected some, as in training"):
        made.index(replace(data.videos, objects=None))


def test_tokens_of_another_width_are_refused(tmp_path: Path) -> None:
    data = collection(1, 30, True)
    made = cast(Exhaustive, system("stal", tmp_path / "stal", **OPTIONS | {"iterations": 3}))
    made.train(data)
    made.index(data.videos)
    for query in (Query("q", "thing1"), Query("q", "thing1", np.zeros((2, 5), np.float32))):
        with pytest.raises(SystemsError, match=r"query q: token vectors: .*; expected \(tokens, 12\)"):
            made.search([query])
