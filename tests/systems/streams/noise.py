"""Collections in which nothing means anything, so that what a system finds again it has learned by heart."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from metrics import Run
from systems.data import Data, Example, Query, Validation, Video, Videos

CLIP_SECONDS = 1.5
FEATURES, OF_SUBTITLES, OF_TOKENS = 24, 16, 20


def noise(pairs: int, *, subtitles: bool = True, videos: int | None = None, seed: int = 1) -> Data:
    """Return pairs of a query and a moment, with a validation set of the same pairs.

    Features, the vectors of the queries' tokens, and the moments' times are drawn at random. Several pairs may have
    one video, in turn.
    """
    random = np.random.default_rng([15, seed])
    collection = []
    for number in range(videos or pairs):
        clips = int(random.integers(8, 13))
        words = random.normal(0, 1, (clips, OF_SUBTITLES)).astype(np.float32) if subtitles else None
        seen = random.normal(0, 1, (clips, FEATURES)).astype(np.float32)
        collection.append(Video(f"video {number}", clips * CLIP_SECONDS - 0.5, seen, words))
    examples = []
    for number in range(pairs):
        video = collection[number % len(collection)]
        first, length = int(random.integers(0, 5)), int(random.integers(2, 5))
        tokens = random.normal(0, 1, (int(random.integers(3, 7)), OF_TOKENS)).astype(np.float32)
        query = Query(f"q{number}", f"query {number}", tokens)
        start, end = first * CLIP_SECONDS + 0.1, (first + length) * CLIP_SECONDS - 0.2
        examples.append(Example(query, video.name, start, end))
    made = Videos.of(collection, CLIP_SECONDS)
    return Data(made, examples, Validation.of(examples, made, "nDCG_IoU(iou=0.5)@20"))


def found_first(run: Run, examples: Sequence[Example], iou: float = 0.7) -> float:
    """Return the share of examples whose moment is the first of its query's ranking, with this IoU at least (R@1)."""
    hits = 0
    for number, example in enumerate(examples):
        row = int(run.offsets[number])
        shared = min(run.end[row], example.end) - max(run.start[row], example.start)
        union = max(run.end[row], example.end) - min(run.start[row], example.start)
        hits += run.names[run.video[row]] == example.video and shared / union >= iou
    return hits / len(examples)
