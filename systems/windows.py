"""The moments that a system chooses from: windows of whole clips, slid over each video."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .data import Floats, Ints, Rows, Videos

MOST_CLIPS = 1000  # of a window
WIDEST_STRIDE = 10.0  # as a share of a window's length


@dataclass(frozen=True)
class Scales:
    """The lengths of windows in clips, and their stride as a share of the length (STAL, Section 4.1 and Table 2)."""

    shortest: int = 2
    longest: int = 8
    stride: float = 0.3


@dataclass(frozen=True, eq=False)
class Windows:
    """Candidate moments, sorted by video; each array has shape (windows,).

    video: the video's number.
    first, stop: clips first to stop - 1 of the video.
    start, end: in seconds; the end is cut at the video's end.
    """

    video: Ints
    first: Ints
    stop: Ints
    start: Floats
    end: Floats

    def __len__(self) -> int:
        return len(self.video)

    def offsets(self, videos: int) -> Ints:
        """Return where the windows of each video begin: shape (videos + 1,)."""
        return np.searchsorted(self.video, np.arange(videos + 1)).astype(np.int64)

    def take(self, rows: Ints) -> Windows:
        """Return some of the windows."""
        return Windows(self.video[rows], self.first[rows], self.stop[rows], self.start[rows], self.end[rows])


def clips_in(duration: Floats, clip_seconds: float) -> Ints:
    """Return how many clips videos of these durations have; the last may be short."""
    return np.ceil(duration / clip_seconds - 1e-9).astype(np.int64)


def windows_of(videos: Videos, scales: Scales) -> Windows:
    """Return the candidate moments of a collection (STAL, Section 4.1)."""
    return slide(videos.duration, videos.clip_seconds, scales, counts_in(videos))


def counts_in(videos: Videos) -> Ints:
    """Return how many clips of each video have features and begin before its end."""
    return np.minimum(videos.counts, clips_in(videos.duration, videos.clip_seconds))


def slide(duration: Floats, clip_seconds: float, scales: Scales, counts: Ints | None = None) -> Windows:
    """Slide windows of every scale over videos of these durations, or over so many clips of them.

    A window starts before the video's end, and is cut there. Windows that are equal once they are cut count as one,
    as in the published candidates (49,465 of the test videos of Charades-STA).
    """
    counts = clips_in(duration, clip_seconds) if counts is None else counts
    parts = []
    for length in range(scales.shortest, scales.longest + 1):
        stride = max(1, round(scales.stride * length))
        each = -(-counts // stride)
        video = np.repeat(np.arange(len(counts)), each)
        first = (np.arange(len(video)) - np.repeat(np.cumsum(each) - each, each)) * stride
        parts.append(np.stack([video, first, np.full_like(first, length)]))
    video, first, length = np.concatenate(parts, axis=1)
    stop = np.minimum(first + length, counts[video])
    video, first, stop = np.unique(np.stack([video, first, stop]), axis=1)
    return Windows(video, first, stop, first * clip_seconds, np.minimum(stop * clip_seconds, duration[video]))


def endpoints(start: Floats, end: Floats, duration: Floats) -> Rows:
    """Return temporal endpoint features: start and end as shares of the video's duration: shape (moments, 2)."""
    return np.stack([start / duration, end / duration], axis=1).astype(np.float32)


def overlaps(rows: int, seconds: float, clips: int, clip_seconds: float, duration: float) -> Rows:
    """Return the shares of clips that rows of so many seconds make up: shape (clips, rows); 0 where none overlaps."""
    begins, own = np.arange(clips)[:, None] * clip_seconds, np.arange(rows)[None] * seconds
    ends = np.minimum(begins + clip_seconds, duration)
    common = np.clip(np.minimum(ends, own + seconds) - np.maximum(begins, own), 0, None)
    sums = common.sum(1, keepdims=True)
    return np.asarray(common / np.where(sums > 0, sums, 1), np.float32)
