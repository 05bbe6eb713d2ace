"""Two stages (STAL, Section 3.1): the clips nearest to a query, and the moments around them, ranked by a cost."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..data import Floats, Ints, Rows
from ..ranking import Ranked, rank
from ..windows import Scales, Windows, clips_in, slide
from .chamfer import chamfer, squared_distances
from .index import ClipIndex, Found

CLIPS = 200  # that the first stage finds, as in the paper
Cost = Callable[[Windows], Floats]


def rank_around(
    index: ClipIndex, found: Found, scales: Scales, cost: Cost, depth: int = 100, nms: float = 1.0
) -> Ranked:
    """Rank all moments that contain at least one of the clips that were found for a query.

    Parameters
    ----------
    cost
        A function that returns the costs of moments, of which the lowest is the best. `Windows.video` are the videos'
        numbers in the index.
    depth
        How many moments are wanted.
    nms
        IoU above which a moment is dropped for a better one of its video; 1 keeps all.
    """
    windows = windows_around(found.video, found.clip, index.durations(found.video), index.plan.clip_seconds, scales)
    scores = -cost(windows) if len(windows) else np.empty(0)
    return rank(windows, scores, depth, nms)


def chamfer_cost(index: ClipIndex, words: Rows) -> Cost:
    """Return the cost that compares the vectors of the index themselves with those of a query's words (Equation 2).

    Parameters
    ----------
    words
        Shape (words, d), float32.
    """

    def cost(windows: Windows) -> Floats:
        videos, place = np.unique(windows.video, return_inverse=True)
        clips, begins = index.clips_of(videos)
        distances = squared_distances(index.rows(clips), words)
        return chamfer(distances, begins[place] + windows.first, begins[place] + windows.stop)

    return cost


def windows_around(video: Ints, clip: Ints, duration: Floats, clip_seconds: float, scales: Scales) -> Windows:
    """Return the windows that contain one of the clips, those of each video in the order of `slide`.

    Parameters
    ----------
    video, clip
        The clips: the number of the video, and of the clip within it. Shape (clips,).
    duration
        Of each clip's video, in seconds: shape (clips,).
    """
    videos, one, place = np.unique(video, return_index=True, return_inverse=True)
    windows = slide(duration[one], clip_seconds, scales)
    counts = clips_in(duration[one], clip_seconds)
    # One more for each video, for sums before its first clip.
    begins = np.concatenate([[0], np.cumsum(counts + 1)])
    found = np.zeros(begins[-1], np.int64)
    found[begins[place] + clip + 1] = 1
    sums = np.cumsum(found)
    at = begins[windows.video]
    rows = np.flatnonzero(sums[at + windows.stop] > sums[at + windows.first])
    near = windows.take(rows)
    return Windows(videos[near.video], near.first, near.stop, near.start, near.end)
