"""TEF-only, which sees a query and the place of a moment: negatives of its own video alone can teach it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks.first_hits import first_hits
from retrieval.systems.data import Data, Example, Query, Video, Videos
from retrieval.systems.neural.training import CURVE
from tests.retrieval.systems.small import small

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
    assert (ranks[:, 0] == 1).all(), "at IoU 0.5; no negatives are drawn above 0.35"


def test_negatives_of_other_videos_teach_it_nothing(tmp_path: Path) -> None:
    """Where videos are equally long, they lie at the same place, and cost what the moment itself costs."""
    made = small("tef_only", tmp_path / "system", intra=0, inter=10, learning_rate=0.01)
    made.train(places_that_queries_name(24))
    losses = json.loads((tmp_path / "system" / CURVE).read_text())["losses"]
    assert losses == pytest.approx([np.log(11)] * 12, abs=1e-5)
