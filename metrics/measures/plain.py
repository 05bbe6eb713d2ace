"""Information retrieval's own measures on moment ids: no IoU, a retrieved moment is a judged one or not."""

import numpy as np

from ..formats.arrays import Floats, Ints
from . import scores
from .conventions import Options
from .graded import ideal, share
from .ground import Plan
from .measure import Measure
from .scene import Scene


def ndcg(scene: Scene, options: Options, measure: Measure, plan: Plan) -> Floats:
    """nDCG@K on moment ids: shape (units, 1)."""
    gain, discount = measure.param("gain") or options.gain, measure.param("discount") or "log2"
    got = scores.gains(scene.identical(options, plan), gain)
    return scores.ndcg(got, ideal(scene, 1, gain), measure.depth, discount)[:, None]


def precision(scene: Scene, options: Options, measure: Measure, plan: Plan) -> Floats:
    """P@K, where a list shorter than K goes on without relevant moments: shape (units, 1)."""
    found = _relevant(scene, options, measure, plan).sum(axis=1)
    return np.where(_held(scene, measure) > 0, found / measure.depth, np.nan)[:, None]


def recall(scene: Scene, options: Options, measure: Measure, plan: Plan) -> Floats:
    """R@K: retrieved relevant moments over all relevant ones: shape (units, 1)."""
    found = _relevant(scene, options, measure, plan).sum(axis=1)
    return share(found, _held(scene, measure))[:, None]


def reciprocal_rank(scene: Scene, options: Options, measure: Measure, plan: Plan) -> Floats:
    """RR: one over the rank of the first relevant moment, 0 without one: shape (units, 1)."""
    relevant = _relevant(scene, options, measure, plan)
    value = np.where(relevant.any(axis=1), 1 / (relevant.argmax(axis=1) + 1), 0.0)
    return np.where(_held(scene, measure) > 0, value, np.nan)[:, None]


def average_precision(scene: Scene, options: Options, measure: Measure, plan: Plan) -> Floats:
    """AP: precision at the rank of each relevant moment, over all relevant ones: shape (units, 1)."""
    relevant = _relevant(scene, options, measure, plan)
    rank = np.arange(1, relevant.shape[1] + 1)
    total = (np.cumsum(relevant, axis=1) * relevant / rank).sum(axis=1)
    return share(total, _held(scene, measure))[:, None]


def _relevant(scene: Scene, options: Options, measure: Measure, plan: Plan) -> Ints:
    """Whether each rank down to the cutoff holds a relevant moment, 0 or 1: shape (units, width)."""
    grades = scene.identical(options, plan)[:, : measure.depth]
    return (grades >= measure.number("rel", 1)).astype(np.int64)


def _held(scene: Scene, measure: Measure) -> Ints:
    """Number of relevant moments of every unit: shape (units,)."""
    held = (scene.ideal(1) >= measure.number("rel", 1)).sum(axis=1)
    return np.tile(held, len(scene.sources))
