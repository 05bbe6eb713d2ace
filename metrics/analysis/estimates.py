"""Scores estimated from part of the judgements: a random sample of queries is judged, and all ranked ones correct it.

Every ranked query, judged or not, is scored as if its candidates had predicted grades: by default the mean grade of the
judged candidates at the same caption rank. What judging changed on the sample corrects the mean of these scores. The
estimate is valid whatever is predicted; a good prediction makes its interval narrow. `docs/estimates.md` says what is
assumed.
"""

import warnings
from collections.abc import Sequence
from functools import cached_property
from itertools import combinations
from typing import Any, TypedDict, Unpack

import numpy as np

from ..formats.arrays import Bools, Floats, Ints
from ..formats.dicts import IdRun
from ..formats.errors import MeasureError, MeasureWarning
from ..formats.pool import Pool, as_pool
from ..formats.qrels import qrels_source
from ..formats.runs import run_source, run_sources
from ..formats.tables import Run
from ..measures.conventions import Convention, Order, convention_named
from ..measures.definitions import Measures, parse_measure, parse_measures
from ..measures.evaluate import Evaluator
from ..measures.measure import Measure
from ..measures.results import ByMeasure
from .compare import effect_size, holm, names_of
from .comparison import Comparison, Difference, Interval
from .planning import Spread, queries_to_decide, share_left, spread_of
from .predictions import PredictedScores, Predictions, highest, view_of, without_grades
from .sampling import FEWEST, Design, Estimate, Values

RULE = "regression on caption rank, 2"  # with its version; releases name it


RULE = "regression on caption rank, 2"  # with its version; releases name it


class EstimatorOptions(TypedDict, total=False):
    """What `Estimator` may be told besides measures, qrels and pool."""

    convention: str | Convention
    order: Order | None
    predictor: Any
    future: bool
    confidence: float
    anytime: bool


class Estimator:
    """Measures, judged queries and a pool made ready once, for any number of runs.

    Parameters
    ----------
    measures, qrels, convention, order
        See `calc`. Each measure must be a mean over queries.
    pool : Pool, path or dict
        The candidates of all ranked queries: see `as_pool`, which refuses queries without candidates.
    predictor : path or run, default None
        Predicted grades of candidates, made without knowing what was judged: a file as in `read_predicted`, or a run
        whose scores they are. Where it has no candidate, and for None, the mean of judged candidates at the same
        caption rank is the prediction.
    future : bool, default False
        Whether the estimate is of all queries of their kind, and not of the ranked ones: see `Estimate`.
    confidence : float, default 0.95
        That the interval holds the score; between 0 and 1.
    anytime : bool, default False
        Whether the interval holds however often one looks while judging goes on.

    Raises
    ------
    MeasureError
        For a measure that is no mean over queries or looks at saliency, for a judged query that the pool lacks, for
        fewer than three judged queries, and for a sample that is not random.

    See Also
    --------
    estimate : Estimates one score.
    """

    def __init__(
        self,
        measures: Measures,
        qrels: Any,
        pool: Any,
        *,
        convention: str | Convention = "paper",
        order: Order | None = None,
        predictor: Any = None,
        future: bool = False,
        confidence: float = 0.95,
        anytime: bool = False,
    ) -> None:
        if not 0 < confidence < 1:
            raise MeasureError(f"confidence is {confidence}; it must lie between 0 and 1, such as 0.95")
        self.measures = tuple(parse_measures(measures))
        # Most queries of a run are not judged.
        self.convention = convention_named(convention).but(unjudged="skip", order=order)
        for measure in self.measures:
            view_of(measure, self.convention)
        self.future, self.confidence, self.anytime = future, confidence, anytime
        self.pool = as_pool(pool)
        _warn_of_few_candidates(self.pool)
        source = qrels_source(qrels, self.convention.lenient or None)
        self.evaluator = Evaluator(self.measures, source, self.convention)
        self.design = Design(sample_of(self.pool, self.evaluator.ground.queries), self.pool.strata)
        _warn_of_no_judgements(self.pool, self.design.sample, self.evaluator.ground.queries)
        self.predictions = Predictions(self.pool, self.evaluator.ground.qrels, self.design.sample, predictor)
        self.predicted = PredictedScores(self.measures, self.predictions, self.convention)

    def estimate(self, run: Any) -> ByMeasure[Estimate]:
        """Estimate the score of a run on each measure.

        Parameters
        ----------
        run : Run, path, dict or data frame
            See `as_run`. It ranks moments for all queries of the pool.

        Returns
        -------
        dict
            From each measure, or its text, to its `Estimate`.

        Raises
        ------
        MeasureError
            For a run that cannot be read, or holds none of the queries that nobody judged.
        """
        return self.estimates_of([self._source(run)])[0]

    def estimates(self, runs: Any) -> dict[str, ByMeasure[Estimate]]:
        """Estimate the scores of several runs: see `scores_of` for them, and `estimate` for the rest."""
        sources = run_sources(runs, self.convention.lenient or None)
        return dict(zip([source.name for source in sources], self.estimates_of(sources), strict=True))

    def estimates_of(self, sources: Sequence[Run | IdRun]) -> list[ByMeasure[Estimate]]:
        """As `estimates`, of runs that were read and need no names."""
        return [ByMeasure((m, self._estimate(values)) for m, values in each.items()) for each in self._values(sources)]

    def differences(self, run: Any, other: Any) -> ByMeasure[Estimate]:
        """Estimate the score of a run less that of another on each measure. Parameters and errors: see `estimate`."""
        return ByMeasure((measure, self._estimate(values)) for measure, values in self._between(run, other).items())

    def progress(self, run: Any, other: Any) -> dict[Measure, tuple[Estimate, int | None]]:
        """As `differences`, each with the number of queries after which it is decided: see `queries_to_decide`. It is
        None, too, if it is not decided and too few queries deviate from their predictions to say more.
        """
        found = dict[Measure, tuple[Estimate, int | None]]()
        for measure, values in self._between(run, other).items():
            estimate, needed = self._estimate(values), None
            if estimate.method != "bounded":
                needed = queries_to_decide(estimate, spread_of(self.design, values))
            elif estimate.is_decided:
                needed = estimate.judged
            found[measure] = estimate, needed
        return found

    def spreads(self, run: Any, other: Any) -> dict[Measure, Spread]:
        """How the difference of two runs varies between queries, for planning: see `queries_to_judge`."""
        return {measure: spread_of(self.design, values) for measure, values in self._between(run, other).items()}

    def shares_left(self, run: Any) -> dict[Measure, float]:
        """Return the share of a score's variance between judged queries that the predictions leave, from 0 to 1.

        That is 1 − ρ² of the scores and the predicted scores, corrected for the slope that is estimated; NaN if all
        queries score the same. See `queries_alone` for what it is worth. Parameters and errors: see `estimate`.
        """
        (values,) = self._values([self._source(run)])
        return {measure: share_left(self.design, each) for measure, each in values.items()}

    def compare(self, runs: Any, baseline: str | None = None) -> Comparison:
        """Compare runs by estimated differences: as `compare` does with scores of queries that are judged in full.

        The p values are those of the estimates' t statistics. Parameters and errors: see `estimate` and `compare`.
        """
        sources = run_sources(runs, self.convention.lenient or None)
        values = dict(zip(names_of([source.name for source in sources], baseline), self._values(sources), strict=True))
        pairs = [(n, baseline) for n in values if n != baseline] if baseline else list(combinations(values, 2))
        intervals, differences = {}, []
        for measure in self.measures:
            for name, of_run in values.items():
                mean = self._estimate(of_run[measure])
                intervals[name, measure] = Interval(mean.value, mean.low, mean.high)
            found = [values[run][measure].less(values[other][measure]) for run, other in pairs]
            estimates = [self._estimate(each) for each in found]
            p = np.array([self.design.p_value(each) for each in found])
            for pair, each, mean, single, corrected in zip(pairs, found, estimates, p, holm(p), strict=True):
                effect = effect_size(each.residual + each.mean)
                numbers = (mean.value, mean.low, mean.high, effect, float(single), float(corrected))
                differences.append(Difference(measure, *pair, *numbers))
        level, convention = 1 - self.confidence, self.convention.name
        return Comparison(
            convention, "estimated", level, baseline, tuple(values), self.measures, intervals, tuple(differences)
        )

    def _estimate(self, values: Values) -> Estimate:
        return self.design.estimate(values, self.future, self.confidence, self.anytime)

    def _between(self, run: Any, other: Any) -> dict[Measure, Values]:
        first, second = self._values([self._source(run), self._source(other)])
        return {measure: first[measure].less(second[measure]) for measure in self.measures}

    def _source(self, run: Any) -> Run | IdRun:
        return run_source(run, self.convention.lenient or None)

    def _values(self, sources: Sequence[Run | IdRun]) -> list[dict[Measure, Values]]:
        for source in sources:
            self._check(source)
        sources = self.evaluator.ordered(sources)
        judged = self.evaluator.scores_on(self.evaluator.scene(sources))
        found = zip(judged, self.predicted.scores(*sources), strict=True)
        return [
            {
                measure: self._made_ready(measure, values, predicted[measure])
                for measure, values in zip(self.measures, scores.columns(), strict=True)
            }
            for scores, predicted in found
        ]

    def _made_ready(self, measure: Measure, scores: Floats, predicted: Floats) -> Values:
        judged = np.append(scores, without_grades(measure, self.convention))[self._places]
        values = self.design.values(judged, predicted, highest(measure, self.convention))
        if values is None:
            raise MeasureError(f"{measure} cannot be estimated: the convention leaves out all judged queries")
        return values

    @cached_property
    def _places(self) -> Ints:
        """Number of each query of the sample among the queries of the qrels; -1 where none of its pairs has a grade."""
        position = self.evaluator.ground.position
        return np.array([position.get(self.pool.queries[row], -1) for row in self.design.sample.tolist()])

    def _check(self, run: Run | IdRun) -> None:
        """Refuse a run that ranks moments for judged queries only, and warn if it lacks others."""
        others = self.predictions.unjudged
        missing = others.difference(run.queries)
        if others and missing == others:
            raise MeasureError(
                f"run {run.name}: has none of the {len(others):,} queries that are ranked and not judged; "
                "an estimate needs the run's moments for all ranked queries"
            )
        if missing:
            message = f"run {run.name}: {len(missing):,} of the {len(others):,} queries that are not judged are missing"
            warnings.warn(f"{message}; they are predicted to score 0", MeasureWarning, stacklevel=4)


def estimate(measure: str | Measure, qrels: Any, run: Any, pool: Any, **options: Unpack[EstimatorOptions]) -> Estimate:
    """Estimate a run's score over all ranked queries from those that were judged.

    Parameters
    ----------
    measure : Measure or str
        A mean over queries.
    run : Run, path, dict or data frame
        See `as_run`. It ranks moments for all queries of the pool.
    qrels, pool
        See `Estimator`.
    options
        `convention`, `order`, `predictor`, `future`, `confidence` and `anytime`: see `Estimator`. With several measures
        or runs, an `Estimator` reads qrels and pool once.

    Returns
    -------
    Estimate

    Raises
    ------
    MeasureError
        See `Estimator`; also for a run that holds none of the queries that nobody judged.

    See Also
    --------
    Estimator : Estimates several scores.
    calc : Scores a run on the judged queries alone.

    References
    ----------
    Angelopoulos and others, Prediction-powered inference, 2023.

    Examples
    --------
    Of six ranked queries, four are judged; the run finds the first candidate of each:

    >>> pool = {str(n): [("a", n, n + 1), ("b", n, n + 1)] for n in range(6)}
    >>> qrels = {str(n): [("a", n, n + 1, 4 - n), ("b", n, n + 1, 2)] for n in range(4)}
    >>> run = {str(n): [("a", n, n + 1, 1.0)] for n in range(6)}
    >>> print(estimate("nDCG_IoU(iou=0.5)@1", qrels, run, pool))
    0.8750 [0.5614, 0.9454], estimated from 67% of the queries, bounded
    """
    measure = parse_measure(measure)
    return Estimator([measure], qrels, pool, **options).estimate(run)[measure]


def estimate_difference(
    measure: str | Measure, qrels: Any, run: Any, other: Any, pool: Any, **options: Unpack[EstimatorOptions]
) -> Estimate:
    """Estimate the score of a run less that of another over all ranked queries.

    Parameters
    ----------
    measure, qrels, run, pool, options
        See `estimate`.
    other : Run, path, dict or data frame
        The run whose score is taken away.

    Returns
    -------
    Estimate

    Raises
    ------
    MeasureError
        See `estimate`.

    See Also
    --------
    compare : Compares runs on queries that are judged in full.

    Examples
    --------
    A run does not differ from itself:

    >>> pool = {str(n): [("a", n, n + 1), ("b", n, n + 1)] for n in range(6)}
    >>> qrels = {str(n): [("a", n, n + 1, 4 - n), ("b", n, n + 1, 2)] for n in range(4)}
    >>> run = {str(n): [("a", n, n + 1, 1.0)] for n in range(6)}
    >>> estimate_difference("nDCG_IoU(iou=0.5)@1", qrels, run, run, pool).value
    0.0
    """
    measure = parse_measure(measure)
    return Estimator([measure], qrels, pool, **options).differences(run, other)[measure]


def _warn_of_no_judgements(pool: Pool, sample: Ints, judged: tuple[str, ...]) -> None:
    """Warn of queries of the sample that the qrels lack, which is right only if all their pairs were discarded."""
    known = set(judged)
    if lacking := [query for row in sample.tolist() if (query := pool.queries[row]) not in known]:
        message = (
            f"the qrels have no judgement of {len(lacking):,} of the {sample.size:,} queries that the pool marks as "
            f"judged (the first is {lacking[0]!r}); they count as queries without anything relevant"
        )
        warnings.warn(message, MeasureWarning, stacklevel=3)


def _warn_of_few_candidates(pool: Pool) -> None:
    """Warn of queries that have fewer than half as many candidates as most."""
    sizes = np.diff(pool.offsets)
    usual = float(np.median(sizes)) if sizes.size else 0.0
    if (few := np.flatnonzero(sizes < usual / 2)).size:
        message = (
            f"the pool has fewer candidates for {few.size:,} of its {sizes.size:,} queries: {sizes[few[0]]} for query "
            f"{pool.queries[few[0]]!r}, {usual:g} for most"
        )
        warnings.warn(f"{message}; their predicted scores say little", MeasureWarning, stacklevel=3)


def sample_of(pool: Pool, judged: tuple[str, ...]) -> Bools:
    """Which queries of the pool are the sample; raises MeasureError where there is no random sample."""
    if pool.flaw:
        raise MeasureError(f"the sample is not random: {pool.flaw}; a plain score says what was judged")
    known = set(pool.queries)
    if lacking := [query for query in judged if query not in known]:
        raise MeasureError(
            f"the pool lacks {len(lacking):,} of the {len(judged):,} judged queries (the first is {lacking[0]!r}); "
            "it must hold all ranked queries, judged or not"
        )
    if pool.sample is not None:
        sample = pool.sample
    else:
        in_qrels = set(judged)
        sample = np.array([query in in_qrels for query in pool.queries])
    if sample.sum() < FEWEST:
        raise MeasureError(f"the sample holds {sample.sum()} queries; an estimate needs {FEWEST} or more")
    return sample
