"""Measures that match predictions one to one with graded moments."""

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
    return scores.interpolated_precision(found, scene.held(pick)).T


def pick_of(measure: Measure, last: bool = False) -> Pick:
    """Which moments and predictions take part, by the measure's own parameters."""
    length = LENGTHS.get(measure.param("length") or "")
    return Pick(measure.number("rel", 1), length, measure.param("task") == "SVMR", last)


def ideal(scene: Scene, lowest: int, gain: str) -> Floats:
    """Gains of every unit's moments from grade `lowest` up, highest first: shape (units, most moments)."""
    found = scores.gains(scene.ideal(lowest), gain)
    if gain not in ("linear", "exp"):  # a scale of one's own need not rise with the grade
        found = -np.sort(-found, axis=1)
    return np.tile(found, (len(scene.sources), 1))


def columns(measure: Measure, plan: Plan) -> list[int]:
    """Positions of the measure's thresholds in the plan."""
    return [plan.thresholds.index(iou) for iou in measure.thresholds]


def share(found: Ints | Floats, held: Ints) -> Floats:
    """Found over held; NaN where nothing is held."""
    out = np.full(found.shape, np.nan)
    np.divide(found, held, out=out, where=np.broadcast_to(held > 0, found.shape))
    return out
