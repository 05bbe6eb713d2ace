"""What is predicted of candidates that nobody judged, and what runs score by it."""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np

from ..formats import ANY_GRADE
from ..formats.arrays import Bools, Floats, Ints
from ..formats.dicts import IdRun
from ..formats.errors import MeasureError, MeasureWarning
from ..formats.pool import Pool, look_up
from ..formats.predicted import as_predicted
from ..formats.tables import Qrels, Run
from ..measures.conventions import Convention
from ..measures.evaluate import Evaluator
from ..measures.ground import Ground
from ..measures.measure import Measure
from ..measures.results import scale_of
from ..measures.scores import discounts, gains

ENOUGH = 30  # judged candidates; from fewer, a rank's mean is smoothed over the ranks around it
UNEVEN = 0.05  # more than that, and a predictor's candidates of judged and of other queries are unlike


class View(NamedTuple):
    """What a measure asks of a moment: its gain, or whether it has at least a grade."""

    of: Literal["gain", "grade"]
    name: str  # of the gain, or the grade


class Predictions:
    """What the judged candidates of the sample, or a predictor, say of all candidates of a pool.

    pool, qrels, predictor: see `Estimator`.
    sample: the judged queries' numbers in the pool.
    """

    def __init__(self, pool: Pool, qrels: Qrels, sample: Ints, predictor: Any = None) -> None:
        judged = set(sample.tolist())
        self.unjudged = {query for number, query in enumerate(pool.queries) if number not in judged}
        self.pool, self.query, self.rank = pool, pool.query_of_row(), pool.rank
        self.first = pool.offsets[:-1]
        grades = look_up(pool, qrels, qrels.grades, -1)
        self.judged = np.flatnonzero((grades >= 0) & np.isin(self.query, sample))
        self.grades = grades[self.judged]
        self.given: Floats | None = None
        self._grounds: dict[View, tuple[Ground, Floats]] = {}
        if predictor is not None:
            table = as_predicted(predictor)
            self.given = look_up(pool, table, table.scores, np.nan).clip(0, ANY_GRADE)
            self._check(self.given, np.isin(self.query, sample))

    def _check(self, given: Floats, in_sample: Bools) -> None:
        """Refuse a predictor that can predict nothing, or that says of judged queries what it does not of others.

        The prediction must be the same whether or not a query is judged. So a candidate may lack one by chance, but not
        because nobody judged it.
        """
        if np.isnan(given).all():
            raise MeasureError("the predictor has no candidate of the pool; do both use the same query and moment ids?")
        if in_sample.all() or not in_sample.any():
            return
        judged, others = (float((~np.isnan(given[each])).mean()) for each in (in_sample, ~in_sample))
        if not others:
            raise MeasureError(
                "the predictor has candidates of judged queries only; it must predict those that nobody judged, too"
            )
        if abs(judged - others) > UNEVEN:
            message = f"the predictor has {judged:.0%} of the candidates of judged queries, and {others:.0%} of others"
            warnings.warn(f"{message}; estimates are off if judging decides which it has", MeasureWarning, stacklevel=4)

    def ground(self, view: View) -> tuple[Ground, Floats]:
        """The pool with predicted grades as a view sees it, and the gain of each grade from 0 up."""
        if view not in self._grounds:
            self._grounds[view] = self._make_ground(view)
        return self._grounds[view]

    def _make_ground(self, view: View) -> tuple[Ground, Floats]:
        # Grades are whole numbers. So each predicted gain gets a grade of its own; what is relevant gets the highest.
        predicted = self.gains(view.name) if view.of == "gain" else self.relevant(int(view.name))
        scale, grades = np.unique(np.append(0.0, predicted), return_inverse=True)
        if view.of == "grade":
            grades = grades * ANY_GRADE
        shared = {name: getattr(self.pool, name) for name in ("queries", "offsets", "names", "video", "start", "end")}
        return Ground(Qrels(**shared, grades=grades[1:].astype(np.int64))), scale

    def gains(self, gain: str) -> Floats:
        """Predicted gain of every candidate: floats of shape (rows of the pool,)."""
        by_rank = self.mean_by_rank(gains(self.grades, gain))
        if self.given is None:
            return by_rank
        grades = np.arange(ANY_GRADE + 1)
        return np.where(np.isnan(self.given), by_rank, np.interp(self.given, grades, gains(grades, gain)))

    def relevant(self, least: int) -> Bools:
        """Whether every candidate is predicted to have at least a grade: bool of shape (rows of the pool,).

        By rank, so many of a query's candidates are relevant as there are on average, and at least one: those at whose
        ranks most are.
        """
        share = self.mean_by_rank((self.grades >= least).astype(np.float64))
        order = np.lexsort((-share, self.query))
        place = np.empty_like(order)
        place[order] = np.arange(order.size) - self.first[self.query]
        number = np.maximum(1, np.rint(np.bincount(self.query, share, self.first.size)))
        by_rank: Bools = place < number[self.query]
        return by_rank if self.given is None else np.where(np.isnan(self.given), by_rank, self.given > least - 0.5)

    def mean_by_rank(self, values: Floats) -> Floats:
        """For every candidate the mean of the values that the judged candidates of its rank have.

        Where fewer than 30 are judged, the neighbouring ranks are included, one more on each side at a time.
        """
        width = int(self.rank.max()) + 1
        counts = (np.bincount(self.rank[self.judged], each, width) for each in (np.ones_like(values), values))
        number, total = (np.append(0.0, np.cumsum(each)) for each in counts)
        low, high = np.arange(width), np.arange(width) + 1
        while (few := (number[high] - number[low] < ENOUGH) & (high - low < width)).any():
            low, high = np.maximum(low - few, 0), np.minimum(high + few, width)
        means: Floats = (total[high] - total[low]) / np.maximum(1, number[high] - number[low])
        return means[self.rank]


class PredictedScores:
    """Scores of each ranked query as if its candidates had the predicted grades.

    measures, convention: see `Evaluator`; the convention leaves out queries that are not in the pool.
    predictions: of the pool.
    """

    def __init__(self, measures: Sequence[Measure], predictions: Predictions, convention: Convention) -> None:
        of_view: dict[View, list[Measure]] = {}
        for measure in measures:
            of_view.setdefault(view_of(measure, convention), []).append(measure)
        self._parts: list[tuple[Evaluator, list[Measure]]] = []
        for view, members in of_view.items():
            ground, scale = predictions.ground(view)
            scored = [_with_scale(measure, scale) for measure in members] if view.of == "gain" else members
            self._parts.append((Evaluator(scored, ground, convention), members))

    def scores(self, *runs: Run | IdRun) -> list[dict[Measure, Floats]]:
        """Return, for each run and measure, floats of shape (ranked,); NaN where nothing is predicted to be found."""
        found: list[dict[Measure, Floats]] = [{} for _ in runs]
        for evaluator, measures in self._parts:
            for values, scores in zip(found, evaluator.scores_on(evaluator.scene(runs)), strict=True):
                values |= dict(zip(measures, scores.columns(), strict=True))
        return found


def obstacle(measure: Measure) -> str:
    """Why the mean of a measure over queries cannot be estimated from part of them; empty if it can."""
    definition = measure.definition
    if definition.aggregate != "mean":
        what = {"median": "a median", "std": "a standard deviation", "f1": "an F1"}[definition.aggregate]
        return f"{measure} is {what}, not a mean over queries, and cannot be estimated from part of them"
    if definition.family == "highlight":
        return f"{measure} looks at saliency, which a pool of candidates says nothing about"
    if definition.family == "set" or measure.param("above") is not None:
        return f"{measure} asks whether there is nothing to find, which part of the judgements cannot tell"
    if definition.name in ("infAP", "xinfAP"):
        return f"{measure} infers from a sample of each query's pool, and not from part of the queries"
    return ""


def view_of(measure: Measure, convention: Convention) -> View:
    """What a measure asks of a moment; raises MeasureError for one whose mean over queries cannot be estimated."""
    if why := obstacle(measure):
        raise MeasureError(why)
    definition = measure.definition
    if definition.name in ("nDCG_IoU", "nDCG"):
        return View("gain", measure.param("gain") or convention.options(definition.family).gain)
    return View("grade", "0" if definition.name == "Judged" else str(measure.number("rel", 1)))


def without_grades(measure: Measure, convention: Convention) -> float:
    """What a judged query scores of which no pair has a grade: 0, or NaN if the convention leaves it out."""
    return 0.0 if convention.options(measure.definition.family).empty == "zero" else np.nan


def highest(measure: Measure, convention: Convention) -> float:
    """The highest score of a query: that of a perfect share, or of DCG with IoU 1 at each rank; infinite for others."""
    if measure.definition.share:
        return float(scale_of(measure, convention))
    if measure.definition.name != "DCG_IoU":
        return np.inf
    return float((1 / discounts(measure.param("discount") or "log2", measure.depth)).sum())


def _with_scale(measure: Measure, scale: Floats) -> Measure:
    """The measure with the gain that each grade has, from grade 0 up."""
    params = dict(measure.params) | {"gain": "+".join(map(repr, scale.tolist()))}
    return replace(measure, params=tuple(params.items()))
