"""Which measures runs are scored by under each convention: those of which it says something of its own."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from metrics import CONVENTIONS, Measure, parse_measures

USUAL = "paper"
CUTOFFS = (10, 20, 40)
THRESHOLDS = (0.3, 0.5, 0.7)


def _each(pattern: str, cutoffs: Sequence[int], thresholds: Sequence[float] = ()) -> list[str]:
    return [pattern.format(iou=iou, k=k) for k in cutoffs for iou in thresholds or (None,)]


NDCG = _each("nDCG_IoU(iou={iou})@{k}", CUTOFFS, THRESHOLDS)
RECALL = _each("Recall_IoU(iou={iou})@{k}", CUTOFFS, THRESHOLDS)
AXIOU = _each("AxIoU@{k}", (1, 5, 10))
JUDGED = _each("Judged@{k}", CUTOFFS)
VIDEOS = _each("Success_Video@{k}", (1, 5, 10, 100))


def _hits(cutoffs: Sequence[int], thresholds: Sequence[float]) -> list[str]:
    return _each("Success_IoU(iou={iou})@{k}", cutoffs, thresholds)


NAMES = {
    "paper": [
        *(*NDCG, *RECALL, *_hits((1, 5, 10, 100), THRESHOLDS), *AXIOU, *VIDEOS, *JUDGED, "AP_IoU(iou=0.5)@10"),
        *("mAP_IoU(iou=0.5)", "MedianRank(iou=0.5)", "nDCG@20", "P@10", "AP"),
    ],
    "released": [*NDCG, *_hits((1, 5, 10), THRESHOLDS), *AXIOU, *JUDGED],
    "spr": [*NDCG, *RECALL, *JUDGED],
    "tvr": [*_hits((1, 5, 10, 100), (0.5, 0.7)), *VIDEOS],
    "stal": [*_hits((1, 10, 100), (0.5, 0.7)), "Success_IoU(iou=0.5+0.7)@10", "MedianRank(iou=0.5)"],
    "didemo": ["Rank@1", "Rank@5", "mIoU"],
    "qvhighlights": [*_hits((1,), (0.5, 0.7)), *_each("mAP_IoU(iou={iou})", (0,), (0.5, 0.75))],
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
    return [m for m in wanted if convention == USUAL or own.options(families[m]) != paper.options(families[m])]
