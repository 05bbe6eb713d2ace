"""Agreement among annotators: Cohen's kappa and Krippendorff's alpha, with missing ratings. Pure."""

from itertools import combinations
from typing import Literal, NamedTuple

import numpy as np

from ..formats.arrays import Floats
from ..formats.csv_tables import Ratings

Weights = Literal["plain", "linear", "quadratic"]
Scale = Literal["nominal", "ordinal", "interval"]


def kappa(one: Floats, other: Floats, weights: Weights = "plain") -> float:
    """Cohen's kappa of two annotators.

    Parameters
    ----------
    one, other
        Grades of the same candidates, shape (candidates,); NaN: not graded. Only candidates that both graded
        count.
    weights
        `plain`: any difference counts the same; `linear`, `quadratic`: by its size or its square.

    Returns
    -------
    Float up to 1; NaN where no candidate is shared, or chance alone explains everything (both gave one grade
    only).

    Examples
    --------
    Three of four agree; by chance half would: (0.75 − 0.5) / (1 − 0.5).

    >>> kappa(np.array([0.0, 0.0, 1.0, 1.0]), np.array([0.0, 1.0, 1.0, 1.0]))
    0.5
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


def alpha(ratings: Ratings, scale: Scale = "ordinal") -> float:
    """Krippendorff's alpha over any number of annotators and any pattern of missing ratings.

    Parameters
    ----------
    ratings
        Candidates with a single rating do not count.
    scale
        How far two grades are apart: `nominal`, `ordinal` or `interval`.

    Returns
    -------
    Float up to 1; NaN where no candidate has two ratings or all ratings are the same.

    Examples
    --------
    Two candidates, two annotators, one agreement on 0 and one disagreement 0–1: observed disagreement 1/2,
    expected 1/2.

    >>> toy = Ratings(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), np.array([0, 0, 0, 1]))
    >>> alpha(toy, "nominal")
    0.0
    """
    if ratings.grade.size == 0:
        return float("nan")
    grades, grade = np.unique(ratings.grade, return_inverse=True)
    _, candidate = np.unique(ratings.candidate, return_inverse=True)
    counts = np.bincount(candidate * grades.size + grade, minlength=(candidate.max() + 1) * grades.size)
    return alpha_of(counts.reshape(-1, grades.size).astype(np.float64), grades.astype(np.float64), scale)


def alpha_of(counts: Floats, grades: Floats, scale: Scale = "ordinal") -> float:
    """Krippendorff's alpha of a table of counts: how many ratings of each grade each candidate has.

    counts: shape (candidates, grades); candidates with a single rating do not count.
    grades: the grades of the columns, ascending, shape (grades,).

    >>> alpha_of(np.array([[2.0, 0.0], [1.0, 1.0]]), np.array([0.0, 1.0]), "nominal")
    0.0
    """
    counts = counts[counts.sum(axis=1) >= 2]
    share = 1 / (counts.sum(axis=1) - 1)
    together = (counts * share[:, None]).T @ counts - np.diag(share @ counts)
    held = together.sum(axis=1)
    distance = _distance(grades, held, scale)
    expected = float((np.outer(held, held) * distance).sum())
    observed = float((together * distance).sum())
    return 1 - (float(held.sum()) - 1) * observed / expected if expected > 0 else float("nan")


def _distance(grades: Floats, held: Floats, scale: Scale) -> Floats:
    """Squared distance of each two grades; the ordinal one counts the ratings in between."""
    if scale == "nominal":
        return 1.0 - np.eye(grades.size)
    position = grades if scale == "interval" else np.cumsum(held) - held / 2
    apart: Floats = position[:, None] - position[None]
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
