"""Temporal non-maximum suppression: of predictions that overlap too much, only the best-scored stays."""

from dataclasses import replace
from typing import Any

import numpy as np

from ..formats.arrays import Bools, Ints
from ..formats.runs import as_run
from ..formats.tables import Run
from ..measures.matching import Pairs, Spans, check_threshold, join, ranks


def temporal_nms(source: Any, iou: float) -> Run:
    """The run without predictions that overlap a better one of their query and video too much.

    Predictions are looked at by score, highest first; of equal scores the first in the list. One is dropped if its IoU
    with a prediction that was kept is higher than the threshold. What is kept stays in its order, with its score.

    Parameters
    ----------
    source : Run, path, dict or data frame
        See `as_run`.
    iou : float
        Threshold in [0, 1].

    Returns
    -------
    Run

    Raises
    ------
    MeasureError
        For a threshold that is not between 0 and 1, and a run that cannot be read.

    See Also
    --------
    fuse : Several runs as one, in which moments may overlap.

    Examples
    --------
    >>> run = {"1": [("a", 0, 10, 0.5), ("a", 1, 10, 0.9), ("b", 0, 10, 0.1)]}
    >>> temporal_nms(run, 0.6).start.tolist()
    [1.0, 0.0]

    Of equal scores the first in the list stays:

    >>> temporal_nms({"1": [("a", 0, 10, 0.5), ("a", 1, 10, 0.5)]}, 0.6).start.tolist()
    [0.0]
    """
    check_threshold(iou)
    run = as_run(source)
    spans = Spans(run.query_of_row(), run.video, run.start, run.end)
    order = np.lexsort((-run.scores, spans.unit)).astype(np.int64)
    rank = np.empty_like(order)
    rank[order] = ranks(spans.unit[order])
    kept = kept_down_the_ranks(join(spans, rank, spans, "lengths", iou, strict=True), rank)
    sizes = np.bincount(spans.unit[kept], minlength=len(run))
    return replace(
        run,
        offsets=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        video=run.video[kept],
        start=run.start[kept],
        end=run.end[kept],
        scores=run.scores[kept],
    )


def kept_down_the_ranks(pairs: Pairs, rank: Ints) -> Bools:
    """Which predictions stay, given the pairs of predictions that overlap too much: bool of shape
    (predictions,).

    It goes down the ranks of all lists together: what is still there at its rank drops the later ones of its
    pairs.
    """
    kept = np.ones(rank.size, dtype=np.bool_)
    later = rank[pairs.moment] > pairs.rank
    first, second, at = pairs.prediction[later], pairs.moment[later], pairs.rank[later]
    bounds = np.flatnonzero(np.diff(at, prepend=-1, append=-1)) if at.size else np.zeros(1, dtype=np.int64)
    for low, high in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        kept[second[low:high][kept[first[low:high]]]] = False
    return kept
