"""Slow rewrites of the measures, one prediction at a time, to hold the fast ones against."""

from math import log2

Span = tuple[str, float, float, float]
Moment = tuple[str, float, float, int]


def iou(p: Span, g: Moment) -> float:
    if p[0] != g[0]:
        return 0.0
    inter = max(0.0, min(p[2], g[2]) - max(p[1], g[1]))
    union = (p[2] - p[1]) + (g[2] - g[1]) - inter
    return inter / union if union > 0 else 0.0


def matched_grades(
    moments: list[Moment], predictions: list[Span], mu: float, strict: bool, lowest: int
) -> list[int]:
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
    return sum((2**g - 1 if exp else g) / log2(i + 2) for i, g in enumerate(grades))


def ndcg(
    moments: list[Moment], predictions: list[Span], mu: float, k: int, exp: bool, strict: bool, lowest: int
) -> float | None:
    ideal = dcg(sorted((m[3] for m in moments), reverse=True)[:k], exp)
    got = dcg(matched_grades(moments, predictions, mu, strict, lowest)[:k], exp)
    return got / ideal if ideal > 0 else None
