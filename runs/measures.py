"""Which measures runs are scored by under each convention: those of its evaluator's table, and some more; and the
numbers of a run by them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from metrics import CONVENTIONS, Measure, default_measures, parse_measures
from metrics.analysis.compare import bootstrap_columns
from metrics.analysis.predictions import highest
from metrics.measures.results import Scores

USUAL = "paper"
CUTOFFS = (10, 20, 40)
THRESHOLDS = (0.3, 0.5, 0.7)


def _each(pattern: str, cutoffs: Sequence[int], thresholds: Sequence[float] = ()) -> list[str]:
    return [pattern.format(iou=iou, k=k) for k in cutoffs for iou in thresholds or (None,)]


NDCG = _each("nDCG_IoU(iou={iou})@{k}", CUTOFFS, THRESHOLDS)
HEADLINE = NDCG[4]  # NDCG@20 at IoU 0.5
RECALL = _each("Recall_IoU(iou={iou})@{k}", CUTOFFS, THRESHOLDS)
AXIOU = _each("AxIoU@{k}", (1, 5, 10))
JUDGED = _each("Judged@{k}", CUTOFFS)
VIDEOS = _each("Success_Video@{k}", (1, 5, 10, 100))


def hits(cutoffs: Sequence[int], thresholds: Sequence[float]) -> list[str]:
    """Return the names of R@K,θ for each cutoff and threshold."""
    return _each("Success_IoU(iou={iou})@{k}", cutoffs, thresholds)


FURTHER = {  # measures beside those of the convention's table
    "paper": [
        *(*RECALL, *hits((1, 5, 10, 100), THRESHOLDS), *AXIOU, *VIDEOS, *JUDGED, "AP_IoU(iou=0.5)@10"),
        *("mAP_IoU(iou=0.5)", "MedianRank(iou=0.5)", "nDCG@20", "P@10", "AP"),
    ],
    "released": [*hits((1, 5, 10), THRESHOLDS), *AXIOU, *JUDGED],
    "spr": RECALL,
}
NAMES = {  # a release has no saliency and, unlike TRECVID's, no sampled pools
    name: [*(str(m) for m in default_measures(name) if m.definition.family != "highlight"), *FURTHER.get(name, [])]
    for name in CONVENTIONS
    if name != "trecvid"
}


@cache
def measures_of(convention: str) -> list[Measure]:
    """Return the usual measures of a convention."""
    return parse_measures(NAMES[convention])


def further_of(convention: str, names: Sequence[str]) -> list[Measure]:
    """Return the further measures, named by somebody, that a convention scores beside its usual ones.

    A family of measures whose options a convention shares with `paper` has the same scores under both, so it is scored
    under `paper` alone.
    """
    usual, own, paper = measures_of(convention), CONVENTIONS[convention], CONVENTIONS[USUAL]
    wanted = [measure for measure in parse_measures(names) if measure not in usual]
    families = {measure: measure.definition.family for measure in wanted}
    wanted = [measure for measure in wanted if families[measure] in own.families]
    return [m for m in wanted if convention == USUAL or own.options(families[m]) != paper.options(families[m])]


class Numbers(NamedTuple):
    """A score by one measure, the ends of its interval over queries, and the value of each query."""

    measure: str
    value: float | None
    low: float | None
    high: float | None
    values: NDArray[np.float64]


def numbers_of(scores: Scores) -> Iterator[Numbers]:
    """Yield the numbers of a run by each measure, in the order of the measures."""
    values = scores.columns()
    most = [highest(measure, scores.convention) for measure in scores.measures]
    low, high = bootstrap_columns(np.stack(values, axis=1), most=most)
    for n, (measure, value) in enumerate(scores.aggregate().items()):
        is_mean = measure.definition.aggregate == "mean" and scores.groups[n] is None and value is not None
        ends = (float(low[n]), float(high[n])) if is_mean else (None, None)
        yield Numbers(str(measure), value, ends[0], ends[1], values[n])
