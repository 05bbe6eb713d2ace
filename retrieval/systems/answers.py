"""The moments that answer the queries of a training set, and the order in which they are learned from."""

from __future__ import annotations

import numpy as np

from retrieval.systems.data import Data, Ints
from retrieval.systems.errors import SystemsError
from retrieval.systems.windows import Windows, counts_in


def answers(data: Data) -> Windows:
    """Return the examples' moments in the examples' order, with the clips that they touch.

    Raises
    ------
    SystemsError
        If there is no example, or one that does not lie in its video.
    """
    if not data.examples:
        raise SystemsError("there are no examples; expected at least one to learn from")
    unknown = [each.video for each in data.examples if each.video not in data.videos.number]
    if unknown:
        raise SystemsError(f"an example is of video {unknown[0]!r}; expected one that has features")
    video = np.array([data.videos.number[each.video] for each in data.examples], np.int64)
    start = np.array([each.start for each in data.examples], np.float64)
    end = np.minimum([each.end for each in data.examples], data.videos.duration[video])
    seconds, last = data.videos.clip_seconds, counts_in(data.videos)[video]
    wrong = np.flatnonzero(~((start >= 0) & (start < end)) | (last < 1))
    if len(wrong):
        bad = data.examples[wrong[0]]
        raise SystemsError(
            f"an example of video {bad.video!r} is from {bad.start:g} to {bad.end:g} s; expected a moment inside "
            f"its {data.videos.duration[video[wrong[0]]]:g} s, and at least one clip with features"
        )
    first = np.minimum(np.floor(start / seconds + 1e-6).astype(np.int64), last - 1)
    stop = np.clip(np.ceil(end / seconds - 1e-6).astype(np.int64), first + 1, last)
    return Windows(video, first, stop, start, end)


def rows_of_step(number: int, size: int, count: int, seed: int) -> Ints:
    """Return which examples a step learns from; each is seen once before one is seen again.

    Parameters
    ----------
    number, size
        Of the step, from 0, and how many examples it has.
    count
        Of all examples.
    """
    places = np.arange(number * size, (number + 1) * size)
    rows = np.empty(size, np.int64)
    for epoch in range(int(places[0]) // count, int(places[-1]) // count + 1):
        order = np.random.default_rng([seed, 2, epoch]).permutation(count)
        here = places // count == epoch
        rows[here] = order[places[here] % count]
    return rows
