"""DiDeMo's measures: a system orders the moments of one video, which several annotators marked.

The video is known, so only times are compared.
"""

import numpy as np

from ..formats.arrays import Floats, Ints
from .conventions import Options
from .graded import pick_of
from .ground import Pick, Plan
from .hits import known
from .matching import Pairs, join, ranks
from .measure import Measure
from .scene import Scene

BEST = 3  # so many annotators count: those who agree best with the system


def rank_within(scene: Scene, options: Options, measure: Measure, plan: Plan) -> Floats:
    """Rank@K: whether the mean of the three best ranks of the annotators' moments is at most K: shape
    (units, 1).

    A moment that the list lacks has no rank, so that no mean with it is at most K.
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
