"""Temporal non-maximum suppression of one query's ranking, which stops when the ranking is deep enough."""

from __future__ import annotations

import numpy as np

from retrieval.systems.data import Floats, Ints


def suppress(video: Ints, start: Floats, end: Floats, threshold: float, depth: int) -> Ints:
    """Return the rows that stay, best first: at most `depth`.

    A moment is dropped if its IoU with a better one of its video that stays is higher than the threshold, as in
    `metrics.temporal_nms`.

    Parameters
    ----------
    video, start, end
        Moments, best first: shape (moments,). Times are in seconds.
    threshold
        From 0 to 1; at 1 nothing is dropped.
    """
    if threshold >= 1:
        return np.arange(min(depth, len(video)), dtype=np.int64)
    kept: list[int] = []
    spans: dict[int, list[tuple[float, float]]] = {}
    for row, (number, begin, finish) in enumerate(
        zip(video.tolist(), start.tolist(), end.tolist(), strict=True)
    ):
        if len(kept) == depth:
            break
        here = spans.setdefault(number, [])
        if all(_iou(begin, finish, *other) <= threshold for other in here):
            here.append((begin, finish))
            kept.append(row)
    return np.array(kept, dtype=np.int64)


def _iou(start: float, end: float, other_start: float, other_end: float) -> float:
    shared = min(end, other_end) - max(start, other_start)
    if shared <= 0:
        return 0.0
    return shared / (end - start + other_end - other_start - shared)
