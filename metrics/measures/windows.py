"""Measures of QVHighlights and of what came after it: saliency, several moments (QV-M2), nothing to find (GMR).

Those of GMR, and `mR`, take a query's list as one answer, which may be silence. A query without a relevant moment has
nothing to find, so that silence is the right answer.
"""

from collections.abc import Callable, Iterator

import numpy as np

from ..formats.arrays import Bools, Floats, Ints
from ..formats.errors import MeasureError
from .conventions import Options
from .graded import columns, long_enough, pick_of
from .ground import Pick, Plan
from .matching import temporal_iou
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


def silence(scene: Scene, options: Options, measure: Measure, plan: Plan) -> Floats:
    """Whether a query with nothing to find is answered with silence; NaN for any other: shape (units, 1)."""
    return np.where(_null(scene, measure), is_silent(scene, options, measure), np.nan)[:, None]


def rejection_f1(scene: Scene, options: Options, measure: Measure, plan: Plan) -> Floats:
    """1 where silence is right, 0 where silence or an answer is wrong, NaN where an answer is right: the mean is
    TN / (TN + FN + FP), of which the aggregate makes the F1 of silence: shape (units, 1).
    """
    null, silent = _null(scene, measure), is_silent(scene, options, measure)
    return np.where(null | silent, (null & silent).astype(np.float64), np.nan)[:, None]


def rejection_accuracy(scene: Scene, options: Options, measure: Measure, plan: Plan) -> Floats:
    """Whether a query is answered with silence exactly if it has nothing to find: shape (units, 1)."""
    right = np.equal(_null(scene, measure), is_silent(scene, options, measure))
    return np.asarray(right, dtype=np.float64)[:, None]


def rejection_auc(scene: Scene, options: Options, measure: Measure, plan: Plan) -> Floats:
    """For a query with nothing to find the share of the run's other queries whose existence scores are higher, where
    equal ones count half; NaN for the other queries, and where there are none: shape (units, 1).
    """
    null, existence = _null(scene, measure), scene.existence(options.silence)
    kept = ~scene.missing if options.missing == "skip" else np.ones_like(scene.missing)
    values = np.full(scene.units, np.nan)
    for low in range(0, scene.units, scene.queries):
        here = slice(low, low + scene.queries)
        others = np.sort(existence[here][~null[here] & kept[here]])
        nulls = low + np.flatnonzero(null[here])
        if others.size:
            below, up_to = (np.searchsorted(others, existence[nulls], side) for side in ("left", "right"))
            values[nulls] = 1 - (below + up_to) / (2 * others.size)
    return values[:, None]


def is_silent(scene: Scene, options: Options, measure: Measure) -> Bools:
    """Whether a unit's list counts as empty: its existence score is not above the measure's threshold or, without one,
    it has no predictions: bool of shape (units,).
    """
    if measure.param("above") is None:
        return np.equal(scene.sizes, 0)
    return np.less_equal(scene.existence(options.silence), measure.real("above", 0.0))


def gated(values: Floats, scene: Scene, options: Options, measure: Measure) -> Floats:
    """The values of a measure with a threshold on scores: a query with nothing to find counts 1 if it is answered with
    silence, else 0; of the others, those answered with silence find nothing. Shape (units, thresholds).
    """
    silent, null = is_silent(scene, options, measure)[:, None], _null(scene, measure)[:, None]
    values = np.where(silent & ~np.isnan(values), 0.0, values)
    if any(measure.param(key) for key in ("type", "length", "targets")):
        return values
    return np.where(null, silent.astype(np.float64), values)


def _null(scene: Scene, measure: Measure) -> Bools:
    """Whether a unit's query has no relevant moment: bool of shape (units,)."""
    return np.equal(scene.held(Pick(measure.number("rel", 1))), 0)


def mean_recall(scene: Scene, options: Options, measure: Measure, plan: Plan) -> Floats:
    """mR@K (QV-M2): moments matched by the first K predictions, over K, for queries with K moments or more: shape
    (units, thresholds).
    """
    pick = pick_of(measure)
    matched = scene.matched(options, pick, plan)[columns(measure, plan)]
    found = (matched[..., : measure.depth] >= 0).sum(axis=-1).T / measure.depth
    found = np.where((scene.held(pick) >= measure.depth)[:, None], found, np.nan)
    return long_enough(scene, options, measure, plan, measure.depth, found)


def matched_iou(scene: Scene, options: Options, measure: Measure, plan: Plan) -> Floats:
    """mIoU@K: mean IoU of the first K predictions with the moments that they match, one to one: shape (units, 1)."""
    pick = pick_of(measure)
    held, values = scene.held(pick), np.full(scene.units, np.nan)
    values[held > 0] = 0.0
    for unit, iou in _overlaps(scene, options, measure, plan):
        values[unit] = sum(greedy(iou, options.forced)) / min(iou.shape)
    if options.short == "skip":
        values[held < measure.depth] = np.nan
    return long_enough(scene, options, measure, plan, measure.depth, values[:, None])


def matched_further(scene: Scene, options: Options, measure: Measure, plan: Plan) -> Floats:
    """mIoU+@K (Soccer-GMR): mean IoU of the pairs of mIoU@K without the best of them, for queries with two moments or
    more; 0 without a second pair: shape (units, 1).
    """
    held, values = scene.held(pick_of(measure)), np.full(scene.units, np.nan)
    values[held > 1] = 0.0
    for unit, iou in _overlaps(scene, options, measure, plan):
        if held[unit] > 1 and min(iou.shape) > 1:
            values[unit] = sum(sorted(greedy(iou, options.forced))[:-1]) / (min(iou.shape) - 1)
    return long_enough(scene, options, measure, plan, measure.depth, values[:, None])


def set_iou(scene: Scene, options: Options, measure: Measure, plan: Plan) -> Floats:
    """G-mIoU@K (GMR): the IoUs of matched pairs over predictions, moments, and less their pairs; 1 if there is nothing
    to find and nothing is answered, 0 if only one of them: shape (units, 1).
    """
    silent, null = is_silent(scene, options, measure) | np.equal(scene.sizes, 0), _null(scene, measure)
    values = np.where(null & silent, 1.0, 0.0)
    for unit, iou in _overlaps(scene, options, measure, plan):
        if not silent[unit]:
            pairs = greedy(iou, options.forced)
            values[unit] = sum(pairs) / (sum(iou.shape) - len(pairs))
    return values[:, None]


def greedy(iou: Floats, forced: bool) -> list[float]:
    """IoUs of pairs that are made down the ranks, each prediction with the free moment that it fits best.

    iou: floats of shape (predictions, moments).
    forced: whether a prediction takes a moment that it does not overlap, too, as the published codes have it.

    >>> greedy(np.array([[0.0, 0.0], [0.5, 0.25]]), False), greedy(np.array([[0.0, 0.0], [0.5, 0.25]]), True)
    ([0.5], [0.0, 0.25])
    """
    free, found = iou.copy(), list[float]()
    for row in free:
        best = int(row.argmax())
        if row[best] > 0 or (forced and row[best] == 0):
            found.append(float(row[best]))
            free[:, best] = -1
    return found


def _overlaps(scene: Scene, options: Options, measure: Measure, plan: Plan) -> Iterator[tuple[int, Floats]]:
    """IoU of the first K predictions of each unit with its moments: the unit, and floats of shape (predictions,
    moments); only units that have both.
    """
    pick = pick_of(measure)
    spans, rank = scene.predictions(options, pick, plan.depth)
    spans = spans.take(np.flatnonzero(rank < measure.depth))
    moments = scene.ground.spans.take(scene.ground.moments(pick))
    firsts, lasts = (np.searchsorted(spans.unit, np.arange(scene.units), side) for side in ("left", "right"))
    query = np.arange(scene.queries)
    begins, ends = (np.searchsorted(moments.unit, query, side) for side in ("left", "right"))
    for unit, (low, high) in enumerate(zip(firsts.tolist(), lasts.tolist(), strict=True)):
        here, there = slice(low, high), slice(int(begins[unit % scene.queries]), int(ends[unit % scene.queries]))
        p, m = spans.take(here), moments.take(there)  # type: ignore[arg-type]
        if p.unit.size and m.unit.size:
            iou = temporal_iou(p.start[:, None], p.end[:, None], m.start, m.end, options.union)
            yield unit, iou * (p.video[:, None] == m.video)
