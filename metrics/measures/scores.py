"""The measures' formulas, as functions on arrays of gains and IoUs; nothing here knows files or conventions.

`best` is always an array of shape (units, width): the highest IoU of each rank with any relevant moment. A
list shorter than the cutoff K is padded with 0; where a formula looks at a running maximum, the maximum of the
list counts for the ranks after its end.
"""

from collections import defaultdict
from collections.abc import Iterable
from math import nan
from typing import NamedTuple

import numpy as np

from ..formats.arrays import Floats, Ints


def gains(grades: Ints, gain: str) -> Floats:
    """Gain of each grade.

    `linear`: the grade (TVR-Ranking, Eq. 1); `exp`: 2^grade − 1; `binary`: 1 from grade 1 up; or one number
    for each grade from 0 up, as in `0+1+3+7+15`; a grade beyond the last has the last one's gain.

    >>> gains(np.array([0, 1, 4]), "exp").tolist(), gains(np.array([0, 1, 4]), "0+2+5").tolist()
    ([0.0, 1.0, 15.0], [0.0, 2.0, 5.0])
    """
    if gain == "exp":
        return np.ldexp(1.0, grades) - 1
    if gain == "linear":
        return grades.astype(np.float64)
    if gain == "binary":
        return (grades > 0).astype(np.float64)
    scale = np.array([float(part) for part in gain.split("+")])
    return np.take(scale, np.minimum(grades, scale.size - 1))


def discounts(discount: str, width: int) -> Floats:
    """Divisor of each rank: log2(rank + 1) (`log2`), the rank (`zipf`), or 1 (`none`)."""
    rank = np.arange(1, width + 1, dtype=np.float64)
    if discount == "log2":
        return np.log2(rank + 1)
    return rank if discount == "zipf" else np.ones(width)


def dcg(gain: Floats, discount: str = "log2") -> Floats:
    """Discounted cumulative gain at every cutoff.

    gain: floats of shape (…, ranks).
    Returns floats of the same shape: DCG@1, DCG@2, … along the last axis. The sum runs rank by rank, as a loop would,
    so that the last bit is the published one. See TVR-Ranking, Equation 1; AxIoU, Equation 15 (there the gain is of an
    IoU).

    Gains 2, 4, 2: 2/1 + 4/1.585 + 2/2.

    >>> dcg(np.array([2.0, 4.0, 2.0])).round(4).tolist()
    [2.0, 4.5237, 5.5237]
    """
    total: Floats = np.cumsum(gain / discounts(discount, gain.shape[-1]), axis=-1)
    return total


def ndcg(got: Floats, ideal: Floats, cutoff: int, discount: str = "log2") -> Floats:
    """DCG@cutoff over the DCG@cutoff of the ideal ranking; NaN where the ideal is 0.

    got: floats of shape (…, units, ranks): the gain of the moment that each rank matched, 0 for none.
    ideal: floats of shape (units, moments): the gains of the best moments, highest first.
    Returns floats of shape (…, units), in [0, 1]. See TVR-Ranking, section 4.

    The paper's Figure 2: the predictions match grades 2, 4, 2; the best possible is 4, 2, 2.

    >>> ndcg(np.array([[2.0, 4.0, 2.0]]), np.array([[4.0, 2.0, 2.0]]), 3).round(4).tolist()
    [0.8821]
    """
    score = dcg(got[..., :cutoff], discount)[..., -1]
    best = dcg(ideal[..., :cutoff], discount)[..., -1]
    out = np.full(score.shape, np.nan)
    np.divide(score, best, out=out, where=np.broadcast_to(best > 0, out.shape))
    return out


def axiou(best: Floats, cutoff: int) -> Floats:
    """Average of the running maximum of IoU over the first `cutoff` ranks; in [0, 1], shape (units,).

    Each rank's share is added one after the other, as the published code adds them, to the last bit. See AxIoU,
    Equation 5.

    IoUs 0.5, 1.0, 0.0: (0.5 + 1 + 1) / 3, and with a list that ends there, (0.5 + 4 × 1) / 5:

    >>> best = np.array([[0.5, 1.0, 0.0]])
    >>> axiou(best, 3).round(4).tolist(), axiou(best, 5).round(4).tolist()
    ([0.8333], [0.9])
    """
    shares = np.maximum.accumulate(best[:, :cutoff], axis=1) / cutoff
    total: Floats = np.cumsum(shares, axis=1)[:, -1]
    for _ in range(cutoff - shares.shape[1]):
        total = total + shares[:, -1]
    return total


def ncxiou(best: Floats, abandon: Floats) -> Floats:
    """Expected maximum of IoU seen by a user who stops at rank k with the probability given for k.

    abandon: floats of shape (units or 1, width): probability of stopping at each rank; what is left to 1 stops at the
    end.
    Returns floats of shape (units,), in [0, 1]. See AxIoU, Equation 4 (and Equations 2 and 3).

    IoUs 0.5 and 1.0; a quarter of the users stop at rank 1, the rest at the end: 0.25 × 0.5 + 0.75 × 1.

    >>> ncxiou(np.array([[0.5, 1.0]]), np.array([[0.25, 0.0]])).tolist()
    [0.875]
    """
    highest = np.maximum.accumulate(best, axis=1)
    rest = 1 - abandon.sum(axis=1)
    total: Floats = (abandon * highest).sum(axis=1) + rest * highest[:, -1]
    return total


def abandonment(kind: str, phi: float, best: Floats, cutoff: int) -> Floats:
    """Probability of stopping at each rank below the last of `cutoff`; the remainder stops at the last.

    `uniform`: 1/K (AxIoU). `geometric`: (1 − φ) φ^(k−1), as in RBP. `err`: the user is satisfied by rank k with
    probability IoU(k), and stops at the first that satisfies, as in ERR. Or numbers for ranks 1, 2, …: `0.5+0.3`.

    >>> abandonment("geometric", 0.5, np.zeros((1, 3)), 3).tolist()
    [[0.5, 0.25, 0.0]]
    """
    seen = best[:, :cutoff]
    rank = np.arange(seen.shape[1])
    if kind == "uniform":
        stop = np.full((1, rank.size), 1 / cutoff)
    elif kind == "geometric":
        stop = ((1 - phi) * phi**rank)[None]
    elif kind == "err":
        before = np.cumprod(1 - seen, axis=1)
        stop = seen * np.concatenate([np.ones((seen.shape[0], 1)), before[:, :-1]], axis=1)
    else:
        given = [float(part) for part in kind.split("+")][: rank.size]
        stop = np.array([given + [0.0] * (rank.size - len(given))])
    stop[:, cutoff - 1 :] = 0.0
    return stop


def success(best: Floats, cutoff: int, threshold: float, strict: bool) -> Floats:
    """1 where some IoU of the first `cutoff` ranks passes the threshold, else 0; shape (units,).

    See AxIoU, Equation 1 (strict); TVRetrieval and STAL (not strict).

    >>> success(np.array([[0.4, 0.5]]), 2, 0.5, strict=True).tolist()
    [0.0]
    >>> success(np.array([[0.4, 0.5]]), 2, 0.5, strict=False).tolist()
    [1.0]
    """
    hit = passes(best[:, :cutoff], threshold, strict).any(axis=1)
    return np.asarray(hit, dtype=np.float64)


def average_precision(best: Floats, cutoff: int, threshold: float, strict: bool) -> Floats:
    """Precision at rank k, averaged over every k up to `cutoff`; in [0, 1], shape (units,).

    See AxIoU, Equation 12: every hit counts, also a redundant one.

    A hit at rank 2 of 2: (0 + 1/2) / 2.

    >>> average_precision(np.array([[0.0, 1.0]]), 2, 0.5, strict=True).tolist()
    [0.25]
    """
    hits = np.cumsum(passes(best[:, :cutoff], threshold, strict), axis=1)
    rank = np.arange(1, cutoff + 1)
    width = hits.shape[1]
    total = (hits / rank[:width]).sum(axis=1) + hits[:, -1] * (1 / rank[width:]).sum()
    return np.asarray(total / cutoff)


def first_hit(best: Floats, threshold: float, strict: bool) -> Ints:
    """Rank, from 1, of the first IoU that passes the threshold; 0 for none: int64 of shape (units,).

    >>> first_hit(np.array([[0.2, 0.6], [0.0, 0.1]]), 0.5, strict=False).tolist()
    [2, 0]
    """
    hit = passes(best, threshold, strict)
    return np.where(hit.any(axis=1), hit.argmax(axis=1) + 1, 0).astype(np.int64)


def passes(iou: Floats, threshold: float, strict: bool) -> Ints:
    """Whether each IoU passes the threshold, compared in the IoU's own precision; as 0 or 1."""
    bar = iou.dtype.type(threshold)
    return (iou > bar if strict else iou >= bar).astype(np.int64)


def interpolated_precision(found: Ints, held: Ints) -> Floats:
    """Average of the interpolated precision over the moments that a query has; NaN where it has none.

    found: whether each rank found a new moment, 0 or 1: shape (…, units, width).
    held: number of moments: shape (units,).
    See Pascal VOC 2011; QVHighlights' mAP.

    One of two moments, at rank 2: precision 1/2 for half of the recall.

    >>> interpolated_precision(np.array([[0, 1]]), np.array([2])).tolist()
    [0.25]
    """
    hits = np.cumsum(found, axis=-1)
    precision = hits / np.arange(1, found.shape[-1] + 1)
    envelope = np.maximum.accumulate(precision[..., ::-1], axis=-1)[..., ::-1]
    total = (envelope * found).sum(axis=-1)
    out: Floats = np.full(total.shape, np.nan)
    np.divide(total, held, out=out, where=np.broadcast_to(held > 0, total.shape))
    return out


class Pooled(NamedTuple):
    """A moment of a pool: its stratum, its grade, -1 if it was not sampled, and whether it is relevant."""

    stratum: str
    grade: int
    relevant: bool


class Inference(NamedTuple):
    """How average precision is inferred.

    by_stratum: whether the strata of the pool were sampled at rates of their own.
    above, below: what is added to the relevant and to the sampled moments of a share of relevant ones.
    most: moments of a list that count, without a cutoff; None for all.
    """

    by_stratum: bool
    above: float
    below: float
    most: int | None


WHOLE_POOL = Inference(False, 1e-5, 2e-5, None)  # trec_eval's infAP
STRATA = Inference(True, 1e-5, 3e-5, 1000)  # NIST's sample_eval


class _Counts:
    """Moments of a stratum: all, those that were sampled, and the relevant ones among these."""

    def __init__(self) -> None:
        self.pooled = self.sampled = self.relevant = 0

    def add(self, moment: Pooled) -> None:
        self.pooled += 1
        self.sampled += moment.grade >= 0
        self.relevant += moment.relevant


def inferred_average_precision(
    found: Iterable[Pooled | None], pool: Iterable[Pooled], way: Inference, most: int | None
) -> float:
    """Average precision of a list, inferred from a sample of the pool (Yilmaz, Kanoulas and Aslam, 2008); NaN if no
    sampled moment is relevant.

    At each relevant moment at rank k the precision is 1/k and, for the ranks before it, what is expected there: in each
    stratum the share of relevant moments among the sampled ones so far. Each stratum's relevant moments stand for as
    many as it is expected to have.

    found: the moments of the list, None for one outside the pool. most: the length of the longest list that is looked
    at; if more are expected to be relevant, that many are the most that a list can find.

    Ranks 1 and 3 are relevant; of the two moments before rank 3, which are in the pool, one is sampled:

    >>> one, other, left = Pooled("", 1, True), Pooled("", 1, True), Pooled("", -1, False)
    >>> round(inferred_average_precision([one, left, other], [one, other, left], WHOLE_POOL, None), 4)
    1.0
    """
    whole = defaultdict[str, _Counts](_Counts)
    for pooled in pool:
        whole[pooled.stratum if way.by_stratum else ""].add(pooled)
    weight = {name: counts.pooled / counts.sampled for name, counts in whole.items() if counts.sampled}
    expected = sum(weight[name] * whole[name].relevant for name in weight)
    if not expected:
        return nan
    so_far, total = defaultdict[str, _Counts](_Counts), 0.0
    for rank, moment in enumerate(found, 1):
        if moment is None:
            continue
        name = moment.stratum if way.by_stratum else ""
        if moment.relevant:
            before = sum(
                each.pooled * (each.relevant + way.above) / (each.sampled + way.below) for each in so_far.values()
            )
            total += weight[name] * (1 + before) / rank
        so_far[name].add(moment)
    value = total / expected
    return value * expected / most if way.by_stratum and most and expected > most else value
