"""Projection: rename each matched prediction to its moment's id, and every trec_eval measure works on
moments.

Ordinary nDCG of the projected run, on the projected qrels, equals NDCG@K, IoU≥μ.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..formats.arrays import Ints
from ..formats.qrels import as_qrels
from ..formats.runs import as_run
from ..formats.tables import Qrels, Run
from ..measures.conventions import Convention, Options, Order, convention_named
from ..measures.ground import Ground, Pick, Plan
from ..measures.matching import check_threshold
from ..measures.scene import Scene, in_order
from ..measures.scores import gains


@dataclass(frozen=True)
class Projection:
    """A run and qrels as trec_eval's wrappers take them.

    run: ``run[query][id] = score``; scores fall strictly with the rank, so that trec_eval has no ties to break.
    qrels: ``qrels[query][id] = gain``, an integer.
    unjudged: queries of the run that nobody judged, and that were left out.
    """

    name: str
    run: dict[str, dict[str, float]]
    qrels: dict[str, dict[str, int]]
    unjudged: tuple[str, ...] = ()

    def run_lines(self) -> list[str]:
        """The run as TREC lines."""
        return [
            f"{query} Q0 {moment} {rank} {score:g} {self.name}"
            for query, scores in self.run.items()
            for rank, (moment, score) in enumerate(scores.items(), 1)
        ]

    def qrels_lines(self) -> list[str]:
        """The qrels as TREC lines."""
        return [f"{query} 0 {id} {gain}" for query, held in self.qrels.items() for id, gain in held.items()]


def project(
    qrels: Any, run: Any, iou: float, convention: str | Convention = "paper", order: Order | None = None
) -> Projection:
    """Match a run's predictions at one IoU threshold and rename the matched ones.

    Parameters
    ----------
    qrels, run, order
        See `calc`.
    iou : float
        Threshold in [0, 1].
    convention : str or Convention, default "paper"
        Decides whether an IoU equal to the threshold passes, whether moments of grade 0 take part, which gain goes into
        the qrels, and what becomes of queries that nobody judged.

    Returns
    -------
    Projection
        An unmatched prediction is called ``video@startms-endms~rank``, which is no moment's id.

    Raises
    ------
    MeasureError
        For a threshold outside [0, 1], and for a query that nobody judged, where the convention says so.

    See Also
    --------
    explain : The matches of one query, with gains.

    References
    ----------
    TVR-Ranking, section 4.

    Examples
    --------
    >>> run = {"1": [("a", 0, 9, 0.7), ("a", 0, 8, 0.6)]}
    >>> projected = project({"1": [("a", 0, 10, 4)]}, run, iou=0.5)
    >>> projected.run
    {'1': {'a@0-10000': 2.0, 'a@0-8000~2': 1.0}}
    >>> projected.qrels
    {'1': {'a@0-10000': 4}}
    """
    check_threshold(iou)
    chosen = convention_named(convention).but(order=order)
    qrels = as_qrels(qrels, chosen.lenient or None).sound(chosen.lenient)
    run = as_run(run, chosen.lenient or None, moments=qrels)
    (run,) = in_order([run], chosen, ["graded"])
    options = chosen.graded
    scene = Scene(Ground(qrels), [run], chosen.unjudged)
    pick, plan = Pick(options.lowest), Plan(0, (iou,))
    matched = scene.matched(options, pick, plan)[0]
    unit = scene.ground.position
    renamed: dict[str, dict[str, float]] = {}
    for i, query in enumerate(run.queries):
        if query not in unit:
            continue
        here = slice(int(run.offsets[i]), int(run.offsets[i + 1]))
        renamed[query] = _rename(qrels, run, here, matched[unit[query]])
    return Projection(run.name, renamed, _gains(qrels, options), scene.unjudged[0])


def _gains(qrels: Qrels, options: Options) -> dict[str, dict[str, int]]:
    """Gain of every moment that takes part, by query and id."""
    gain, names = gains(qrels.grades, options.gain).astype(np.int64).tolist(), qrels.moments
    bounds, grades = qrels.offsets.tolist(), qrels.grades.tolist()
    return {
        query: {names[row]: gain[row] for row in range(bounds[i], bounds[i + 1]) if grades[row] >= options.lowest}
        for i, query in enumerate(qrels.queries)
    }


def _rename(qrels: Qrels, run: Run, here: slice, matched: Ints) -> dict[str, float]:
    stamps = run.stamps[here]
    found = matched[: len(stamps)].tolist()
    names = [
        qrels.moments[row] if row >= 0 else f"{stamp.partition('#')[0]}~{rank}"
        for rank, (row, stamp) in enumerate(zip(found, stamps, strict=True), 1)
    ]
    return {name: float(len(names) - rank) for rank, name in enumerate(names)}
