"""Vectors of clips for the benchmarks of two stages, drawn block by block, so that memory does not bound them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from systems.data import Rows, Videos

CLIPS, SECONDS, DIMENSIONS = 20, 3.0, 100  # of a video, as in STAL's Section 4.3
VIDEOS_AT_A_TIME = 5_000
VIDEOS_OF_A_SCENE, SCENES_OF_A_TOPIC = 11, 100
CENTRES, STEEPNESS = 3_000, 0.75  # the n-th number of a spectrum has a deviation of n to the power of -STEEPNESS


@dataclass(frozen=True)
class Drawn:
    """A collection of so many videos.

    Attributes
    ----------
    kind
        ``clustered``: clips lie around videos (standard deviation 0.6), these around scenes (0.4), these around topics
        (0.4), whose numbers are standard normal. ``uniform``: all numbers are uniform in [0, 1), as in the paper.
        ``spectrum``: clips lie around 3,000 centres (half a standard deviation), and the numbers of both get smaller.
        ``gap``: clips lie around 3,000 centres (0.6); queries are moved by one vector of standard normal numbers, and
        each by noise (0.5).
    """

    videos: int
    kind: str = "clustered"

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
        """Return queries, which lie where clips do, but for those with a gap to them."""
        return self._queries(count, -2)

    def others(self, count: int) -> Rows:
        """Return other queries of the same kind."""
        return self._queries(count, -3)

    def _queries(self, count: int, seed: int) -> Rows:
        found = self._clips(count, 1, seed)
        if self.kind == "gap":
            draw = np.random.default_rng([4, seed % 2**32])
            found += _normal(np.random.default_rng(4), 1, 1) + _normal(draw, count, 0.5)
        return found

    def _clips(self, videos: int, each: int, seed: int) -> Rows:
        draw = np.random.default_rng([3, seed % 2**32])
        if self.kind == "uniform":
            return draw.random((videos * each, DIMENSIONS), np.float32)
        if self.kind != "clustered":
            sizes = np.arange(1, DIMENSIONS + 1, dtype=np.float32) ** -STEEPNESS if self.kind == "spectrum" else 1
            centres = _normal(np.random.default_rng(2), CENTRES, 1)
            around = _normal(draw, videos * each, 0.5 if self.kind == "spectrum" else 0.6)
            return np.asarray((centres[draw.integers(CENTRES, size=videos * each)] + around) * sizes, np.float32)
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
