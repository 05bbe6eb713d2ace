"""Measures that ask how close the predictions come to any relevant moment of the query."""

from dataclasses import replace

import numpy as np

from ..formats.arrays import Floats, Ints
from ..formats.errors import MeasureError
from . import scores
from .conventions import Options
from .graded import pick_of
from .ground import Pick, Plan
from .matching import Pairs, join, ranks
from .measure import Measure
from .scene import Scene

DEFAULT_PHI = 0.8
BEST = 3  # so many annotators count: those who agree best with the system


def axiou(scene: Scene, options: Options, measure: Measure, plan: Plan) -> Floats:
    """AxIoU@K (AxIoU, Eq. 5); with `lb`, thresholds are taken as uniform on (lb, 1) instead of (0, 1)."""
    pick = pick_of(measure)
    best = scene.best(options, pick, plan)
    low = measure.real("lb", 0.0)
    best = np.maximum(0, (best - low) / (1 - low)) if low else best
    return known(scene, pick, scores.axiou(best, measure.depth)[:, None])


def ncxiou(scene: Scene, options: Options, measure: Measure, plan: Plan) -> Floats:
    """NCxIoU@K with any abandonment distribution (AxIoU, Eq. 4)."""
    pick = pick_of(measure)
    best = scene.best(options, pick, plan)[:, : measure.depth]
    stop = scores.abandonment(measure.param("p") or "", measure.real("phi", DEFAULT_PHI), best, measure.depth)
    return known(scene, pick, scores.ncxiou(best, stop)[:, None])


def success_iou(scene: Scene, options: Options, measure: Measure, plan: Plan) -> Floats:
    """R@K,θ (AxIoU, Eq. 1; TVRetrieval's VCMR and SVMR; STAL's recall; QVHighlights' R1)."""
    pick = pick_of(measure)
    best = listed(scene, options, pick, plan)
    if options.late_miss:
        late = miss_rank(scene, options, pick, measure, plan)
        ranks = [found_at(best, iou, options.strict, late) for iou in measure.thresholds]
        return known(scene, pick, (np.stack(ranks, axis=1) <= measure.depth).astype(np.float64))
    columns = [scores.success(best, measure.depth, iou, options.strict) for iou in measure.thresholds]
    return of_type(scene, measure, known(scene, pick, np.stack(columns, axis=1)))


def success_video(scene: Scene, options: Options, measure: Measure, plan: Plan) -> Floats:
    """Whether one of the first K predictions is in a video with a relevant moment (TVRetrieval's VR)."""
    pick = pick_of(measure)
    best = scene.best(replace(options, union="video"), pick, plan)
    return of_type(scene, measure, known(scene, pick, scores.success(best, measure.depth, 0.5, True)[:, None]))


def ap_iou(scene: Scene, options: Options, measure: Measure, plan: Plan) -> Floats:
    """AP@K,θ as the AxIoU paper has it (Eq. 12)."""
    pick = pick_of(measure)
    best = listed(scene, options, pick, plan)
    columns = [scores.average_precision(best, measure.depth, iou, options.strict) for iou in measure.thresholds]
    return known(scene, pick, np.stack(columns, axis=1))


def dcg_iou(scene: Scene, options: Options, measure: Measure, plan: Plan) -> Floats:
    """DCG@K with the IoU itself as relevance (AxIoU, Eq. 15); not normalised."""
    pick = pick_of(measure)
    best = scene.best(options, pick, plan)[:, : measure.depth].astype(np.float64)
    gain = np.exp2(best) - 1 if measure.param("gain") == "exp" else best
    return known(scene, pick, scores.dcg(gain, measure.param("discount") or "log2")[:, -1:])


def hit_rank(scene: Scene, options: Options, measure: Measure, plan: Plan) -> Floats:
    """Rank of the first prediction that passes (STAL); without one, the rank after the last."""
    pick = pick_of(measure)
    best = listed(scene, options, pick, plan)
    late = miss_rank(scene, options, pick, measure, plan)
    columns = [found_at(best, iou, options.strict, late) for iou in measure.thresholds]
    return known(scene, pick, np.stack(columns, axis=1).astype(np.float64))


def judged(scene: Scene, options: Options, measure: Measure, plan: Plan) -> Floats:
    """Share of the first K predictions that lie on a judged moment, of any grade."""
    pick = Pick(0)
    best = scene.best(options, pick, plan)[:, : measure.depth]
    listed = np.minimum(scene.lengths(options, pick, plan), measure.depth)
    columns = []
    for iou in measure.thresholds:
        hits = scores.passes(best, iou, options.strict) * (np.arange(best.shape[1]) < listed[:, None])
        columns.append(hits.sum(axis=1) / np.maximum(listed, 1))
    return np.stack(columns, axis=1)


def listed(scene: Scene, options: Options, pick: Pick, plan: Plan) -> Floats:
    """The highest IoU of each rank, and −1 beyond the end of a list, where no threshold is passed, not even 0."""
    best = scene.best(options, pick, plan)
    there = np.arange(best.shape[1]) < scene.lengths(options, pick, plan)[:, None]
    return np.where(there, best, best.dtype.type(-1))


def known(scene: Scene, pick: Pick, values: Floats) -> Floats:
    """The values, NaN for queries without a moment that takes part."""
    return np.where((scene.held(pick) > 0)[:, None], values, np.nan)


def of_type(scene: Scene, measure: Measure, values: Floats) -> Floats:
    """The values, NaN for queries of another type than the measure asks for."""
    wanted, qrels = measure.param("type"), scene.ground.qrels
    if wanted is None:
        return values
    if not qrels.types:
        raise MeasureError(f"measure {measure} needs typed queries; the qrels give none (TVR's annotations do)")
    typed = np.array([qrels.types.get(query) == wanted for query in qrels.queries])
    return np.where(np.tile(typed, len(scene.sources))[:, None], values, np.nan)


def found_at(best: Floats, threshold: float, strict: bool, late: Ints) -> Ints:
    """Rank of the first hit; `late` without one, and for a hit after that rank."""
    rank = scores.first_hit(best, threshold, strict)
    return np.where((rank > 0) & (rank <= late), rank, late)


def miss_rank(scene: Scene, options: Options, pick: Pick, measure: Measure, plan: Plan) -> Ints:
    """Rank of a query without a hit: max_rank + 1, or the rank after the query's last prediction. A query without
    predictions has the rank after the longest list, not rank 1.
    """
    highest = measure.number("max_rank", 0)
    if highest:
        return np.full(scene.units, highest + 1)
    lengths = scene.lengths(options, pick, replace(plan, depth=0))
    return np.where(lengths > 0, lengths, lengths.max(initial=0)) + 1


def rank_within(scene: Scene, options: Options, measure: Measure, plan: Plan) -> Floats:
    """Rank@K: whether the mean of the three best ranks of the annotators' moments is at most K: shape (units, 1). A
    moment that the list lacks has no rank, so that no mean with it is at most K.
    """
    pick = pick_of(measure)
    pairs, unit = _pairs(scene, options, pick, depth=0, least=1.0)  # IoU 1: the same moment
    rank = np.full(unit.size, np.inf)
    np.minimum.at(rank, pairs.moment, pairs.rank + 1.0)
    within = _mean_of_best(rank, unit, scene.units) <= measure.depth
    return known(scene, pick, within[:, None].astype(np.float64))


def mean_iou(scene: Scene, options: Options, measure: Measure, plan: Plan) -> Floats:
    """mIoU: mean of the three highest IoUs of the first prediction with the annotators' moments: shape
    (units, 1).
    """
    pick = pick_of(measure)
    pairs, unit = _pairs(scene, options, pick, depth=1, least=0.0)
    iou = np.zeros(unit.size)
    iou[pairs.moment] = pairs.iou
    return known(scene, pick, -_mean_of_best(-iou, unit, scene.units)[:, None])


def _pairs(scene: Scene, options: Options, pick: Pick, depth: int, least: float) -> tuple[Pairs, Ints]:
    """Pairs of predictions and annotations of a unit, and the unit of every annotation."""
    predictions, rank = scene.predictions(options, pick, depth)
    marked, _ = scene.ground.annotations(scene.ground.moments(pick))
    times = np.arange(len(scene.sources), dtype=np.int64)
    marked = marked.take(np.tile(np.arange(marked.unit.size), times.size))
    unit = marked.unit + np.repeat(times * scene.queries, marked.unit.size // times.size)
    marked = marked._replace(unit=unit, video=np.zeros_like(unit))
    predictions = predictions._replace(video=np.zeros_like(predictions.video))
    return join(predictions, rank, marked, "hull", least), unit


def _mean_of_best(values: Floats, unit: Ints, units: int) -> Floats:
    """Mean of the lowest values of every unit, three at most; infinite for a unit without values."""
    order = np.lexsort((values, unit))
    values, unit = values[order], unit[order]
    few = np.flatnonzero(ranks(unit) < BEST)[::-1]  # the published sum begins with the lowest IoU
    total = np.bincount(unit[few], values[few], minlength=units)
    count = np.bincount(unit[few], minlength=units)
    return np.where(count > 0, total / np.maximum(count, 1), np.inf)
