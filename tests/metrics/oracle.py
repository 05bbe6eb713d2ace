"""Slow rewrites of the measures, one prediction at a time, to hold the fast ones against.

Where the published code adds one rank after the other, so do these: `added` and not `sum`, which from Python 3.12 on
rounds once at the end.
"""

from collections.abc import Iterable
from math import log2

Span = tuple[str, float, float, float]
Moment = tuple[str, float, float, int]


def added(terms: Iterable[float]) -> float:
    total = 0.0
    for term in terms:
        total += term
    return total


def iou(p: Span, g: Moment) -> float:
    if p[0] != g[0]:
        return 0.0
    inter = max(0.0, min(p[2], g[2]) - max(p[1], g[1]))
    union = (p[2] - p[1]) + (g[2] - g[1]) - inter
    return inter / union if union > 0 else 0.0


def matched_grades(moments: list[Moment], predictions: list[Span], mu: float, strict: bool, lowest: int) -> list[int]:
    pool = sorted((m for m in moments if m[3] >= lowest), key=lambda m: -m[3])
    grades = []
    for p in predictions:
        best, best_iou = None, -1.0
        for i, g in enumerate(pool):
            if g[0] == p[0] and iou(p, g) > best_iou:
                best, best_iou = i, iou(p, g)
        if best is not None and (best_iou > mu if strict else best_iou >= mu):
            grades.append(pool.pop(best)[3])
        else:
            grades.append(0)
    return grades


def dcg(grades: list[int], exp: bool) -> float:
    return added((2**g - 1 if exp else g) / log2(i + 2) for i, g in enumerate(grades))


def ndcg(
    moments: list[Moment], predictions: list[Span], mu: float, k: int, exp: bool, strict: bool, lowest: int
) -> float | None:
    ideal = dcg(sorted((m[3] for m in moments), reverse=True)[:k], exp)
    got = dcg(matched_grades(moments, predictions, mu, strict, lowest)[:k], exp)
    return got / ideal if ideal > 0 else None


def hull_iou(p: Span, g: Moment) -> float:
    if p[0] != g[0]:
        return 0.0
    inter = max(0.0, min(p[2], g[2]) - max(p[1], g[1]))
    union = max(p[2], g[2]) - min(p[1], g[1])
    return inter / union if union > 0 else 0.0


def relevance(moments: list[Moment], predictions: list[Span], rel: int = 1, hull: bool = False) -> list[float]:
    """Highest IoU of each prediction with a relevant moment."""
    good = [m for m in moments if m[3] >= rel]
    return [max(((hull_iou if hull else iou)(p, g) for g in good), default=0.0) for p in predictions]


def passes(r: float, theta: float, strict: bool) -> bool:
    return r > theta if strict else r >= theta


def success(r: list[float], k: int, theta: float, strict: bool) -> float:
    return float(any(passes(x, theta, strict) for x in r[:k]))


def running_maximum(r: list[float], k: int) -> list[float]:
    return [max(r[: n + 1], default=0.0) for n in range(k)]


def axiou(r: list[float], k: int, lb: float = 0.0) -> float:
    r = [max(0.0, (x - lb) / (1 - lb)) for x in r]
    return added(highest / k for highest in running_maximum(r, k))


def ncxiou(r: list[float], k: int, kind: str, phi: float = 0.8) -> float:
    left, total = 1.0, 0.0
    for n, best in enumerate(running_maximum(r, k)):
        seen = r[n] if n < len(r) else 0.0
        share = {"uniform": 1 / k, "geometric": (1 - phi) * phi**n, "err": left * seen}[kind]
        stop = left if n == k - 1 else share
        total += stop * best
        left -= stop
    return total


def average_precision(r: list[float], k: int, theta: float, strict: bool) -> float:
    padded = r + [0.0] * k
    hits = [passes(x, theta, strict) and (n < len(r)) for n, x in enumerate(padded)]
    return sum(sum(hits[: n + 1]) / (n + 1) for n in range(k)) / k


def dcg_of_iou(r: list[float], k: int, exp: bool) -> float:
    return sum((2**x - 1 if exp else x) / log2(n + 2) for n, x in enumerate(r[:k]))


def hit_rank(r: list[float], theta: float, strict: bool, miss: int) -> int:
    return next((n for n, x in enumerate(r, 1) if passes(x, theta, strict)), miss)


def found(moments: list[Moment], predictions: list[Span], mu: float, rel: int, strict: bool) -> list[bool]:
    """Whether each prediction finds a new relevant moment, by greedy matching."""
    pool = [(m[0], m[1], m[2], 1) for m in sorted(moments, key=lambda m: -m[3]) if m[3] >= rel]
    return [grade > 0 for grade in matched_grades(pool, predictions, mu, strict, 1)]


def interpolated(hits: list[bool], held: int) -> float:
    precision = [sum(hits[: n + 1]) / (n + 1) for n in range(len(hits))]
    return sum(max(precision[n:]) for n, hit in enumerate(hits) if hit) / held
