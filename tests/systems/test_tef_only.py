"""TEF-only, which sees a query and the place of a moment: which negatives can teach it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from systems.data import Data, Example, Query, Video, Videos
from systems.neural.contrast import Sampler
from systems.neural.description import CURVE
from systems.options import TefOnly
from tests.systems.first_hits import first_hits
from tests.systems.small import small

CLIPS, CLIP_SECONDS = 10, 3.0
PLACES = {"first": 0, "middle": 4, "last": 8}  # the clip with which a moment of two clips begins


def places_that_queries_name(count: int) -> Data:
    """Make videos of one length without features. Each moment lies where its query says."""
    nothing = np.zeros((CLIPS, 0), np.float32)
    videos = [Video(f"video {n}", CLIPS * CLIP_SECONDS, nothing) for n in range(count)]
    examples = []
    for number, video in enumerate(videos):
        word, first = list(PLACES.items())[number % 3]
        start = first * CLIP_SECONDS
        examples.append(Example(Query(f"q{number}", word), video.name, start, start + 2 * CLIP_SECONDS))
    return Data(Videos.of(videos, CLIP_SECONDS), examples)


def test_it_learns_the_places_that_queries_name(tmp_path: Path) -> None:
    data = places_that_queries_name(24)
    made = small("tef_only", tmp_path / "system", iterations=150, learning_rate=0.01)
    made.train(data)
    ranks = first_hits(made, made.look_at(data.videos), data.examples, one_video=True)
    assert (ranks[:, 0] == 1).all(), "at IoU 0.5"


def test_negatives_at_the_same_time_teach_it_nothing(tmp_path: Path) -> None:
    """Where videos are equally long, they lie at the same place, and cost what the moment itself costs."""
    made = small("tef_only", tmp_path / "system", inter=10, anywhere=0, learning_rate=0.01)
    made.train(places_that_queries_name(24))
    losses = json.loads((tmp_path / "system" / CURVE).read_text())["losses"]
    assert losses == pytest.approx([np.log(11)] * 12, abs=1e-5)


def test_negatives_from_anywhere_are_of_other_videos_and_mostly_of_long_ones() -> None:
    lengths = [10, 40]
    nothing = [np.zeros((length, 0), np.float32) for length in lengths]
    videos = [Video(f"video {n}", len(rows) * CLIP_SECONDS, rows) for n, rows in enumerate([*nothing, *nothing])]
    examples = [Example(Query("q", "word"), "video 0", 0.0, 6.0)] * 400
    options = TefOnly(anywhere=1, batch_size=400)
    sampler = Sampler(Data(Videos.of(videos, CLIP_SECONDS), examples), options)
    _, windows = sampler.step(0)
    drawn = windows.video[1::2]
    assert set(drawn.tolist()) == {1, 2, 3}
    of_each = np.bincount(sampler.windows.video)
    expected = of_each[1:] / of_each[1:].sum()
    assert np.bincount(drawn)[1:] / 400 == pytest.approx(expected, abs=0.1)
    assert len(set(windows.first[1::2].tolist())) > 20, "at any time"
