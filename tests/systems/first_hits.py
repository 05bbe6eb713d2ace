"""Recall and median rank over all candidate moments of a collection (STAL, Section 4.1), without making a run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from systems.data import Example, Floats, Ints, Rows
from systems.exhaustive import Exhaustive, Index
from systems.neural.contrast import overlaps

IOUS = (0.5, 0.7)
DEPTHS = (1, 10, 100)


def overlaps_of(index: Index, examples: Sequence[Example]) -> list[tuple[int, Floats]]:
    """Return for each example the first window of its video, and the IoU of each window of the video with it."""
    number = {name: place for place, name in enumerate(index.names)}
    offsets = index.windows.offsets(len(index.names))
    found = []
    for example in examples:
        low, high = offsets[number[example.video] : number[example.video] + 2].tolist()
        start, end = index.windows.start[low:high], index.windows.end[low:high]
        found.append((low, overlaps(np.array(example.start), np.array(example.end), start, end)))
    return found


def first_hits(system: Exhaustive, index: Index, examples: Sequence[Example], one_video: bool = False) -> Ints:
    """Return the rank of each example's first hit at each IoU: shape (examples, 2).

    Without a hit it is the rank after the last. Nothing is suppressed.

    Parameters
    ----------
    one_video
        Whether only the moments of the example's own video are ranked.
    """
    known = overlaps_of(index, examples)
    queries = [example.query for example in examples]
    ranks = np.empty((len(examples), len(IOUS)), np.int64)
    for row, scores in enumerate(system.scores(index, queries)):
        low, iou = known[row]
        here = scores[low : low + len(iou)]
        all_scores = here if one_video else scores
        for column, least in enumerate(IOUS):
            ranks[row, column] = _first(here[iou >= least], all_scores)
    return ranks


def _first(hits: Rows | Floats, scores: Rows | Floats) -> int:
    """Return the rank of the best hit; of equal scores, the hits come last."""
    if not len(hits):
        return len(scores) + 1
    best = hits.max()
    return int((scores >= best).sum() - (hits == best).sum() + 1)


def summary(ranks: Ints) -> dict[str, float]:
    """Return R@1, R@10 and R@100 in per cent and the median rank (the lower middle), as means over both IoUs."""
    found = {f"R@{depth}": 100 * float((ranks <= depth).mean()) for depth in DEPTHS}
    middle = np.sort(ranks, axis=0)[(len(ranks) - 1) // 2]
    return found | {"median rank": float(middle.mean())}
