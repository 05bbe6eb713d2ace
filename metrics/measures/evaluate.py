"""Scoring runs: measures, qrels and runs go in; values per query and their aggregates come out."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..formats.arrays import Floats
from ..formats.dicts import IdRun
from ..formats.errors import MeasureError
from ..formats.qrels import qrels_source
from ..formats.runs import run_source
from ..formats.tables import Run
from .conventions import Convention, Options, convention_named
from .definitions import Measures, parse_measures
from .ground import Ground, Plan
from .measure import Measure
from .results import QueryValue, Scores
from .scene import Scene


class Evaluator:
    """Measures and qrels made ready once, for any number of runs.

    Parameters
    ----------
    measures
        Measures, or their names in the grammar of `parse_measure`; or a single one.
    qrels
        A file, a dict, a data frame or Qrels: see `as_qrels`; or another evaluator's `ground`.
    convention
        A convention or its name: see `CONVENTIONS`.

    Raises
    ------
    MeasureError
        For qrels, a measure or a convention that cannot be read, and for no measure at all.
    """

    def __init__(self, measures: Measures, qrels: Any, convention: str | Convention = "paper") -> None:
        self.measures = tuple(parse_measures(measures))
        if not self.measures:
            raise MeasureError("no measure was asked for; give at least one, such as nDCG_IoU(iou=0.5)@20")
        self.convention = convention_named(convention)
        lenient = self.convention.lenient or None  # None: as the format of the qrels has it
        self.ground = qrels if isinstance(qrels, Ground) else Ground(qrels_source(qrels, lenient))
        families = dict.fromkeys(measure.definition.family for measure in self.measures)
        self._plans = {family: self._plan(family) for family in families}

    def _plan(self, family: str) -> Plan:
        members = [measure for measure in self.measures if measure.definition.family == family]
        thresholds = sorted({iou for measure in members for iou in measure.thresholds})
        cutoffs = [measure.cutoff or 0 for measure in members]
        return Plan(0 if 0 in cutoffs else max(cutoffs), tuple(thresholds))

    def scores(self, *runs: Any) -> list[Scores]:
        """Score runs together, in one pass.

        Parameters
        ----------
        runs
            Files, dicts, data frames or Runs: see `as_run`.

        Raises
        ------
        MeasureError
            For a run that cannot be read or has no judged query; and, where the convention says so, for a query
            that nobody judged or that is missing from the run.
        """
        return self.scores_on(self.scene([run_source(run, self.convention.lenient) for run in runs]))

    def scene(self, runs: Sequence[Run | IdRun]) -> Scene:
        """The runs over the qrels, for `scores_on`."""
        if not runs:
            raise MeasureError("there is no run to score; at least one is needed")
        return Scene(self.ground, runs, self.convention.unjudged)

    def scores_on(self, scene: Scene) -> list[Scores]:
        """Score the runs of a scene."""
        runs = scene.sources
        values = [self._score(scene, measure) for measure in self.measures]
        blocks = [block.reshape(len(runs), scene.queries, -1) for block in values]
        return [
            Scores(
                self.convention,
                run.name,
                self.ground.queries,
                self.measures,
                tuple(block[r] for block in blocks),
                scene.unjudged[r],
            )
            for r, run in enumerate(runs)
        ]

    def _score(self, scene: Scene, measure: Measure) -> Floats:
        definition = measure.definition
        options = self.convention.options(definition.family)
        values = definition.score(scene, options, measure, self._plans[definition.family])
        return settle(values.copy(), scene, options)

    def calc_aggregate(self, run: Any) -> dict[Measure, float | None]:
        """Aggregate of each measure over the queries that count; None where no query does."""
        return self.scores(run)[0].aggregate()

    def iter_calc(self, run: Any) -> Iterator[QueryValue]:
        """Value of each measure on each query that counts."""
        for query, values in self.scores(run)[0].per_query().items():
            for measure, value in values.items():
                yield QueryValue(query, measure, value)


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


def evaluator(measures: Measures, qrels: Any, convention: str | Convention = "paper") -> Evaluator:
    """A reusable evaluator: `evaluator(measures, qrels).calc_aggregate(run)`. Parameters: see `Evaluator`."""
    return Evaluator(measures, qrels, convention)


def calc(measures: Measures, qrels: Any, run: Any, convention: str | Convention = "paper") -> Scores:
    """Score one run: values of each query and aggregates in one object.

    Parameters
    ----------
    measures, qrels, convention
        See `Evaluator`.
    run
        A file, a dict, a data frame or a Run: see `as_run`.

    Raises
    ------
    MeasureError
        See `Evaluator` and `Evaluator.scores`.
    """
    return Evaluator(measures, qrels, convention).scores(run)[0]


def calc_aggregate(
    measures: Measures, qrels: Any, run: Any, convention: str | Convention = "paper"
) -> dict[Measure, float | None]:
    """Aggregate of each measure over the queries that count. Parameters and errors: see `calc`.

    Examples
    --------
    >>> qrels = {"1": [("a", 0, 10, 4), ("b", 0, 10, 2)]}
    >>> run = {"1": [("b", 0, 10, 2.0), ("a", 0, 10, 1.0)]}
    >>> calc_aggregate(["nDCG_IoU(iou=0.5)@1"], qrels, run)
    {nDCG_IoU(iou=0.5)@1: 0.5}
    """
    return Evaluator(measures, qrels, convention).calc_aggregate(run)


def iter_calc(measures: Measures, qrels: Any, run: Any, convention: str | Convention = "paper") -> Iterator[QueryValue]:
    """Value of each measure on each query that counts. Parameters and errors: see `calc`."""
    return Evaluator(measures, qrels, convention).iter_calc(run)


def scores_of(
    measures: Measures, qrels: Any, runs: Sequence[Any], convention: str | Convention = "paper"
) -> list[Scores]:
    """Score several runs in one pass. Parameters and errors: see `calc`."""
    if not isinstance(runs, Sequence) or isinstance(runs, str):
        raise MeasureError(f"runs is one {type(runs).__name__}; it must be a list of runs")
    return Evaluator(measures, qrels, convention).scores(*runs)
