"""What the final grades, and the order of systems, would have been with fewer raw grades. Pure.

A campaign keeps who said what, so its judging can be repeated with half of the pairs, with one annotator instead of
two, or without one of the annotators.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..formats.arrays import Bools, Floats, Ints
from ..formats.pool import Pool
from ..formats.tables import Qrels, Run
from ..measures.conventions import Convention
from ..measures.evaluate import Evaluator
from ..measures.measure import Measure
from .estimates import Estimator

Integer = TypeVar("Integer", bound=np.signedinteger[Any])
Change = Literal["half", "queries", "estimated", "one", "without"]
NO_GRADE = -1
SHARE = 0.3  # of the queries
FEWEST = 20  # judged queries of which a share is drawn


class RawGrades(NamedTuple):
    """One raw grade a row, int64 of shape (grades,).

    pair: number of the row in the qrels of all pairs. annotator: number of who gave it. round: 1 or 2, 0 where it is
    not known. grade: from 0 up.
    """

    pair: Ints
    annotator: Ints
    round: Ints
    grade: Ints


class Changed(NamedTuple):
    """The scores of the systems under one change of the judging: means of shape (trials, systems, measures).

    annotator: who is left out by the change `without`, -1 for other changes.
    """

    change: Change
    annotator: int
    means: Floats


def final_grades(raw: RawGrades, kept: Bools, final: Ints, tolerance: int = 1) -> Ints:
    """Final grades if only some raw grades had been given.

    Parameters
    ----------
    raw, kept
        The raw grades, and which of them are kept: bool of shape (grades,).
    final
        The final grade of every pair as things are, -1 for none: int64 of shape (pairs,). A pair of which no raw grade
        is kept keeps it.
    tolerance
        The largest difference of two grades that agree.

    Returns
    -------
    int64 of shape (pairs,), -1 for pairs without a final grade. The grade is the middle one of an odd number, and the
    mean of the middle two of an even number, halves up, if these differ by at most the tolerance. Of two or four
    grades this is TVR-Ranking's rule (section 3.2); it never leaves exactly three or one.

    Examples
    --------
    Grades 0, 3, 2, 1 of one pair; without the last the middle one is 2, and of 0 and 3 nothing follows.

    >>> raw = RawGrades(*np.array([[0, 0, 0, 0], [5, 6, 7, 8], [1, 1, 2, 2], [0, 3, 2, 1]]))
    >>> final = np.array([2])
    >>> kept = np.array([[1, 1, 1, 1], [1, 1, 1, 0], [1, 1, 0, 0]], dtype=bool)
    >>> [final_grades(raw, some, final).item() for some in kept]
    [2, 2, -1]
    """
    pair, grade = raw.pair[kept], raw.grade[kept]
    grade = grade[np.lexsort((grade, pair))]
    count = np.bincount(pair, minlength=final.size)
    first = np.cumsum(count) - count
    some = count > 0
    low = grade[(first + (count - 1) // 2)[some]]
    high = grade[(first + count // 2)[some]]
    found = final.copy()
    found[some] = settled(low, high, tolerance)
    return found


def settled(low: NDArray[Integer], high: NDArray[Integer], tolerance: int) -> NDArray[Integer]:
    """Return the mean of two middle grades, halves up, or -1 if they differ by more than the tolerance."""
    return np.where(high - low <= tolerance, (low + high + 1) // 2, NO_GRADE)


def half_of_each_query(query: Ints, rng: np.random.Generator) -> Bools:
    """A random half of the pairs of every query, one more where their number is odd: bool of shape (pairs,).

    query: the query of each pair; pairs of a query stand together.
    """
    order = np.lexsort((rng.random(query.size), query))
    count = np.bincount(query)
    place = np.empty(query.size, dtype=np.int64)
    place[order] = np.arange(query.size) - np.repeat(np.cumsum(count) - count, count)
    kept: Bools = place < ((count + 1) // 2)[query]
    return kept


def one_of_each_pair(raw: RawGrades, rng: np.random.Generator) -> Bools:
    """One raw grade of every pair, drawn from those of round one: bool of shape (grades,)."""
    rows = np.flatnonzero(raw.round != 2)
    rows = rows[np.lexsort((rng.random(rows.size), raw.pair[rows]))]
    kept = np.zeros(raw.pair.size, dtype=np.bool_)
    kept[rows[np.unique(raw.pair[rows], return_index=True)[1]]] = True
    return kept


def with_grades(pairs: Qrels, grades: Ints) -> Qrels:
    """The qrels of the pairs that have a grade: pairs with -1 are left out, and queries of which no pair is left."""
    graded = replace(pairs, grades=grades, ids=None).of_rows(grades >= 0)
    return graded.of_queries(np.diff(graded.offsets) > 0)


class Judged(NamedTuple):
    """What was judged: every pair as qrels, whose grades are the final ones (-1 for none), and the raw grades."""

    pairs: Qrels
    raw: RawGrades
    tolerance: int = 1

    @property
    def final(self) -> Ints:
        return self.pairs.grades


def means_on(qrels: Qrels, measures: Sequence[str | Measure], runs: Sequence[Run], convention: Convention) -> Floats:
    """Mean scores of shape (systems, measures); queries that nobody judged are left out."""
    evaluator = Evaluator(measures, qrels, convention.but(unjudged="skip"))
    found: Floats = np.nanmean([score.table() for score in evaluator.scores_on(evaluator.scene(runs))], axis=1)
    return found


def changes(
    judged: Judged,
    measures: Sequence[str | Measure],
    runs: Sequence[Run],
    convention: Convention,
    trials: int = 20,
    seed: int = 0,
    pool: Pool | None = None,
) -> Iterator[Changed]:
    """Score the runs under each change of the judging, one after the other, because each takes a while.

    Parameters
    ----------
    trials
        How often chance decides: which half of the pairs, which queries, and whose grade.
    seed
        Trial t of each change is drawn from (seed, t).
    pool
        The candidates of the judged queries in the order of their ranks, by which the others are corrected.

    Yields
    ------
    Changed: half of each query's pairs; with a pool, and at least 20 queries, 30 % of these, as plain means and as
    estimates for all judged queries; one annotator's grade for every pair; and the campaign without each of its
    annotators, in the order of their numbers.
    """

    def means(many: Iterable[Ints]) -> Floats:
        qrels = (with_grades(judged.pairs, grades) for grades in many)
        return np.array([means_on(each, measures, runs, convention) for each in qrels])

    def graded(kept: Bools) -> Ints:
        return final_grades(judged.raw, kept, judged.final, judged.tolerance)

    streams = [np.random.default_rng([seed, trial]) for trial in range(trials)]
    query = judged.pairs.query_of_row()
    halved = (np.where(half_of_each_query(query, rng), judged.final, NO_GRADE) for rng in streams)
    yield Changed("half", -1, means(halved))
    if pool:
        yield from _of_a_share(judged, measures, runs, convention, streams, pool)
    yield Changed("one", -1, means(graded(one_of_each_pair(judged.raw, rng)) for rng in streams))
    for annotator in np.unique(judged.raw.annotator).tolist():
        yield Changed("without", annotator, means([graded(judged.raw.annotator != annotator)]))


def _of_a_share(
    judged: Judged,
    measures: Sequence[str | Measure],
    runs: Sequence[Run],
    convention: Convention,
    streams: Sequence[np.random.Generator],
    pool: Pool,
) -> Iterator[Changed]:
    qrels = with_grades(judged.pairs, judged.final)
    pool = pool.part(np.isin(pool.queries, qrels.queries))
    total = len(pool)
    if total < FEWEST:
        return
    estimates = []
    for rng in streams:
        drawn = {pool.queries[number] for number in rng.permutation(total)[: round(SHARE * total)]}
        in_sample = np.array([query in drawn for query in qrels.queries])[qrels.query_of_row()]
        estimator = Estimator(
            measures, with_grades(qrels, np.where(in_sample, qrels.grades, NO_GRADE)), pool, convention=convention
        )
        estimates.append([[*each.values()] for each in estimator.estimates_of(runs)])
    both: tuple[tuple[Change, str], ...] = (("queries", "plain"), ("estimated", "value"))
    for change, name in both:
        means = [[[getattr(mean, name) for mean in of_run] for of_run in trial] for trial in estimates]
        yield Changed(change, -1, np.array(means))
