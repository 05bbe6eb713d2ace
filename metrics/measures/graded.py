"""Measures that match predictions one to one with graded moments, by IoU or by the moments' ids."""

from dataclasses import replace

import numpy as np

from ..formats.arrays import Floats, Ints
from . import scores
from .conventions import Options
from .ground import Pick, Plan
from .measure import Measure
from .scene import Scene

LENGTHS = {"short": (0.0, 10.0), "middle": (10.0, 30.0), "long": (30.0, 150.0)}  # QVHighlights, seconds


def ndcg_iou(scene: Scene, options: Options, measure: Measure, plan: Plan) -> Floats:
    """NDCG@K, IoU≥μ (TVR-Ranking, section 4): shape (units, thresholds)."""
    gain, discount = measure.param("gain") or options.gain, measure.param("discount") or "log2"
    pick = Pick(options.lowest)

    def gained() -> Floats:
        matched = scene.matched(replace(options, gain="linear"), pick, plan)
        grades = np.append(scene.ground.qrels.grades, 0)  # row -1 is no moment: grade 0, and no gain
        return np.where(matched >= 0, scores.gains(grades, gain)[matched], 0.0)

    got = scene.once(("gained", options, plan, gain), gained)[columns(measure, plan)]
    return scores.ndcg(got, ideal(scene, options.lowest, gain), measure.depth, discount).T


def recall_iou(scene: Scene, options: Options, measure: Measure, plan: Plan) -> Floats:
    """Share of a query's relevant moments that the first K predictions find: shape (units, thresholds)."""
    pick = pick_of(measure)
    matched = scene.matched(options, pick, plan)[columns(measure, plan)]
    found = (matched[..., : measure.depth] >= 0).sum(axis=-1)
    return share(found, scene.held(pick)).T


def map_iou(scene: Scene, options: Options, measure: Measure, plan: Plan) -> Floats:
    """Interpolated average precision, as in detection (QVHighlights): shape (units, thresholds)."""
    pick = pick_of(measure, options.last)
    matched = scene.matched(options, pick, plan)[columns(measure, plan)]
    found = (matched[..., : measure.depth] >= 0).astype(np.int64)
    values = of_targets(scene, measure, scores.interpolated_precision(found, scene.held(pick)).T)
    return long_enough(scene, options, measure, plan, 1, values)


def pick_of(measure: Measure, last: bool = False) -> Pick:
    """Which moments and predictions take part, by the measure's own parameters."""
    length = LENGTHS.get(measure.param("length") or "")
    return Pick(measure.number("rel", 1), length, measure.param("task") == "SVMR", last)


def of_targets(scene: Scene, measure: Measure, values: Floats) -> Floats:
    """The values, NaN for queries with another number of relevant moments than `targets` asks for."""
    wanted = measure.param("targets")
    if wanted is None:
        return values
    held, least = scene.held(pick_of(measure)), int(wanted.rstrip("+"))
    fits = held >= least if wanted.endswith("+") else held == least
    return np.where(fits[:, None], values, np.nan)


def long_enough(scene: Scene, options: Options, measure: Measure, plan: Plan, least: int, values: Floats) -> Floats:
    """The values, NaN for shorter lists where the convention leaves them out."""
    if options.short == "count":
        return values
    lengths = scene.lengths(options, pick_of(measure), plan)
    return np.where((lengths >= least)[:, None], values, np.nan)


def ideal(scene: Scene, lowest: int, gain: str) -> Floats:
    """Gains of every unit's moments from grade `lowest` up, highest first: shape (units, most moments)."""

    def gained() -> Floats:
        found = scores.gains(scene.ideal(lowest), gain)
        if gain not in ("linear", "exp"):  # a scale of one's own need not rise with the grade
            found = -np.sort(-found, axis=1)
        return np.tile(found, (len(scene.sources), 1))

    return scene.once(("ideal", lowest, gain), gained)


def columns(measure: Measure, plan: Plan) -> list[int]:
    """Positions of the measure's thresholds in the plan."""
    return [plan.thresholds.index(iou) for iou in measure.thresholds]


def share(found: Ints | Floats, held: Ints) -> Floats:
    """Found over held; NaN where nothing is held."""
    out = np.full(found.shape, np.nan)
    np.divide(found, held, out=out, where=np.broadcast_to(held > 0, found.shape))
    return out


def recall_further(scene: Scene, options: Options, measure: Measure, plan: Plan) -> Floats:
    """mR+@K (Soccer-GMR): share of a query's relevant moments but one that the first K predictions find beside the
    first that they find: shape (units, thresholds).
    """
    pick = pick_of(measure)
    matched = scene.matched(options, pick, plan)[columns(measure, plan)]
    found = (matched[..., : measure.depth] >= 0).sum(axis=-1)
    return share(np.maximum(found - 1, 0), scene.held(pick) - 1).T


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


def inferred_ap(scene: Scene, options: Options, measure: Measure, plan: Plan) -> Floats:
    """infAP, of a pool that was sampled at one rate, as trec_eval has it: shape (units, 1)."""
    return _inferred(scene, measure, scores.WHOLE_POOL)


def extended_inferred_ap(scene: Scene, options: Options, measure: Measure, plan: Plan) -> Floats:
    """xinfAP, of a pool whose strata were sampled at rates of their own, as NIST's code has it: shape (units, 1)."""
    return _inferred(scene, measure, scores.STRATA)


def _inferred(scene: Scene, measure: Measure, way: scores.Inference) -> Floats:
    values, lowest = np.full((scene.units, 1), np.nan), measure.number("rel", 1)
    for query, pool in enumerate(scene.pools):
        known = {moment: scores.Pooled(stratum, grade, grade >= lowest) for moment, (stratum, grade) in pool.items()}
        for r in range(len(scene.sources)):
            found = [known.get(moment) for moment in scene.listed(r, query)[: measure.cutoff or way.most]]
            value = scores.inferred_average_precision(found, known.values(), way, measure.cutoff or way.most)
            values[r * scene.queries + query] = value
    return values


def _relevant(scene: Scene, options: Options, measure: Measure, plan: Plan) -> Ints:
    """Whether each rank down to the cutoff holds a relevant moment, 0 or 1: shape (units, width)."""
    grades = scene.identical(options, plan)[:, : measure.depth]
    return (grades >= measure.number("rel", 1)).astype(np.int64)


def _held(scene: Scene, measure: Measure) -> Ints:
    """Number of relevant moments of every unit: shape (units,)."""
    held = (scene.ideal(1) >= measure.number("rel", 1)).sum(axis=1)
    return np.tile(held, len(scene.sources))
