"""Temporal IoU, and the kernel that pairs predictions with judged moments; every measure of IoU is built on it.

Only predictions and moments of the same query and video can meet, so the kernel never builds the full
query × prediction × moment block: it joins on (query, video), computes IoU for the pairs that exist, and
walks down the ranks once, for all queries, runs and thresholds together.
"""

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from ..formats.arrays import Bools, Floats, Ints
from ..formats.errors import MeasureError, show

BLOCK = 40_000  # pairs at a time: what is computed on them stays in the cache


def temporal_iou(start: Floats, end: Floats, other_start: Floats, other_end: Floats, union: str = "lengths") -> Floats:
    """Intersection over union of spans of time, element by element.

    Parameters
    ----------
    start, end, other_start, other_end : floats
        Arrays that broadcast against each other: seconds. A span whose end lies before its start has IoU 0
        with everything. float32 input is computed in float32, as TVRetrieval's evaluator does.
    union : {"lengths", "hull"}, default "lengths"
        ``lengths``: the sum of both lengths less the intersection (TVR-Ranking, SPR, STAL).
        ``hull``: latest end less earliest start (AxIoU, TVRetrieval, QVHighlights R1). The two agree wherever
        the spans overlap, except in the last bit; the last bit decides at a threshold.

    Returns
    -------
    floats of the broadcast shape
        In [0, 1]; 0 where the union is not positive.

    See Also
    --------
    temporal_nms : Drops predictions that overlap better ones.

    References
    ----------
    TVR-Ranking, section 4, Figure 2(a); AxIoU, section 3.1.

    Examples
    --------
    Half of a ten-second moment, and nothing of it:

    >>> import numpy as np
    >>> temporal_iou(np.array([0.0, 20.0]), np.array([5.0, 30.0]), np.array([0.0]), np.array([10.0])).tolist()
    [0.5, 0.0]
    """
    inter = np.maximum(0, np.minimum(end, other_end) - np.maximum(start, other_start))
    if union == "hull":
        total = np.maximum(end, other_end) - np.minimum(start, other_start)
    else:
        total = (end - start) + (other_end - other_start) - inter
    iou: Floats = np.zeros_like(total)
    np.divide(inter, total, out=iou, where=total > 0)
    return iou


def check_threshold(iou: object) -> None:
    """Raise MeasureError for a threshold of IoU that is not a number in [0, 1]."""
    if not isinstance(iou, int | float | np.number) or not 0 <= iou <= 1:
        raise MeasureError(f"threshold {show(iou)} must be a number from 0 to 1")


class Spans(NamedTuple):
    """Spans of time. unit: int64, the query (and run) a span belongs to; video: int64 code; seconds."""

    unit: Ints
    video: Ints
    start: Floats
    end: Floats

    def take(self, rows: Ints) -> "Spans":
        return Spans(self.unit[rows], self.video[rows], self.start[rows], self.end[rows])

    def single(self) -> "Spans":
        """The same spans with their times in float32."""
        start, end = (cast("Floats", times.astype(np.float32)) for times in (self.start, self.end))
        return self._replace(start=start, end=end)


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


def join(
    predictions: Spans, rank: Ints, moments: Spans, union: str = "lengths", least: float = 0.0, strict: bool = False
) -> Pairs:
    """Pair every prediction with the moments of its unit and video, and compute their IoU.

    rank: int64 of shape (predictions,): rank of each prediction within its unit, from 0.
    moments: spans of shape (moments,), in the order that breaks ties of IoU.
    least, strict: pairs whose IoU is below `least` (or, if strict, not above it) are not kept. Beyond the inputs and
    the pairs that are kept, memory does not grow with the number of pairs.
    """
    first, count, by_key = _ranges(predictions, moments)
    order = np.argsort(_small(rank), kind="stable")
    first, count, ranked = first[order], count[order], predictions.take(order)
    sorted_moments = moments.take(by_key)
    total = np.concatenate([[0], np.cumsum(count)])
    found: list[tuple[Ints, Ints, Floats]] = []
    for low, high in _blocks(total):
        sizes = count[low:high]
        here = np.repeat(np.arange(low, high), sizes)
        there = np.arange(total[low], total[high]) + np.repeat(first[low:high] - total[low:high], sizes)
        if (least > 0 or strict) and union != "video":
            here, there = _meeting(ranked, sorted_moments, here, there)
        iou = _iou(ranked, sorted_moments, here, there, union)
        keep = _passing(iou, least, strict)
        found.append((order[here[keep]], by_key[there[keep]], iou[keep]))
    prediction, moment, iou = (np.concatenate(column) for column in zip(*found, strict=True))
    return Pairs(prediction, moment, iou, rank[prediction], rank.size, moments.unit.size)


def _ranges(predictions: Spans, moments: Spans) -> tuple[Ints, Ints, Ints]:
    """For each prediction the moments of its unit and video, which are neighbours in the order `by_key`: the
    position of the first, and their number.
    """
    videos = 1 + max(predictions.video.max(initial=-1), moments.video.max(initial=-1))
    key = moments.unit * videos + moments.video
    by_key = np.argsort(key, kind="stable").astype(np.int64)
    wanted = predictions.unit * videos + predictions.video
    if key.size == 0:
        return np.zeros_like(wanted), np.zeros_like(wanted), by_key
    starts = np.flatnonzero(np.diff(key[by_key], prepend=-1))
    present, sizes = key[by_key][starts], np.diff(starts, append=key.size)
    at = np.minimum(np.searchsorted(present, wanted), present.size - 1)
    return starts[at], np.where(present[at] == wanted, sizes[at], 0), by_key


def _blocks(total: Ints) -> list[tuple[int, int]]:
    """Slices of predictions with at most BLOCK pairs each (or one prediction)."""
    bounds = [0]
    while bounds[-1] < total.size - 1:
        reach = int(np.searchsorted(total, total[bounds[-1]] + BLOCK, side="right")) - 1
        bounds.append(max(reach, bounds[-1] + 1))
    return list(pairwise(bounds)) or [(0, 0)]


def _meeting(predictions: Spans, moments: Spans, here: Ints, there: Ints) -> tuple[Ints, Ints]:
    """Only the pairs that overlap at all: the others have IoU 0, and most pairs are others."""
    meet = (predictions.start[here] < moments.end[there]) & (moments.start[there] < predictions.end[here])
    kept = np.flatnonzero(meet)
    return here[kept], there[kept]


def _iou(predictions: Spans, moments: Spans, here: Ints, there: Ints, union: str) -> Floats:
    if union == "video":
        return np.ones(here.size)
    p, m = predictions, moments
    return temporal_iou(p.start[here], p.end[here], m.start[there], m.end[there], union)


def _passing(iou: Floats, threshold: float, strict: bool) -> Bools:
    bar = iou.dtype.type(threshold)
    return np.asarray(iou > bar if strict else iou >= bar)


def match(pairs: Pairs, thresholds: Floats, strict: bool) -> Ints:
    """Match greedily down the ranks: each prediction takes the free moment with the highest IoU that passes.

    pairs: from `join`.
    thresholds: floats of shape (thresholds,), in [0, 1].
    strict: whether IoU must exceed the threshold (True) or may equal it.
    Returns int64 of shape (thresholds, predictions): the row of the matched moment, -1 for none. Of moments with the
    same IoU the first row wins. See TVR-Ranking, section 4.

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
    """Match all predictions of one rank; they are of different units, so that no two compete for a moment."""
    prediction, moment = pairs.prediction[here], pairs.moment[here]
    groups = np.flatnonzero(np.diff(prediction, prepend=-1))
    value = np.where(fits[:, here] & free[:, moment], pairs.iou[here], -1.0)
    top = np.maximum.reduceat(value, groups, axis=1)
    sizes = np.diff(groups, append=prediction.size)
    pair = np.where(value == np.repeat(top, sizes, axis=1), np.arange(prediction.size), prediction.size)
    first = np.minimum.reduceat(pair, groups, axis=1)
    threshold, group = np.nonzero(top >= 0)
    winner = first[threshold, group]
    free[threshold, moment[winner]] = False
    matched[threshold, prediction[winner]] = moment[winner]


def passing(pairs: Pairs, threshold: float, strict: bool) -> Pairs:
    """Only the pairs whose IoU passes the threshold."""
    keep = _passing(pairs.iou, threshold, strict)
    return replace(
        pairs, prediction=pairs.prediction[keep], moment=pairs.moment[keep], iou=pairs.iou[keep], rank=pairs.rank[keep]
    )


def best(pairs: Pairs) -> Floats:
    """Highest IoU of every prediction with any moment, 0 for none: shape (predictions,).

    >>> one = np.zeros(2, dtype=np.int64)
    >>> spans = Spans(one, one, np.array([0.0, 2.0]), np.array([10.0, 12.0]))
    >>> predictions = Spans(one, one, np.array([0.0, 2.0]), np.array([9.0, 12.0]))
    >>> best(join(predictions, np.array([0, 1]), spans)).tolist()
    [0.9, 1.0]
    """
    highest = np.zeros(pairs.predictions, dtype=pairs.iou.dtype)
    if pairs.prediction.size:
        groups = np.flatnonzero(np.diff(pairs.prediction, prepend=-1))
        highest[pairs.prediction[groups]] = np.maximum.reduceat(pairs.iou, groups)
    return highest


def by_two_annotators(pairs: Pairs, moment_of: Ints, moments: int) -> Pairs:
    """Merge the annotations of each moment: its IoU is the second highest of them, or the only one.

    A threshold is then passed exactly when at least two of several annotations pass it (TVRetrieval on DiDeMo, STAL).

    pairs: pairs of predictions with annotations; annotations of one moment are neighbours.
    moment_of: int64 of shape (annotations,): row of the moment that each annotation belongs to.
    """
    moment = moment_of[pairs.moment]
    fresh = (np.diff(pairs.prediction, prepend=-1) != 0) | (np.diff(moment, prepend=-1) != 0)
    groups = np.flatnonzero(fresh)
    sizes = np.diff(groups, append=moment.size)
    order = np.lexsort((-pairs.iou, np.cumsum(fresh)))
    second = order[groups + (sizes > 1)]
    return Pairs(
        pairs.prediction[groups], moment[groups], pairs.iou[second], pairs.rank[groups], pairs.predictions, moments
    )


def ranks(unit: Ints) -> Ints:
    """Rank of each row within its unit, from 0; rows of one unit must be neighbours."""
    starts = np.flatnonzero(np.diff(unit, prepend=-1))
    rank: Ints = np.arange(unit.size) - np.repeat(starts, np.diff(starts, append=unit.size))
    return rank


def _small(values: Ints) -> NDArray[np.integer[Any]]:
    """The narrowest type that holds the values: NumPy sorts 16-bit integers by radix."""
    if values.max(initial=0) < 2**16:
        return values.astype(np.uint16)
    return values
