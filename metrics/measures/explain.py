"""What a measure sees of one query of a run: which prediction matches which moment, and what each rank counts."""

from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from ..formats.arrays import Floats, Ints
from ..formats.errors import MeasureError
from ..formats.qrels import as_qrels
from ..formats.runs import as_run
from ..formats.tables import Qrels, Run, Table
from . import scores
from .conventions import Convention, Options, Order, convention_named
from .definitions import parse_measure
from .graded import ideal, pick_of
from .ground import Ground, Pick, Plan
from .measure import Measure
from .scene import Scene, in_order

EXPLAINED = ("nDCG_IoU", "Recall_IoU", "mAP_IoU", "Success_IoU", "AxIoU")
TableType = TypeVar("TableType", bound=Table)


@dataclass(frozen=True, eq=False)
class Explained:
    """The ranks of one query of a run as a measure sees them, the first rank first.

    Attributes
    ----------
    judged, predicted
        What the qrels and the run say of this query alone.
    prediction
        int64 of shape (ranks,): the prediction's row among those of the query.
    moment
        int64 of shape (ranks,): the row, among the query's moments, of the one that it matches; −1 for none.
    iou
        Floats of shape (ranks,): IoU with that moment; without one, the highest IoU with any that takes part.
    taking_part
        int64: the rows of the moments that can be matched, the highest grade first.
    gain, discount
        Floats of shape (ranks,), or None for a measure without them.
    ideal
        DCG of the ideal ranking down to the cutoff, or None.
    ideals
        Floats: the same at each rank, as far as there are moments; or None.
    """

    judged: Qrels
    predicted: Run
    prediction: Ints
    moment: Ints
    iou: Floats
    taking_part: Ints
    gain: Floats | None = None
    discount: Floats | None = None
    ideal: float | None = None
    ideals: Floats | None = None


def can_explain(measure: Measure) -> bool:
    """Whether the measure pairs predictions with moments by at most one threshold of IoU."""
    return (
        measure.name in EXPLAINED
        and len(measure.thresholds) <= 1
        and measure.param("type") is None
        and measure.param("above") is None
    )


def explain(
    measure: str | Measure,
    qrels: Any,
    run: Any,
    query: str | int,
    convention: str | Convention = "paper",
    order: Order | None = None,
) -> Explained:
    """Explain a measure on one query.

    Parameters
    ----------
    measure : Measure or str
        nDCG_IoU, Recall_IoU, mAP_IoU, Success_IoU or AxIoU, with one threshold at most.
    qrels, run, convention, order
        See `calc`.
    query : str or int
        A query of the qrels. If it is missing from the run, there are no ranks.

    Returns
    -------
    Explained

    Raises
    ------
    MeasureError
        For another measure, for qrels or a run that cannot be read, and for a query that nobody judged.

    See Also
    --------
    calc : The scores.
    project : The matches as a run in TREC's format.

    References
    ----------
    TVR-Ranking, section 4 and Figure 2.

    Examples
    --------
    >>> qrels = {"1": [("a", 0, 10, 4), ("b", 0, 10, 2)]}
    >>> run = {"1": [("b", 0, 8, 2.0), ("c", 0, 10, 1.0)]}
    >>> found = explain("nDCG_IoU(iou=0.5)@2", qrels, run, "1")
    >>> found.moment.tolist(), found.iou.tolist(), found.gain.tolist()
    ([1, -1], [0.8, 0.0], [2.0, 0.0])

    Of two moments that overlap a prediction equally, the one with the higher grade is taken, and each serves once:

    >>> qrels = {"1": [("a", 0, 10, 1), ("a", 2, 12, 3)]}
    >>> run = {"1": [("a", 1, 11, 3.0), ("a", 1, 10, 2.0), ("a", 2, 11, 1.0)]}
    >>> explain("nDCG_IoU(iou=0.4)@3", qrels, run, "1").moment.tolist()
    [1, 0, -1]
    """
    wanted, chosen = parse_measure(measure), convention_named(convention).but(order=order)
    if not can_explain(wanted):
        raise MeasureError(f"measure {wanted} cannot be explained; {', '.join(EXPLAINED)} can, with one threshold")
    options = chosen.options(wanted.definition.family)
    qrels = as_qrels(qrels, chosen.lenient or None).sound(chosen.lenient)
    judged = only(qrels, str(query))
    predicted = only(as_run(run, chosen.lenient or None, moments=qrels), str(query))
    if not judged.queries:
        raise MeasureError(f"query {str(query)!r} is not in the qrels; only a judged query can be explained")
    (predicted,) = in_order([predicted], chosen, [wanted.definition.family])
    scene = Scene(Ground(judged), [predicted], "skip")
    pick = Pick(options.lowest) if wanted.name == "nDCG_IoU" else pick_of(wanted, options.last)
    plan = Plan(wanted.cutoff or 0, wanted.thresholds)
    prediction, _ = scene.ranked(options, pick, plan.depth)
    taking_part, iou = scene.ground.moments(pick), _ious(scene, options, pick, plan)
    moment = _matched(scene, options, pick, plan, iou, wanted)[: prediction.size]
    highest = _iou_of_pairs(iou, taking_part, moment)
    found = Explained(judged, predicted, prediction, moment, highest, taking_part)
    return _with_gains(found, scene, wanted, options) if wanted.name == "nDCG_IoU" else found


def only(table: TableType, query: str) -> TableType:
    """The table of one query alone, with the videos that its rows are of."""
    part = table.of_queries(np.array([each == query for each in table.queries], dtype=np.bool_))
    videos, video = np.unique(part.video, return_inverse=True)
    names = tuple(table.names[number] for number in videos.tolist())
    return replace(part, names=names, video=video.reshape(-1).astype(np.int64))


def _ious(scene: Scene, options: Options, pick: Pick, plan: Plan) -> Floats:
    """IoU of each prediction with each moment that takes part: shape (ranks, moments)."""
    pairs = scene.pairs(options, pick, plan.depth, 0.0, strict=True)
    iou = np.zeros((pairs.predictions, pairs.moments))
    iou[pairs.prediction, pairs.moment] = pairs.iou
    return iou


def _matched(scene: Scene, options: Options, pick: Pick, plan: Plan, iou: Floats, measure: Measure) -> Ints:
    """The moment of each rank: one to one, or, for measures of hits, the nearest one that passes."""
    if measure.definition.family != "hit":
        matched: Ints = scene.matched(options, pick, plan)[0, 0]
        return matched
    if not iou.size:
        return np.full(len(iou), -1)
    best = scene.best(options, pick, plan)[0, : len(iou)]
    hit = best > 0 if not plan.thresholds else scores.passes(best, plan.thresholds[0], options.strict)
    nearest: Ints = np.where(hit, scene.ground.moments(pick)[iou.argmax(axis=1)], -1)
    return nearest


def _iou_of_pairs(iou: Floats, taking_part: Ints, moment: Ints) -> Floats:
    """IoU with the matched moment; without one, the highest."""
    highest: Floats = iou.max(axis=1, initial=0.0)
    place = {row: n for n, row in enumerate(taking_part.tolist())}
    at = np.array([place.get(row, -1) for row in moment.tolist()], dtype=np.int64)
    matched = np.flatnonzero(at >= 0)
    highest[matched] = iou[matched, at[matched]]
    return highest


def _with_gains(found: Explained, scene: Scene, measure: Measure, options: Options) -> Explained:
    scale, discount = measure.param("gain") or options.gain, measure.param("discount") or "log2"
    grades = np.append(scene.ground.qrels.grades, 0)  # row −1 is no moment
    gain = np.where(found.moment >= 0, scores.gains(grades, scale)[found.moment], 0.0)
    best = ideal(scene, options.lowest, scale)[:, : measure.depth]
    ideals = scores.dcg(best, discount)[0]
    return replace(
        found, gain=gain, discount=scores.discounts(discount, found.moment.size), ideal=float(ideals[-1]), ideals=ideals
    )
