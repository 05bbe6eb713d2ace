"""Charades-STA's annotations, with the largest end of each video as its duration, because no file tells the media's."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import cast

import numpy as np
import pytest

from metrics.formats.annotations import charades_line
from metrics.formats.errors import Place
from systems.data import Data, Example, Query, Videos
from systems.exhaustive import Exhaustive, Index
from systems.interface import system
from systems.windows import clips_in
from tests.systems.first_hits import IOUS, first_hits, overlaps_of, summary

CLIP_SECONDS = 3.0


def examples_in(file: Path) -> list[Example]:
    """Return the moments of an annotation file, each with its sentence as query."""
    examples = []
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        video, start, end, text = charades_line(Place(file.name, f"line {number}"), line)
        if start < end:
            examples.append(Example(Query(f"{file.stem}-{number}", text), video, start, end))
    return examples


def videos_of(examples: Sequence[Example], durations: dict[str, float]) -> Videos:
    """Return the videos without features: as long as `durations` says, but to the end of their last moment at least."""
    longest: dict[str, float] = {}
    for each in examples:
        longest[each.video] = max(longest.get(each.video, durations.get(each.video, 0.0)), each.end)
    duration = np.array(list(longest.values()))
    counts = clips_in(duration, CLIP_SECONDS)
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    nothing = np.zeros((int(offsets[-1]), 0), np.float32)
    return Videos(tuple(longest), duration, offsets, nothing, CLIP_SECONDS)


def oracle(index: Index, examples: Sequence[Example]) -> list[float]:
    """Return the share of examples, in per cent, that some window of their video hits, for each IoU."""
    highest = np.array([iou.max() for _, iou in overlaps_of(index, examples)])
    return [100 * float((highest >= least).mean()) for least in IOUS]


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
