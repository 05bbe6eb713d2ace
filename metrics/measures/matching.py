"""The one kernel that pairs predictions with judged moments; every IoU measure stands on it.

Only predictions and moments of the same query and video can meet, so the kernel never builds the full
query × prediction × moment block: it joins on (query, video), computes IoU for the pairs that exist, and
walks down the ranks once, for all queries, runs and thresholds together.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from metrics.measures.arrays import Bools, Floats, Ints
from metrics.measures.iou import temporal_iou


class Spans(NamedTuple):
    """Spans of time. unit: int64, the query (and run) a span belongs to; video: int64 code; seconds."""

    unit: Ints
    video: Ints
    start: Floats
    end: Floats

    def take(self, rows: Ints) -> "Spans":
        return Spans(self.unit[rows], self.video[rows], self.start[rows], self.end[rows])


@dataclass(frozen=True, eq=False)
class Pairs:
    """Prediction–moment pairs of the same unit and video, by rank, then prediction, then moment.

    prediction, moment: int64 of shape (pairs,), row numbers; iou: float of shape (pairs,), in [0, 1].
    rank: int64 of shape (pairs,), from 0. predictions: the number of predictions; units: of units.
    """

    prediction: Ints
    moment: Ints
    iou: Floats
    rank: Ints
    predictions: int
    moments: int


def join(predictions: Spans, rank: Ints, moments: Spans, union: str = "lengths") -> Pairs:
    """Pair every prediction with the moments of its unit and video, and compute their IoU.

    Parameters
    ----------
    predictions
        Spans of shape (predictions,).
    rank
        int64 of shape (predictions,): rank of each prediction within its unit, from 0.
    moments
        Spans of shape (moments,), in the order that breaks ties of IoU.
    union
        See `temporal_iou`.
    """
    videos = 1 + max(predictions.video.max(initial=-1), moments.video.max(initial=-1))
    key = moments.unit * videos + moments.video
    by_key = np.argsort(key, kind="stable")
    sorted_key = key[by_key]
    order = np.argsort(_small(rank), kind="stable")
    wanted = (predictions.unit * videos + predictions.video)[order]
    first = np.searchsorted(sorted_key, wanted, side="left")
    count = np.searchsorted(sorted_key, wanted, side="right") - first
    prediction = np.repeat(order, count)
    within = np.arange(prediction.size) - np.repeat(np.cumsum(count) - count, count)
    moment = by_key[np.repeat(first, count) + within]
    iou = temporal_iou(
        predictions.start[prediction],
        predictions.end[prediction],
        moments.start[moment],
        moments.end[moment],
        union,
    )
    return Pairs(prediction, moment, iou, rank[prediction], rank.size, moments.unit.size)


def match(pairs: Pairs, thresholds: Floats, strict: bool) -> Ints:
    """Match greedily down the ranks: each prediction takes the free moment with the highest IoU that passes.

    Parameters
    ----------
    pairs
        From `join`.
    thresholds
        Floats of shape (thresholds,), in [0, 1].
    strict
        Whether IoU must exceed the threshold (True) or may equal it.

    Returns
    -------
    int64 of shape (thresholds, predictions): the row of the matched moment, -1 for none. Of moments with the
    same IoU the first row wins.

    References
    ----------
    TVR-Ranking, section 4.

    Examples
    --------
    The first prediction takes the moment it fits best, the second gets the one that is left:

    >>> one = np.zeros(2, dtype=np.int64)
    >>> spans = Spans(one, one, np.array([0.0, 2.0]), np.array([10.0, 12.0]))
    >>> pairs = join(Spans(one, one, np.array([0.0, 0.0]), np.array([9.0, 10.0])), np.array([0, 1]), spans)
    >>> match(pairs, np.array([0.5, 0.95]), strict=False).tolist()
    [[0, 1], [-1, 0]]
    """
    matched = np.full((thresholds.size, pairs.predictions), -1, dtype=np.int64)
    pairs = passing(pairs, float(thresholds.min(initial=np.inf)), strict)
    free = np.ones((thresholds.size, pairs.moments), dtype=np.bool_)
    bar = thresholds.astype(pairs.iou.dtype)[:, None]
    fits = pairs.iou > bar if strict else pairs.iou >= bar
    bounds = np.flatnonzero(np.diff(pairs.rank, prepend=-1, append=-1)) if pairs.rank.size else np.array([0])
    for low, high in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        _match_rank(pairs, fits, free, matched, slice(low, high))
    return matched


def _match_rank(pairs: Pairs, fits: Bools, free: Bools, matched: Ints, here: slice) -> None:
    """Settle all predictions of one rank; no two of them share a moment, as no two share a unit."""
    prediction, moment = pairs.prediction[here], pairs.moment[here]
    groups = np.flatnonzero(np.diff(prediction, prepend=-1))
    value = np.where(fits[:, here] & free[:, moment], pairs.iou[here], -1.0)
    top = np.maximum.reduceat(value, groups, axis=1)
    sizes = np.diff(groups, append=prediction.size)
    place = np.where(value == np.repeat(top, sizes, axis=1), np.arange(prediction.size), prediction.size)
    first = np.minimum.reduceat(place, groups, axis=1)
    threshold, group = np.nonzero(top >= 0)
    winner = first[threshold, group]
    free[threshold, moment[winner]] = False
    matched[threshold, prediction[winner]] = moment[winner]


def passing(pairs: Pairs, threshold: float, strict: bool) -> Pairs:
    """Only the pairs whose IoU passes the threshold."""
    bar = pairs.iou.dtype.type(threshold)
    keep = pairs.iou > bar if strict else pairs.iou >= bar
    return Pairs(
        pairs.prediction[keep],
        pairs.moment[keep],
        pairs.iou[keep],
        pairs.rank[keep],
        pairs.predictions,
        pairs.moments,
    )


def _small(values: Ints) -> NDArray[np.integer[Any]]:
    """The narrowest type that holds the values: NumPy sorts 16-bit integers by radix."""
    if values.max(initial=0) < 2**16:
        return values.astype(np.uint16)
    return values
