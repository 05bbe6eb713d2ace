"""Scoring runs: measures, qrels and runs go in; values per query and their aggregates come out."""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..formats.arrays import Floats, Ints
from ..formats.dicts import IdRun
from ..formats.errors import MeasureError, MeasureWarning
from ..formats.qrels import qrels_source
from ..formats.runs import run_source, run_sources
from ..formats.tables import Qrels, Run
from .conventions import Convention, Options, Order, convention_named
from .definitions import Measures, parse_measures
from .graded import pick_of
from .ground import Ground, Plan
from .measure import Measure
from .results import ByMeasure, QueryValue, Scores
from .scene import Scene, in_order
from .windows import gated

NOTHING_FOUND = "every score is 0; do run and qrels have the same query ids, videos and unit of time?"


class Evaluator:
    """Measures and qrels made ready once, for any number of runs.

    Parameters
    ----------
    measures, qrels, convention, order, lenient
        See `calc`; the qrels may also be another evaluator's `ground`.

    Raises
    ------
    MeasureError
        For qrels, a measure or a convention that cannot be read, and for no measure at all.

    See Also
    --------
    calc : Scores one run.
    scores_of : Scores several.

    Examples
    --------
    >>> ready = Evaluator("AxIoU@1", {"1": [("a", 0, 10, 4)]})
    >>> [ready.calc({"1": [("a", 0, end, 1.0)]})["AxIoU@1"] for end in (5, 10)]
    [0.5, 1.0]
    """

    def __init__(
        self,
        measures: Measures,
        qrels: Any,
        convention: str | Convention = "paper",
        order: Order | None = None,
        lenient: bool | None = None,
    ) -> None:
        self.measures = tuple(parse_measures(measures))
        if not self.measures:
            raise MeasureError("no measure was asked for; give at least one, such as nDCG_IoU(iou=0.5)@20")
        self.convention = convention_named(convention).but(order=order, lenient=lenient)
        for measure in self.measures:
            self.convention.must_have(str(measure), measure.definition.family)
        kept = self.convention.lenient or None  # None: as the format of the qrels has it
        self.ground = qrels if isinstance(qrels, Ground) else Ground(qrels_source(qrels, kept))
        if isinstance(self.ground.source, Qrels):
            self.ground.source.sound(kept)
        families = dict.fromkeys(measure.definition.family for measure in self.measures)
        self._plans = {family: self._plan(family) for family in families}

    def _plan(self, family: str) -> Plan:
        members = [measure for measure in self.measures if measure.definition.family == family]
        thresholds = sorted({iou for measure in members for iou in measure.thresholds})
        cutoffs = [measure.cutoff or 0 for measure in members]
        return Plan(0 if 0 in cutoffs else max(cutoffs), tuple(thresholds))

    def calc(self, run: Any) -> Scores:
        """Score one run. Parameters and errors: see `calc`, the function."""
        return self._scores_of([run_source(run, self.convention.lenient or None, moments=self.ground.listing)])[0]

    def scores_of(self, runs: Any) -> dict[str, Scores]:
        """Score several runs in one pass. Parameters and errors: see `scores_of`, the function."""
        found = self._scores_of(run_sources(runs, self.convention.lenient or None, self.ground.listing))
        return {scores.run: scores for scores in found}

    def _scores_of(self, runs: Sequence[Run | IdRun]) -> list[Scores]:
        scene = self.scene(self._in_order(runs))
        found = self.scores_on(scene)
        return [replace(scores, warnings=self._warn(scene, r, is_zero(scores))) for r, scores in enumerate(found)]

    def ordered(self, runs: Sequence[Run | IdRun]) -> list[Run | IdRun]:
        """The runs with their lists in the order that the measures look at, with warnings of what cannot be right."""
        ordered = self._in_order(runs)
        scene = self.scene(ordered)
        for r in range(len(runs)):
            self._warn(scene, r)
        return ordered

    def _in_order(self, runs: Sequence[Run | IdRun]) -> list[Run | IdRun]:
        return in_order(runs, self.convention, {measure.definition.family for measure in self.measures})

    def _warn(self, scene: Scene, r: int, finds_nothing: bool = False) -> tuple[str, ...]:
        """Warn of what makes one doubt that a run of the scene is right, and return it."""
        name, doubts = scene.sources[r].name, tuple(scene.doubts(r, self.measures, self.convention))
        texts = tuple(f"{name}: {doubt}" for doubt in doubts or (NOTHING_FOUND,) * finds_nothing)
        for text in texts:
            warnings.warn(text, MeasureWarning, stacklevel=6)  # where the user scores
        return texts

    def scene(self, runs: Sequence[Run | IdRun]) -> Scene:
        """The runs, as `ordered` returns them, over the qrels: for `scores_on`."""
        return Scene(self.ground, runs, self.convention.unjudged)

    def scores_on(self, scene: Scene) -> list[Scores]:
        """Score the runs of a scene."""
        runs = scene.sources
        values = [self._score(scene, measure) for measure in self.measures]
        groups = tuple(self._groups(scene, measure) for measure in self.measures)
        blocks = [block.reshape(len(runs), scene.queries, -1) for block in values]
        return [
            Scores(
                self.convention,
                run.name,
                self.ground.queries,
                self.measures,
                tuple(block[r] for block in blocks),
                scene.unjudged[r],
                groups,
            )
            for r, run in enumerate(runs)
        ]

    def _score(self, scene: Scene, measure: Measure) -> Floats:
        definition = measure.definition
        options = self.convention.options(definition.family)
        values = definition.score(scene, options, measure, self._plans[definition.family])
        if definition.family != "set" and measure.param("above") is not None:
            values = gated(values, scene, options, measure)
        return settle(values.copy(), scene, options)

    def _groups(self, scene: Scene, measure: Measure) -> Ints | None:
        """The number of relevant moments of each query, if the aggregate is the mean of the means for each number."""
        by_count = self.convention.options(measure.definition.family).by_count
        if not by_count or not (measure.param("targets") or "").endswith("+"):
            return None
        return scene.held(pick_of(measure))[: scene.queries]

    def calc_aggregate(self, run: Any) -> ByMeasure[float | None]:
        """Aggregate of each measure over the queries that count; None where no query does."""
        return self.calc(run).aggregate()

    def iter_calc(self, run: Any) -> Iterator[QueryValue]:
        """Value of each measure on each query that counts."""
        for query, values in self.calc(run).per_query().items():
            for measure, value in values.items():
                yield QueryValue(query, measure, value)


def is_zero(scores: Scores) -> bool:
    """Whether each value by measures of which more is better is 0, and there is one."""
    rising = [v for m, v in zip(scores.measures, scores.values, strict=True) if not m.definition.is_of_ranks]
    values = np.concatenate([block[~np.isnan(block)] for block in rising] or [np.zeros(0)])
    return bool(values.size) and not values.any()


def settle(values: Floats, scene: Scene, options: Options) -> Floats:
    """Set the values of queries with nothing to find, which are NaN so far, and of queries that are missing from
    a run, as the convention says.
    """
    if options.missing == "error" and scene.missing.any():
        unit = int(np.flatnonzero(scene.missing)[0])
        run, query = scene.sources[unit // scene.queries], scene.ground.queries[unit % scene.queries]
        raise MeasureError(f"{run.name}: query {query!r} of the qrels is missing; this convention needs every query")
    if options.empty == "zero":
        values[np.isnan(values)] = 0.0
    if options.missing == "skip":
        values[scene.missing] = np.nan
    return values


def evaluator(
    measures: Measures,
    qrels: Any,
    convention: str | Convention = "paper",
    order: Order | None = None,
    lenient: bool | None = None,
) -> Evaluator:
    """An `Evaluator`, by the name that it has in ir_measures.

    Parameters
    ----------
    measures, qrels, convention, order, lenient
        See `calc`.

    Returns
    -------
    Evaluator

    See Also
    --------
    calc : Scores one run.

    Examples
    --------
    >>> evaluator("AxIoU@1", {"1": [("a", 0, 10, 4)]}).calc_aggregate({"1": [("a", 0, 5, 1.0)]})
    {AxIoU@1: 0.5}
    """
    return Evaluator(measures, qrels, convention, order, lenient)


def calc(
    measures: Measures,
    qrels: Any,
    run: Any,
    convention: str | Convention = "paper",
    order: Order | None = None,
    lenient: bool | None = None,
) -> Scores:
    """Score one run: aggregates, values of each query, and data frames in one object.

    Parameters
    ----------
    measures : Measure, str, or lists of them
        Such as ``nDCG_IoU(iou=0.5) @ 20``, ``AxIoU @ [1, 5]``, or their texts: see `parse_measures`.
    qrels : Qrels, path, dict or data frame
        See `as_qrels`.
    run : Run, path, dict or data frame
        See `as_run`.
    convention : str or Convention, default "paper"
        Whose rules hold where papers and evaluators differ: see `CONVENTIONS`.
    order : {"given", "score"}, default None
        Whether each list is taken as it is given, or by its scores, the highest first, where equal scores keep their
        order. None: as the convention has it. In `paper` that is `given`, but for mAP_IoU, which goes by scores.
    lenient : bool, default None
        Whether rows that make no sense, such as a moment that stands twice, are kept and counted, or the first is an
        error. None: as the convention has it, an error in `paper` alone.

    Returns
    -------
    Scores

    Raises
    ------
    MeasureError
        For a measure, a convention, qrels or a run that cannot be read; for a run without a judged query; and, where
        the convention says so, for a query that nobody judged or that is missing from the run.

    Warns
    -----
    MeasureWarning
        Where the convention takes lists as given whose scores rise; of rows that were counted; and of what makes one
        doubt that the run is right: no video or id of it is judged, its times look like another unit, or judged queries
        are missing. `Scores.warnings` has these sentences.

    See Also
    --------
    scores_of : Scores several runs in one pass.
    Evaluator : Reads measures and qrels once.
    explain : What a measure sees of one query.

    References
    ----------
    Liang and others, TVR-Ranking, section 4 (nDCG_IoU). Togashi and others, AxIoU, 2022 (AxIoU).

    Examples
    --------
    >>> from reeljudge import AxIoU, nDCG_IoU
    >>> qrels = {"1": [("a", 0, 10, 4), ("b", 0, 10, 2)], "2": [("a", 0, 10, 0)]}
    >>> run = {"1": [("b", 0, 10, 0.2), ("a", 0, 10, 0.9)], "2": [("a", 0, 10, 0.5)]}
    >>> calc(nDCG_IoU(iou=0.5) @ 1, qrels, run, order="given")["nDCG_IoU(iou=0.5)@1"]
    0.5
    >>> calc(nDCG_IoU(iou=0.5) @ 1, qrels, run, order="score")["nDCG_IoU(iou=0.5)@1"]
    1.0

    Predictions with the same score keep their order:

    >>> tied = {"1": [("b", 0, 10, 0.5), ("a", 0, 10, 0.5)]}
    >>> calc(nDCG_IoU(iou=0.5) @ 1, qrels, tied, order="score")["nDCG_IoU(iou=0.5)@1"]
    0.5

    Query 2 has nothing relevant: it is left out of the mean, or counts 0 under the convention `released`.

    >>> [calc(AxIoU @ 1, qrels, run, name, order="score")["AxIoU@1"] for name in ("paper", "released")]
    [1.0, 0.5]

    A moment that the run lists twice is an error. The published evaluators count it, as `lenient=True` does, and it can
    match once only:

    >>> twice = {"1": [("b", 0, 10, 0.9), ("b", 0, 10, 0.8)]}
    >>> calc(AxIoU @ 1, qrels, twice)  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    MeasureError: run: query '1', prediction 2: moment 'b@0-10000' stands twice in its query
    >>> calc("Recall_IoU(iou=0.5)@2", qrels, twice, "spr").per_query()["1"]["Recall_IoU(iou=0.5)@2"]
    0.5
    """
    return Evaluator(measures, qrels, convention, order, lenient).calc(run)


def calc_aggregate(
    measures: Measures,
    qrels: Any,
    run: Any,
    convention: str | Convention = "paper",
    order: Order | None = None,
    lenient: bool | None = None,
) -> ByMeasure[float | None]:
    """Aggregate of each measure over the queries that count, as ir_measures' function of this name returns it.

    Parameters
    ----------
    measures, qrels, run, convention, order, lenient
        See `calc`.

    Returns
    -------
    dict
        From each measure, or its text, to its aggregate; None where no query counts.

    Raises
    ------
    MeasureError
        See `calc`.

    See Also
    --------
    calc : The same with the values of each query.

    Examples
    --------
    >>> qrels = {"1": [("a", 0, 10, 4), ("b", 0, 10, 2)]}
    >>> run = {"1": [("b", 0, 10, 2.0), ("a", 0, 10, 1.0)]}
    >>> calc_aggregate("nDCG_IoU(iou=0.5)@1", qrels, run)
    {nDCG_IoU(iou=0.5)@1: 0.5}
    >>> calc_aggregate("AxIoU@1", {"1": [("a", 0, 10, 0)]}, run)
    {AxIoU@1: None}
    """
    return calc(measures, qrels, run, convention, order, lenient).aggregate()


def iter_calc(
    measures: Measures,
    qrels: Any,
    run: Any,
    convention: str | Convention = "paper",
    order: Order | None = None,
    lenient: bool | None = None,
) -> Iterator[QueryValue]:
    """Value of each measure on each query that counts, as ir_measures' function of this name yields it.

    Parameters
    ----------
    measures, qrels, run, convention, order, lenient
        See `calc`.

    Yields
    ------
    QueryValue

    See Also
    --------
    calc : The same in one object, with aggregates.

    Examples
    --------
    >>> list(iter_calc("AxIoU@1", {"1": [("a", 0, 10, 4)]}, {"1": [("a", 0, 5, 1.0)]}))
    [QueryValue(query='1', measure=AxIoU@1, value=0.5)]
    """
    return Evaluator(measures, qrels, convention, order, lenient).iter_calc(run)


def scores_of(
    measures: Measures,
    qrels: Any,
    runs: Any,
    convention: str | Convention = "paper",
    order: Order | None = None,
    lenient: bool | None = None,
) -> dict[str, Scores]:
    """Score several runs in one pass.

    Parameters
    ----------
    measures, qrels, convention, order, lenient
        See `calc`.
    runs : dict, or list of runs
        From the name of each run to the run, as in `calc`; or a list of files and Runs, which have names of their own.

    Returns
    -------
    dict
        From the name of each run to its `Scores`.

    Raises
    ------
    MeasureError
        See `calc`; also for two runs of one name.

    See Also
    --------
    compare : Tests which run is better.

    Examples
    --------
    >>> qrels = {"1": [("a", 0, 10, 4)]}
    >>> runs = {"short": {"1": [("a", 0, 5, 1.0)]}, "long": {"1": [("a", 0, 10, 1.0)]}}
    >>> {name: scores["AxIoU@1"] for name, scores in scores_of("AxIoU@1", qrels, runs).items()}
    {'short': 0.5, 'long': 1.0}
    """
    return Evaluator(measures, qrels, convention, order, lenient).scores_of(runs)
