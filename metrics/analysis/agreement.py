"""Agreement among annotators, and of predictions with them: Cohen's kappa, Krippendorff's alpha, calibration. Pure."""

from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement
from os import PathLike
from typing import Literal, NamedTuple

import numpy as np

from ..formats import HIGHEST_GRADE
from ..formats.arrays import Floats, Ints
from ..formats.csv_tables import Ratings, as_ratings
from .compare import draws
from .comparison import Interval

Weights = Literal["plain", "linear", "quadratic"]
Scale = Literal["nominal", "ordinal", "interval"]
LEAST_GROUPS = 10  # fewer tell nothing of how groups differ
ENDS = (0.025, 0.975)


def kappa(one: Floats, other: Floats, weights: Weights = "plain") -> float:
    """Cohen's kappa of two annotators.

    Parameters
    ----------
    one, other : floats of shape (candidates,)
        Grades of the same candidates; NaN: not graded. Only candidates that both graded count.
    weights : {"plain", "linear", "quadratic"}, default "plain"
        Any difference counts the same, or it counts by its size, or by its square.

    Returns
    -------
    float
        Up to 1; NaN where no candidate is shared, or chance alone explains everything.

    See Also
    --------
    alpha : Agreement of any number of annotators.

    References
    ----------
    Cohen, 1960; with weights, 1968.

    Examples
    --------
    Three of four agree; by chance half would: (0.75 − 0.5) / (1 − 0.5).

    >>> import numpy as np
    >>> kappa(np.array([0.0, 0.0, 1.0, 1.0]), np.array([0.0, 1.0, 1.0, 1.0]))
    0.5

    Two who give one grade only agree by chance:

    >>> kappa(np.array([2.0, 2.0]), np.array([2.0, 2.0]))
    nan
    """
    both = ~(np.isnan(one) | np.isnan(other))
    values, codes = np.unique(np.concatenate([one[both], other[both]]), return_inverse=True)
    if values.size == 0:
        return float("nan")
    first, second = codes.reshape(2, -1)
    table = np.zeros((values.size, values.size))
    np.add.at(table, (first, second), 1)
    return kappa_of(table, values, weights)


def kappa_of(table: Floats, values: Floats, weights: Weights = "plain") -> float:
    """Cohen's kappa of a table of counts: candidates that one gave the row's grade and the other the column's.

    table: shape (grades, grades). It may hold the pairs of several people, such as one annotator and everybody who
    judged the same candidates.
    values: the grades of rows and columns, shape (grades,).

    >>> kappa_of(np.array([[1.0, 1.0], [0.0, 2.0]]), np.array([0.0, 1.0]))
    0.5
    """
    gap = np.abs(values[:, None] - values[None])
    cost = {"plain": (gap > 0).astype(np.float64), "linear": gap, "quadratic": gap**2}[weights]
    expected = float((cost * np.outer(table.sum(axis=1), table.sum(axis=0))).sum())
    return 1 - float((cost * table).sum()) * float(table.sum()) / expected if expected > 0 else float("nan")


def alpha(ratings: Ratings | str | PathLike[str], scale: Scale = "ordinal") -> float:
    """Krippendorff's alpha over any number of annotators and any pattern of missing ratings.

    Parameters
    ----------
    ratings : Ratings, path or LoadedRelease
        A file or a release is read by `read_ratings`. Candidates with a single rating do not count.
    scale : {"nominal", "ordinal", "interval"}, default "ordinal"
        How far two grades are apart.

    Returns
    -------
    float
        Up to 1; NaN where no candidate has two ratings or all ratings are the same.

    See Also
    --------
    kappa : Agreement of two annotators.
    read_ratings : Reads ratings from a file.

    References
    ----------
    Krippendorff, Computing Krippendorff's alpha-reliability, 2011.

    Examples
    --------
    Two candidates, two annotators, one agreement on 0 and one disagreement 0–1: observed disagreement 1/2,
    expected 1/2.

    >>> import numpy as np
    >>> from reeljudge import Ratings
    >>> toy = Ratings(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), np.array([0, 0, 0, 1]))
    >>> alpha(toy, "nominal")
    0.0
    """
    ratings = as_ratings(ratings)
    if ratings.grade.size == 0:
        return float("nan")
    grades, grade = np.unique(ratings.grade, return_inverse=True)
    return alpha_of(_counts(ratings.candidate, grade, grades.size), grades.astype(np.float64), scale)


def alpha_with_interval(
    ratings: Ratings, group: Ints | None = None, scale: Scale = "ordinal"
) -> tuple[float, tuple[float, float]]:
    """Return Krippendorff's alpha and its 95 % interval (`alpha_interval`), NaN where they are undefined.

    group: what each rating's candidate goes together with, such as its batch, shape (ratings,); None: nothing.
    """
    if ratings.grade.size == 0:
        return float("nan"), (float("nan"), float("nan"))
    grades, grade = np.unique(ratings.grade, return_inverse=True)
    _, first = np.unique(ratings.candidate, return_index=True)
    groups = np.unique((ratings.candidate if group is None else group)[first], return_inverse=True)[1]
    together = coincidences(_counts(ratings.candidate, grade, grades.size), groups)
    levels = grades.astype(np.float64)
    return float(alpha_of_coincidences(together.sum(axis=0), levels, scale)), alpha_interval(together, levels, scale)


def _counts(candidate: Ints, grade: Ints, grades: int) -> Floats:
    """Return how many ratings of each grade each candidate has, shape (candidates, grades)."""
    _, place = np.unique(candidate, return_inverse=True)
    cells = np.bincount(place * grades + grade, minlength=(place.max() + 1) * grades)
    return cells.reshape(-1, grades).astype(np.float64)


def alpha_of(counts: Floats, grades: Floats, scale: Scale = "ordinal") -> float:
    """Krippendorff's alpha of a table of counts: how many ratings of each grade each candidate has.

    counts: shape (candidates, grades); candidates with a single rating do not count.
    grades: the grades of the columns, ascending, shape (grades,).

    >>> alpha_of(np.array([[2.0, 0.0], [1.0, 1.0]]), np.array([0.0, 1.0]), "nominal")
    0.0
    """
    return float(alpha_of_coincidences(coincidences(counts)[0], grades, scale))


def coincidences(counts: Floats, group: Ints | None = None) -> Floats:
    """Return the coincidence matrix of the candidates of each group: how often two grades met on a candidate.

    Matrices of several groups may be added, and the alpha of their sum is that of all their candidates.

    counts: as for `alpha_of`.
    group: of each candidate, from 0, such as its batch, shape (candidates,); None: one group.

    Returns an array of shape (groups, grades, grades).

    >>> coincidences(np.array([[2.0, 0.0], [1.0, 1.0]]), np.array([0, 1])).tolist()
    [[[2.0, 0.0], [0.0, 0.0]], [[0.0, 1.0], [1.0, 0.0]]]
    """
    group = np.zeros(len(counts), np.int64) if group is None else group
    groups, levels = int(group.max(initial=0)) + 1, counts.shape[1]
    number = counts.sum(axis=1)
    share = np.where(number > 1, 1 / np.maximum(number - 1, 1), 0)
    found = np.empty((groups, levels, levels))
    for one, other in combinations_with_replacement(range(levels), 2):
        met = counts[:, one] * (counts[:, other] - (one == other)) * share
        found[:, one, other] = found[:, other, one] = np.bincount(group, met, minlength=groups)
    return found


def alpha_of_coincidences(together: Floats, grades: Floats, scale: Scale = "ordinal") -> Floats:
    """Return the alpha of each coincidence matrix, shape (...), NaN where it is undefined.

    together: shape (..., grades, grades); grades: as for `alpha_of`.
    """
    held = together.sum(axis=-1)
    distance = _distance(grades, held, scale)
    expected = np.einsum("...i,...j,...ij->...", held, held, distance)
    observed = (together * distance).sum(axis=(-2, -1))
    with np.errstate(invalid="ignore", divide="ignore"):
        found = 1 - (held.sum(axis=-1) - 1) * observed / expected
    return np.asarray(np.where(expected > 0, found, np.nan))


def alpha_interval(
    together: Floats, grades: Floats, scale: Scale = "ordinal", replicates: int = 500, seed: int = 1
) -> tuple[float, float]:
    """Return the 95 % interval of alpha by a bootstrap over groups, whose candidates stay together.

    Errors of a batch go together, so that an interval which draws single candidates is too narrow. Each replicate is
    the sum of the groups' coincidence matrices, each taken as often as a Poisson variable of mean 1 says, which stands
    for drawing with replacement.

    Parameters
    ----------
    together
        The coincidence matrix of each group, shape (groups, grades, grades).
    grades, scale
        As for `alpha_of`.
    replicates
        How often the groups are drawn.

    Returns
    -------
    The lower and the upper end, or NaN twice if fewer than 10 groups have pairs.

    Examples
    --------
    >>> batch = np.array([[8.0, 2.0], [2.0, 4.0]])
    >>> low, high = alpha_interval(np.tile(batch, (20, 1, 1)), np.array([0.0, 1.0]), "nominal")
    >>> round(low, 2), round(high, 2)  # all batches are alike
    (0.47, 0.47)
    """
    parts = together[together.any(axis=(1, 2))].reshape(-1, grades.size**2)
    if len(parts) < LEAST_GROUPS:
        return float("nan"), float("nan")
    rng = np.random.default_rng(seed)
    _, first, number = np.unique(parts @ rng.random(grades.size**2), return_index=True, return_counts=True)
    distinct = parts[first]  # few, where candidates are the groups
    at_once = max(1, 2_000_000 // len(distinct))
    sizes = [min(at_once, replicates - start) for start in range(0, replicates, at_once)]
    sums = np.concatenate([rng.poisson(number, (size, len(distinct))) @ distinct for size in sizes])
    low, high = np.nanquantile(alpha_of_coincidences(sums.reshape(-1, *together.shape[1:]), grades, scale), ENDS)
    return float(low), float(high)


def _distance(grades: Floats, held: Floats, scale: Scale) -> Floats:
    """Squared distance of each two grades, shape (..., grades, grades); the ordinal one counts what is between."""
    if scale == "nominal":
        return 1.0 - np.eye(grades.size)
    position = grades if scale == "interval" else np.cumsum(held, axis=-1) - held / 2
    apart: Floats = position[..., :, None] - position[..., None, :]
    return np.asarray(apart * apart)


class PairKappa(NamedTuple):
    """Kappa of two annotators on `shared` candidates."""

    one: int
    other: int
    shared: int
    kappa: float


def kappas(ratings: Ratings, weights: Weights = "plain", least: int = 30) -> list[PairKappa]:
    """Kappa of every two annotators who share at least `least` candidates. Of an annotator who rated a candidate more
    than once, the first rating counts.
    """
    people, who = np.unique(ratings.annotator, return_inverse=True)
    candidates, which = np.unique(ratings.candidate, return_inverse=True)
    table = np.full((people.size, candidates.size), np.nan)
    _, first = np.unique(who * candidates.size + which, return_index=True)
    table[who[first], which[first]] = ratings.grade[first]
    found = []
    for a, b in combinations(range(people.size), 2):
        shared = int((~np.isnan(table[a]) & ~np.isnan(table[b])).sum())
        if shared >= least:
            value = kappa(table[a], table[b], weights)
            found.append(PairKappa(int(people[a]), int(people[b]), shared, value))
    return found


@dataclass(frozen=True)
class Calibration:
    """How predicted grades compare with final ones. Intervals are of queries: whole queries are resampled.

    Attributes
    ----------
    candidates, queries
        How many are compared.
    table
        Counts of candidates by predicted grade, rounded (row), and final grade (column): shape (5, 5).
    kappa
        Quadratic weighted kappa of the two; NaN where chance explains everything.
    severity
        Mean of predicted less final grade: below 0 the predictor is too severe.
    """

    candidates: int
    queries: int
    table: Ints
    kappa: Interval
    severity: Interval


def calibration(predicted: Floats, grades: Floats, query: Ints, *, seed: int = 0, resamples: int = 1000) -> Calibration:
    """Compare predicted grades with the final grades of the same candidates.

    Parameters
    ----------
    predicted, grades : floats of shape (candidates,)
        Of each candidate, from 0 to 4. Predicted ones need not be whole, and are rounded half up for the table and for
        kappa.
    query : int64 of shape (candidates,)
        The number of each candidate's query.
    seed : int, default 0
        Of the percentile bootstrap, whose intervals hold 95 %.
    resamples : int, default 1000
        Number of its resamples.

    Returns
    -------
    Calibration

    See Also
    --------
    read_predicted : Reads predicted grades from a file.

    Examples
    --------
    >>> import numpy as np
    >>> found = calibration(np.array([0.0, 1.5, 4.0]), np.array([0.0, 1.0, 4.0]), np.array([0, 0, 1]))
    >>> found.table.sum(), found.table[2, 1], round(found.severity.mean, 3)
    (np.int64(3), np.int64(1), 0.167)
    """
    size = HIGHEST_GRADE + 1
    _, number = np.unique(query, return_inverse=True)
    queries = int(number.max()) + 1 if number.size else 0
    cells = (np.floor(predicted + 0.5) * size + grades).astype(np.int64)
    tables = np.bincount(number * size**2 + cells, minlength=queries * size**2).reshape(queries, size**2)
    off = np.bincount(number, predicted - grades, queries)
    drawn = draws(queries, seed, resamples).astype(np.float64)
    counts, values = drawn @ tables, np.arange(size, dtype=np.float64)
    whole = tables.sum(axis=0).reshape(size, size)
    kappas = np.array([kappa_of(each.reshape(size, size), values, "quadratic") for each in counts])
    severities = drawn @ off / np.maximum(1, counts.sum(axis=1))
    return Calibration(
        candidates=number.size,
        queries=queries,
        table=whole,
        kappa=_interval(kappa_of(whole.astype(np.float64), values, "quadratic"), kappas),
        severity=_interval(float((predicted - grades).mean()) if number.size else np.nan, severities),
    )


def _interval(value: float, resampled: Floats) -> Interval:
    known = resampled[~np.isnan(resampled)]
    if np.isnan(value) or not known.size:
        return Interval(value, np.nan, np.nan)
    low, high = np.quantile(known, ENDS)
    return Interval(value, float(low), float(high))
