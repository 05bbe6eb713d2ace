"""QVHighlights' highlight measures, on the saliency of two-second clips."""

from collections.abc import Callable

import numpy as np

from ..formats.arrays import Floats, Ints
from ..formats.errors import MeasureError
from .conventions import Options
from .ground import Plan
from .measure import Measure
from .scene import Scene

VERY_GOOD = 4


def hit(scene: Scene, options: Options, measure: Measure, plan: Plan) -> Floats:
    """HIT@1: whether the clip predicted as most salient has that level from any annotator."""
    if measure.cutoff != 1:
        raise MeasureError(f"measure {measure} looks at the most salient clip alone; its cutoff must be 1")
    return _each(scene, measure, hit_at_one)


def highlight_ap(scene: Scene, options: Options, measure: Measure, plan: Plan) -> Floats:
    """Average precision of the predicted saliency, averaged over the annotators."""
    return _each(scene, measure, average_precision)


def hit_at_one(predicted: Floats, salient: Ints) -> float:
    """1 if the first clip with the highest prediction is salient to any annotator.

    >>> hit_at_one(np.array([0.1, 0.9]), np.array([[1, 1, 1], [0, 0, 1]]))
    1.0
    """
    clip = int(np.argmax(predicted))
    return float(clip < len(salient) and salient[clip].max())


def average_precision(predicted: Floats, salient: Ints) -> float:
    """Interpolated average precision at each new recall, averaged over annotators; 0 if nothing is salient.

    Clips with the same prediction are retrieved together. Predictions for clips that are not judged are
    dropped, and clips without a prediction have 0.

    >>> average_precision(np.array([0.9, 0.1]), np.array([[0], [1]]))
    0.5
    """
    clips = len(salient)
    given = np.zeros(clips)
    given[: len(predicted)] = predicted[:clips]
    order = np.argsort(-given, kind="stable")
    last = np.append(np.flatnonzero(np.diff(given[order])), clips - 1)  # last clip of each group of ties
    hits = np.cumsum(salient[order], axis=0)[last]
    precision = hits / (last + 1)[:, None]
    envelope = np.maximum.accumulate(precision[::-1], axis=0)[::-1]
    fresh = np.diff(hits, axis=0, prepend=0) > 0
    levels = fresh.sum(axis=0)
    return float(np.mean((envelope * fresh).sum(axis=0) / np.maximum(levels, 1)))


def _each(scene: Scene, measure: Measure, score: Callable[[Floats, Ints], float]) -> Floats:
    """Score every unit that has judged and predicted saliency; NaN for a query without judged saliency."""
    level = measure.number("level", VERY_GOOD)
    judged = scene.ground.qrels.saliency
    if not judged:
        raise MeasureError(f"measure {measure} needs judged saliency; these qrels give none (QVHighlights' do)")
    values = np.full((scene.units, 1), np.nan)
    for r, run in enumerate(scene.runs):
        for i, query in enumerate(scene.ground.qrels.queries):
            if query in judged:
                salient = (judged[query] >= level).astype(np.int64)
                predicted = run.saliency.get(query)
                values[r * scene.queries + i] = 0.0 if predicted is None else score(predicted, salient)
    return values
