"""Vectors of clips for the benchmarks of two stages, drawn block by block, so that memory does not bound them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from systems.data import Rows, Videos

CLIPS, SECONDS, DIMENSIONS = 20, 3.0, 100  # of a video, as in STAL's Section 4.3
VIDEOS_AT_A_TIME = 5_000
VIDEOS_OF_A_SCENE, SCENES_OF_A_TOPIC = 11, 100


@dataclass(frozen=True)
class Drawn:
    """A collection of so many videos.

    Attributes
    ----------
    clustered
        Clips lie around videos (standard deviation 0.6), these around scenes (0.4), these around topics (0.4), whose
        numbers are standard normal. Otherwise all numbers are uniform in [0, 1), as in the paper.
    """

    videos: int
    clustered: bool

    def blocks(self, first: int = 0, stop: int | None = None) -> Iterator[Videos]:
        """Yield the videos first to stop - 1, some at a time; both are multiples of VIDEOS_AT_A_TIME."""
        for start in range(first, self.videos if stop is None else stop, VIDEOS_AT_A_TIME):
            yield Videos(
                names=tuple(f"video{number:07}" for number in range(start, start + VIDEOS_AT_A_TIME)),
                duration=np.full(VIDEOS_AT_A_TIME, CLIPS * SECONDS),
                offsets=np.arange(VIDEOS_AT_A_TIME + 1) * CLIPS,
                clips=self._clips(VIDEOS_AT_A_TIME, CLIPS, 1 + start),
                clip_seconds=SECONDS,
            )

    def sample(self, count: int) -> Rows:
        """Return clips to learn from, each of another video of the same scenes."""
        return self._clips(count, 1, -1)

    def queries(self, count: int) -> Rows:
        """Return queries, which lie where clips do."""
        return self._clips(count, 1, -2)

    def _clips(self, videos: int, each: int, seed: int) -> Rows:
        draw = np.random.default_rng([3, seed % 2**32])
        if not self.clustered:
            return draw.random((videos * each, DIMENSIONS), np.float32)
        scenes = self._scenes()
        here = scenes[draw.integers(len(scenes), size=videos)] + _normal(draw, videos, 0.4)
        clips = np.repeat(here, each, axis=0)
        clips += _normal(draw, len(clips), 0.6)
        return clips

    def _scenes(self) -> Rows:
        draw = np.random.default_rng(2)
        count = self.videos // VIDEOS_OF_A_SCENE
        topics = _normal(draw, max(1, count // SCENES_OF_A_TOPIC), 1)
        return topics[draw.integers(len(topics), size=count)] + _normal(draw, count, 0.4)


def _normal(draw: np.random.Generator, rows: int, deviation: float) -> Rows:
    return np.float32(deviation) * draw.standard_normal((rows, DIMENSIONS), np.float32)
