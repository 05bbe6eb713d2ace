"""Comparing runs: paired tests on the same queries, corrected for their number, and bootstrap intervals."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..formats import check_name
from ..formats.arrays import Floats
from ..formats.errors import MeasureError
from ..measures.conventions import Convention, Order
from ..measures.definitions import Measures
from ..measures.evaluate import scores_of
from ..measures.results import Scores, listed, must_be_means, scale_of
from .comparison import Comparison, Difference, Interval
from .intervals import ENOUGH, deviating, distances
from .predictions import highest

BLOCK = 1_000_000  # random numbers at a time


def compare(
    measures: Measures,
    qrels: Any,
    runs: Any,
    convention: str | Convention = "paper",
    order: Order | None = None,
    *,
    lenient: bool | None = None,
    baseline: str | None = None,
    test: str = "t",
    level: float = 0.05,
    seed: int = 0,
    resamples: int = 10_000,
) -> Comparison:
    """Compare runs: paired tests on the same queries, corrected for their number, and bootstrap intervals.

    Parameters
    ----------
    measures, qrels, convention, order, lenient
        See `calc`.
    runs : dict, or list of runs
        At least two: see `scores_of`.
    baseline : str, default None
        Name of the run that the others are compared with; None compares every pair.
    test : {"t", "wilcoxon", "randomisation"}, default "t"
        Paired t-test, signed ranks, or random signs; two-sided, on the queries that count for both runs.
    level : float, default 0.05
        Level of significance, between 0 and 1; the intervals cover 1 − level.
    seed : int, default 0
        Seed of the bootstrap and of the randomisation.
    resamples : int, default 10000
        Number of their resamples.

    Returns
    -------
    Comparison
        Its p values are corrected by Holm's method within each measure.

    Raises
    ------
    MeasureError
        See `calc` and `compare_scores`.

    See Also
    --------
    compare_scores : The same for scores that were computed before.
    estimate_difference : Compares runs of which part of the queries is judged.

    References
    ----------
    Smucker, Allan and Carterette, 2007 (the tests); Holm, 1979 (the correction).

    Examples
    --------
    >>> qrels = {str(n): [("a", 0, 10, 4)] for n in range(6)}
    >>> short = {str(n): [("a", 0, 4 + n / 5, 1.0)] for n in range(6)}
    >>> long = {str(n): [("a", 0, 9 - n / 5, 1.0)] for n in range(6)}
    >>> found = compare("AxIoU@1", qrels, {"short": short, "long": long})
    >>> round(found.differences[0].difference, 4), found.superscript("long", "AxIoU@1")
    (-0.4, 'a')

    Runs that tie on each query do not differ:

    >>> compare("AxIoU@1", qrels, {"one": long, "same": long}).differences[0].p
    1.0
    """
    scores = scores_of(measures, qrels, runs, convention, order, lenient)
    return compare_scores(scores, baseline, test, level, seed, resamples)


def compare_scores(
    scores: Mapping[str, Scores] | Sequence[Scores],
    baseline: str | None = None,
    test: str = "t",
    level: float = 0.05,
    seed: int = 0,
    resamples: int = 10_000,
) -> Comparison:
    """Compare runs that were scored on the same measures and qrels.

    Parameters
    ----------
    scores : dict or list of Scores
        Of at least two runs, as `scores_of` returns them.
    baseline, test, level, seed, resamples
        See `compare`.

    Returns
    -------
    Comparison

    Raises
    ------
    MeasureError
        For fewer than two runs, two runs of one name, an unknown baseline or test, and a measure that is no mean over
        queries, such as a median rank.

    See Also
    --------
    compare : Scores the runs, too.
    grouped : Takes runs under several seeds together.

    Examples
    --------
    >>> from reeljudge import scores_of
    >>> runs = {"short": {"1": [("a", 0, 5, 1.0)]}, "long": {"1": [("a", 0, 10, 1.0)]}}
    >>> compare_scores(scores_of("AxIoU@1", {"1": [("a", 0, 10, 4)]}, runs)).differences[0].difference
    -0.5
    """
    found = listed(scores)
    must_be_means(found[0].measures)
    names = names_of([each.run for each in found], baseline)
    tables = dict(zip(names, (each.table() for each in found), strict=True))
    pairs = [(n, baseline) for n in names if n != baseline] if baseline else list(combinations(names, 2))
    measures, coverage, convention = found[0].measures, 1 - level, found[0].convention
    intervals, differences = {}, []
    for i, measure in enumerate(measures):
        scale, most = scale_of(measure, convention), highest(measure, convention)
        for name in names:
            intervals[name, measure] = bootstrap(scale * tables[name][:, i], coverage, seed, resamples, (0, most))
        between = [tables[a][:, i] - tables[b][:, i] for a, b in pairs]
        p = np.array([p_value(difference, test, seed, resamples) for difference in between])
        numbers = zip(pairs, between, p.tolist(), holm(p).tolist(), strict=True)
        for (a, b), difference, single, corrected in numbers:
            spread = bootstrap(scale * difference, coverage, seed, resamples, (-most, most))
            effect = effect_size(difference)
            of_mean = (spread.mean, spread.low, spread.high)
            differences.append(Difference(measure, a, b, *of_mean, effect, single, corrected))
    return Comparison(convention.name, test, level, baseline, tuple(names), measures, intervals, tuple(differences))


def names_of(names: list[str], baseline: str | None) -> list[str]:
    """The names of the runs; raises MeasureError for fewer than two, two of one name, or an unknown baseline."""
    if len(names) < 2:
        raise MeasureError("a comparison needs at least two runs")
    if len(set(names)) < len(names):
        raise MeasureError(f"two runs are called {next(n for n in names if names.count(n) > 1)!r}; names must differ")
    if baseline is not None and baseline not in names:
        raise MeasureError(f"baseline {baseline!r} is not among the runs {', '.join(names)}")
    return names


def holm(p: Floats) -> Floats:
    """Holm's step-down correction of p values.

    >>> holm(np.array([0.01, 0.04, 0.03])).round(4).tolist()
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1))
    corrected = np.empty_like(p)
    corrected[order] = np.minimum(stepped, 1.0)
    return corrected


def bootstrap(
    values: Floats, coverage: float, seed: int, resamples: int, within: tuple[float, float] | None = None
) -> Interval:
    """Percentile bootstrap interval of the mean over queries; NaN are queries that do not count.

    within: the range of the values. With it, values of which few deviate have the interval of `bounded_ends`.
    """
    values = values[~np.isnan(values)]
    if values.size == 0:
        return Interval(np.nan, np.nan, np.nan)
    if within and deviating(values) < ENOUGH:
        return Interval(float(values.mean()), *bounded_ends(values, coverage, within))
    rng = np.random.default_rng(seed)
    at_once = max(1, BLOCK // values.size)
    means = [
        values[rng.integers(0, values.size, (min(at_once, resamples - done), values.size))].mean(axis=1)
        for done in range(0, resamples, at_once)
    ]
    tail = (1 - coverage) / 2
    low, high = np.quantile(np.concatenate(means), [tail, 1 - tail])
    return Interval(float(values.mean()), float(low), float(high))


def bounded_ends(values: Floats, coverage: float, within: tuple[float, float]) -> tuple[float, float]:
    """Ends of an interval for the mean of values in a range, also if all are equal: see `intervals`."""
    mean = float(values.mean())
    down, up = distances(values, *within, (1 - coverage) / 2)
    return mean - down, mean + up


def bootstrap_columns(
    values: Floats | NDArray[np.float32],
    coverage: float = 0.95,
    seed: int = 0,
    resamples: int = 1000,
    most: Sequence[float] = (),
) -> tuple[Floats, Floats]:
    """Percentile bootstrap intervals of the means of many columns, over the same resamples of the queries.

    values: floats of shape (queries, columns); NaN are queries that do not count in a column.
    coverage, seed, resamples: share of the resampled means that an interval holds, and how the resamples are drawn: as
    many queries as count in any column; those that do not count in a column are left out of its mean.
    most: the largest value of each column, or infinity. Columns of which few values deviate have bounded intervals.
    Returns the lower and the upper ends, of shape (columns,); NaN where no query counts.
    """
    values = values[~np.isnan(values).all(axis=1)]
    drawn, there = draws(len(values), seed, resamples), ~np.isnan(values)
    means = drawn @ np.where(there, values, 0).astype(np.float32)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of columns in which no query counts
        means /= len(values) if there.all() else drawn @ there.astype(np.float32)
        tail = (1 - coverage) / 2
        quantile = np.nanquantile if np.isnan(means).any() else np.quantile
        low, high = quantile(means, [tail, 1 - tail], axis=0).astype(np.float64)
    for n, largest in enumerate(most):
        counted = values[there[:, n], n].astype(np.float64)
        if counted.size and largest < np.inf and deviating(counted) < ENOUGH:
            low[n], high[n] = bounded_ends(counted, coverage, (0.0, largest))
    return low, high


def draws(queries: int, seed: int, resamples: int) -> NDArray[np.float32]:
    """How often each resample draws each query: shape (resamples, queries)."""
    if not queries:
        return np.zeros((resamples, 0), dtype=np.float32)
    rng = np.random.default_rng(seed)
    drawn = rng.integers(0, queries, (resamples, queries), dtype=np.int32)
    drawn += np.arange(0, resamples * queries, queries, dtype=np.int32)[:, None]
    counts = np.bincount(drawn.ravel(), minlength=resamples * queries)
    return counts.reshape(resamples, queries).astype(np.float32)


def effect_size(difference: Floats) -> float:
    """Cohen's d for paired samples, of differences of shape (queries,); NaN are queries that do not count.

    >>> effect_size(np.array([0.1, 0.3, np.nan])).__round__(4)
    1.4142
    """
    difference = difference[~np.isnan(difference)]
    if difference.size < 2:
        return float("nan")
    mean, spread = float(difference.mean()), float(difference.std(ddof=1))
    if np.ptp(difference) == 0:
        return float(np.copysign(np.inf, mean)) if mean else 0.0
    return mean / spread


def p_value(difference: Floats, test: str, seed: int, resamples: int) -> float:
    """Two-sided p of paired differences by a test from `TESTS`; 1 where there is nothing to test."""
    check_name("test", test, tuple(TESTS))
    difference = difference[~np.isnan(difference)]
    if not difference.any():
        return 1.0
    p = TESTS[test](difference, np.random.default_rng(seed), resamples)
    return 1.0 if np.isnan(p) else p


def paired_t(difference: Floats, rng: np.random.Generator, resamples: int) -> float:
    """Two-sided p of the paired t-test; 0 where all differences are the same."""
    from scipy.special import stdtr

    n = difference.size
    spread = difference.std(ddof=1) if n > 1 else np.nan
    if spread == 0:
        return 0.0
    return float(2 * stdtr(n - 1, -abs(difference.mean()) / (spread / np.sqrt(n)))) if n > 1 else np.nan


def wilcoxon(difference: Floats, rng: np.random.Generator, resamples: int) -> float:
    """Two-sided p of Wilcoxon's signed-rank test, zero differences dropped."""
    from scipy.stats import wilcoxon as scipy_wilcoxon

    return float(scipy_wilcoxon(difference[difference != 0]).pvalue)


def randomisation(difference: Floats, rng: np.random.Generator, resamples: int) -> float:
    """Share of random signs that make the mean difference at least as large; the observed ones count too."""
    observed = abs(difference.sum()) * (1 - 1e-12)
    at_once, extreme = max(1, BLOCK // difference.size), 0
    for done in range(0, resamples, at_once):
        shape = (min(at_once, resamples - done), difference.size)
        signs = rng.integers(0, 2, shape, dtype=np.int8) * 2 - 1
        extreme += int((np.abs(signs @ difference) >= observed).sum())
    return (extreme + 1) / (resamples + 1)


TESTS: dict[str, Callable[[Floats, np.random.Generator, int], float]] = {
    "t": paired_t,
    "wilcoxon": wilcoxon,
    "randomisation": randomisation,
}
