"""Charades-STA's annotations, with the largest end of each video as its duration, because no file tells the media's."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import numpy as np
import pytest

from benchmarks.charades import examples_in, oracle, videos_of
from benchmarks.first_hits import first_hits, summary
from systems.data import Data
from systems.exhaustive import Exhaustive
from systems.interface import system


def test_windows_oracle_and_prior(shared: Path, tmp_path: Path) -> None:
    """Published with the media's durations: 49,465 windows, oracle 99.62 and 88.79."""
    train, examples = (examples_in(shared / "charades_sta" / f"charades_sta_{part}.txt") for part in ("train", "test"))
    test = videos_of(examples, {})
    made = cast(Exhaustive, system("prior", tmp_path / "prior"))
    made.train(Data(videos_of(train, {}), train))
    index = made.look_at(test)
    assert (len(examples), len(test), len(index.windows)) == (3720, 1334, 30_344)
    assert oracle(index, examples) == pytest.approx([99.81, 94.06], abs=0.005)
    few = examples[:: len(examples) // 300]
    chance = cast(Exhaustive, system("chance", tmp_path / "chance"))
    medians = [summary(first_hits(each, index, few))["median rank"] for each in (made, chance)]
    assert medians[0] < 0.6 * medians[1]


def test_longer_videos_have_more_windows_and_a_worse_oracle(shared: Path, tmp_path: Path) -> None:
    """With about 30 s a video, as the media have, the oracle's recall is near the published one."""
    examples = examples_in(shared / "charades_sta" / "charades_sta_test.txt")
    random = np.random.default_rng(0)
    durations = {each.video: float(np.clip(random.normal(30, 7), 10, 60)) for each in examples}
    index = cast(Exhaustive, system("chance", tmp_path / "chance")).look_at(videos_of(examples, durations))
    assert oracle(index, examples) == pytest.approx([99.62, 88.79], abs=1.0)
