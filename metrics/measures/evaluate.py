"""Scoring runs: measures, qrels and runs go in; values per query and their aggregates come out."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..formats.arrays import Floats
from ..formats.errors import MeasureError
from ..formats.sources import as_qrels, as_run
from ..formats.tables import Run
from .aggregate import aggregate, reported
from .conventions import Convention, Options, convention_named
from .grammar import parse_measures
from .measure import Measure
from .scene import Ground, Plan, Scene


class QueryValue(NamedTuple):
    """One measure's value on one query."""

    query: str
    measure: Measure
    value: float


@dataclass(frozen=True, eq=False)
class Scores:
    """The scores of one run under one convention.

    values: for each measure, floats of shape (queries, thresholds); NaN where a query is left out of it.
    """

    convention: Convention
    run: str
    queries: tuple[str, ...]
    measures: tuple[Measure, ...]
    values: tuple[Floats, ...]

    def aggregate(self) -> dict[Measure, float | None]:
        """Aggregate of each measure over the queries that count; None where no query does."""
        return {
            measure: aggregate(measure, values, self.convention)
            for measure, values in zip(self.measures, self.values, strict=True)
        }

    def per_query(self) -> dict[str, dict[Measure, float]]:
        """Values of each query that counts in at least one measure."""
        columns = [reported(m, v, self.convention) for m, v in zip(self.measures, self.values, strict=True)]
        rows = zip(self.queries, np.stack(columns, axis=1).tolist(), strict=True)
        kept = {
            query: {m: value for m, value in zip(self.measures, row, strict=True) if value == value}
            for query, row in rows
        }
        return {query: values for query, values in kept.items() if values}

    def table(self) -> Floats:
        """Values of shape (queries, measures), thresholds averaged, NaN where a query is left out."""
        return np.stack([values.mean(axis=1) for values in self.values], axis=1)

    def left_out(self) -> int:
        """Number of judged queries that count in no measure."""
        return int(np.isnan(self.table()).all(axis=1).sum())


class Evaluator:
    """Measures and qrels made ready once, for any number of runs; for what qrels and runs may be,
    see `as_qrels`.
    """

    def __init__(
        self, measures: Iterable[str | Measure], qrels: Any, convention: str | Convention = "paper"
    ) -> None:
        self.measures = tuple(parse_measures(measures))
        if not self.measures:
            raise MeasureError("no measure was asked for; give at least one, such as nDCG_IoU(iou=0.5)@20")
        self.convention = convention_named(convention)
        self.ground = Ground(as_qrels(qrels))
        families = dict.fromkeys(measure.definition.family for measure in self.measures)
        self._plans = {family: self._plan(family) for family in families}

    def _plan(self, family: str) -> Plan:
        members = [measure for measure in self.measures if measure.definition.family == family]
        thresholds = sorted({iou for measure in members for iou in measure.thresholds})
        cutoffs = [measure.cutoff or 0 for measure in members]
        return Plan(0 if 0 in cutoffs else max(cutoffs), tuple(thresholds))

    def scores(self, *runs: Run) -> list[Scores]:
        """Score runs together, in one pass; raises MeasureError for a query that nobody judged."""
        return self.scores_on(Scene(self.ground, runs))

    def scores_on(self, scene: Scene) -> list[Scores]:
        """Score the runs of a scene."""
        runs = scene.runs
        values = [self._score(scene, measure) for measure in self.measures]
        blocks = [block.reshape(len(runs), scene.queries, -1) for block in values]
        queries = self.ground.qrels.queries
        return [
            Scores(self.convention, run.name, queries, self.measures, tuple(block[r] for block in blocks))
            for r, run in enumerate(runs)
        ]

    def _score(self, scene: Scene, measure: Measure) -> Floats:
        definition = measure.definition
        options = self.convention.options(definition.family)
        values = definition.score(scene, options, measure, self._plans[definition.family])
        return settle(values.copy(), scene, options)

    def calc_aggregate(self, run: Any) -> dict[Measure, float | None]:
        return self.scores(as_run(run))[0].aggregate()

    def iter_calc(self, run: Any) -> Iterator[QueryValue]:
        for query, values in self.scores(as_run(run))[0].per_query().items():
            for measure, value in values.items():
                yield QueryValue(query, measure, value)


def settle(values: Floats, scene: Scene, options: Options) -> Floats:
    """Apply the convention's word on queries with nothing to find (NaN so far) and on queries that a run
    lacks.
    """
    if options.missing == "error" and scene.missing.any():
        unit = int(np.flatnonzero(scene.missing)[0])
        run, query = scene.runs[unit // scene.queries], scene.ground.qrels.queries[unit % scene.queries]
        raise MeasureError(
            f"{run.name}: query {query!r} of the qrels is missing; this convention needs every query"
        )
    if options.empty == "zero":
        values[np.isnan(values)] = 0.0
    if options.missing == "skip":
        values[scene.missing] = np.nan
    return values


def evaluator(
    measures: Iterable[str | Measure], qrels: Any, convention: str | Convention = "paper"
) -> Evaluator:
    """A reusable evaluator: `evaluator(measures, qrels).calc_aggregate(run)`."""
    return Evaluator(measures, qrels, convention)


def calc(
    measures: Iterable[str | Measure], qrels: Any, run: Any, convention: str | Convention = "paper"
) -> Scores:
    """Score one run: values per query and aggregates in one object."""
    return Evaluator(measures, qrels, convention).scores(as_run(run))[0]


def calc_aggregate(
    measures: Iterable[str | Measure], qrels: Any, run: Any, convention: str | Convention = "paper"
) -> dict[Measure, float | None]:
    """Aggregate of each measure over the queries that count.

    Examples
    --------
    >>> qrels = {"1": [("a", 0, 10, 4), ("b", 0, 10, 2)]}
    >>> run = {"1": [("b", 0, 10, 2.0), ("a", 0, 10, 1.0)]}
    >>> calc_aggregate(["nDCG_IoU(iou=0.5)@1"], qrels, run)
    {nDCG_IoU(iou=0.5)@1: 0.5}
    """
    return Evaluator(measures, qrels, convention).calc_aggregate(run)


def iter_calc(
    measures: Iterable[str | Measure], qrels: Any, run: Any, convention: str | Convention = "paper"
) -> Iterator[QueryValue]:
    """Value of each measure on each query that counts."""
    return Evaluator(measures, qrels, convention).iter_calc(run)


def scores_of(
    measures: Iterable[str | Measure],
    qrels: Any,
    runs: Sequence[Any],
    convention: str | Convention = "paper",
) -> list[Scores]:
    """Score several runs in one pass."""
    return Evaluator(measures, qrels, convention).scores(*map(as_run, runs))
