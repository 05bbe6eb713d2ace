"""The candidate moments that contain at least one of the clips that the first stage found (STAL, Section 3.1)."""

from __future__ import annotations

import numpy as np

from retrieval.systems.data import Floats, Ints
from retrieval.systems.windows import Scales, Windows, clips_in, slide


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
    begins = np.concatenate(
        [[0], np.cumsum(counts + 1)]
    )  # one more for each video, for sums before its first clip
    found = np.zeros(begins[-1], np.int64)
    found[begins[place] + clip + 1] = 1
    sums = np.cumsum(found)
    at = begins[windows.video]
    rows = np.flatnonzero(sums[at + windows.stop] > sums[at + windows.first])
    near = windows.take(rows)
    return Windows(videos[near.video], near.first, near.stop, near.start, near.end)
