"""How severe and how exact each annotator is, and what that says of each pair: an ordinal model with partial pooling.

A pair has a latent grade x and a difficulty d. An annotator with severity s and spread r gives it the grade that
x + s + r d e is rounded to, e being standard normal, cut off at the ends of the scale. x and d have one distribution,
which is estimated on a grid; s and log r have normal distributions over the annotators, which pool them partially. The
annotators' parameters maximize the likelihood with x and d summed out (EM; each step is one of Fisher's scoring). Their
posterior is approximated by a normal one, whose precision is divided by how far the scores of a batch go together.
"""

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.special import ndtr, softmax, stdtrit

from ..formats import HIGHEST_GRADE
from ..formats.arrays import Floats, Ints
from ..formats.csv_tables import Ratings
from ..formats.errors import MeasureError

STEP = 0.25  # of the latent grades of the grid, which goes one grade beyond both ends of the scale
DIFFICULTIES = np.array([0.5, 1.0, 2.0])
SLIP = 1e-3  # how often any grade is given, whatever the pair
LOOSE = np.array([1.0, 0.5])  # standard deviations of severity and log spread while the maximum is sought
STEPS, ENOUGH = 300, 1e-3  # of EM, and the largest change of a parameter at which it ends
# What is known of the deviations of severity and log spread over annotators beforehand, and the number of annotators
# that it weighs as much as: of few annotators, the deviations would else be estimated as none.
USUAL, AS_MANY = np.array([0.5, 0.3]), 4.0
LEAST_RATINGS, LEAST_BATCHES = 50, 5  # of an annotator, below which intervals would not hold, and are not a number
SAME_BATCHES = 20  # batches by whose weight an annotator's own design effect is drawn to that of all


class Severity(NamedTuple):
    """Each annotator with pairs that others rated too, and each of these pairs.

    Of the intervals, shape (annotators, 2), 95 % hold what they are of; those of annotators with fewer than
    `LEAST_RATINGS` ratings, or `LEAST_BATCHES` batches where batches are known, are not a number, and the estimates
    mean little. `severity` is in grades, above (more
    lenient) or below the mean of all annotators; `spread` is the standard deviation, in grades, of the annotator's
    latent grades around those of the pairs.
    """

    annotator: Ints  # as in the ratings, ascending
    severity: Floats
    severity_interval: Floats
    spread: Floats
    spread_interval: Floats
    ratings: Ints
    candidate: Ints  # as in the ratings, ascending
    grade: Floats  # the latent grade that the annotators' grades speak for
    grade_error: Floats  # its standard deviation
    difficulty: Floats  # the factor of everybody's spread; 0.5 to 2
    design_effect: Floats  # of severity and log spread, over all annotators


class _Patterns(NamedTuple):
    """Pairs with the same grades of the same annotators are one pattern."""

    of_candidate: Ints  # the pattern of each candidate
    rating: csr_array  # (patterns, codes): 1 for each grade given; a code is annotator × grades + grade


def severity(ratings: Ratings, batch: Ints | None = None, highest: int = HIGHEST_GRADE) -> Severity:
    """Return the severity and spread of each annotator, and the latent grade and difficulty of each pair.

    Parameters
    ----------
    ratings
        Pairs that fewer than two annotators rated do not count. Of an annotator who rated a pair more than once, the
        first rating counts.
    batch
        The batch of each rating, shape (ratings,). Errors of a batch go together, which widens the intervals: they
        are Student's with one degree of freedom fewer than the annotator has batches. Without it, each pair stands for
        itself, and the intervals are normal.
    highest
        The scale is 0 to `highest`.

    Raises
    ------
    MeasureError
        If a grade is outside the scale.

    Examples
    --------
    The second annotator gives a grade more than the first in three of four cases.

    >>> pairs = np.arange(400)
    >>> low = pairs % 4
    >>> both = Ratings(np.tile(pairs, 2), np.repeat([0, 1], 400), np.concatenate([low, low + (pairs // 4 % 4 > 0)]))
    >>> severity(both).severity.round(1)
    array([-0.3,  0.3])
    """
    if ratings.grade.size and not (ratings.grade.min() >= 0 and ratings.grade.max() <= highest):
        raise MeasureError(f"a grade is outside the scale of 0 to {highest}")
    rows = _counted(ratings)
    people, who = np.unique(ratings.annotator[rows], return_inverse=True)
    candidates, which = np.unique(ratings.candidate[rows], return_inverse=True)
    if not rows.size:
        none = np.zeros(0)
        pair, nobody = np.zeros((0, 2)), np.zeros(0, np.int64)
        return Severity(nobody, none, pair, none, pair, nobody, nobody, none, none, none, np.ones(2))
    codes = who * (highest + 1) + ratings.grade[rows]
    patterns = _patterns(which, codes, people.size * (highest + 1))
    grid = _Grid(highest)
    values, weights = _maximum(patterns, people.size, grid)
    responsible, scores = _scores(patterns, values, weights, grid)
    groups = which if batch is None else np.unique(batch[rows], return_inverse=True)[1]
    of_batch = np.zeros(candidates.size, np.int64)
    of_batch[which] = groups
    mean, covariance, effect = _posterior(values, scores, patterns, of_batch, people.size)
    middle = float(mean[0].mean())
    error = np.sqrt(np.diag(covariance)).reshape(2, -1)
    scale = float(np.sqrt(weights @ grid.difficulty**2))
    number = np.bincount(who)
    ends = _quantiles(number, None if batch is None else np.unique([who, groups], axis=1)[0])
    ends = ends[:, None] * np.array([-1.0, 1.0])
    at = responsible @ np.stack([grid.grade, grid.grade**2, grid.difficulty], axis=1)
    at = at[patterns.of_candidate]
    return Severity(
        people,
        mean[0] - middle,
        (mean[0] - middle)[:, None] + error[0][:, None] * ends,
        np.exp(mean[1]) * scale,
        np.exp(mean[1][:, None] + error[1][:, None] * ends) * scale,
        number,
        candidates,
        at[:, 0] + middle,
        np.sqrt(np.maximum(at[:, 1] - at[:, 0] ** 2, 0)),
        at[:, 2],
        effect,
    )


def _quantiles(ratings: Ints, of_batches: Ints | None) -> Floats:
    """Return each annotator's 97.5 % quantile; not a number where there are too few ratings or batches.

    of_batches: the annotator of each batch; None where batches are not known.
    """
    if of_batches is None:
        found = np.full(ratings.size, stdtrit(np.inf, 0.975))
    else:
        batches = np.bincount(of_batches, minlength=ratings.size)
        found = np.where(batches >= LEAST_BATCHES, stdtrit(np.maximum(batches - 1, 1), 0.975), np.nan)
    return np.where(ratings >= LEAST_RATINGS, found, np.nan)


def _counted(ratings: Ratings) -> Ints:
    """Return the rows that count: an annotator's first rating of a pair that somebody else rated too."""
    order = np.lexsort((np.arange(ratings.grade.size), ratings.annotator, ratings.candidate))
    candidate, annotator = ratings.candidate[order], ratings.annotator[order]
    again = np.zeros(order.size, bool)
    again[1:] = (candidate[1:] == candidate[:-1]) & (annotator[1:] == annotator[:-1])
    rows = order[~again]
    _, which, times = np.unique(ratings.candidate[rows], return_inverse=True, return_counts=True)
    return np.asarray(rows[times[which] > 1])


def _patterns(which: Ints, codes: Ints, number: int) -> _Patterns:
    """Collect the candidates (`which`, ascending) that have the same codes."""
    marks = np.random.default_rng(0).integers(0, 2**63, number, np.uint64)
    starts = np.flatnonzero(np.diff(which, prepend=-1))
    _, first, of_candidate = np.unique(np.add.reduceat(marks[codes], starts), return_index=True, return_inverse=True)
    times = np.diff(starts, append=which.size)
    chosen = np.zeros(starts.size, bool)
    chosen[first] = True
    kept = np.repeat(chosen, times)
    row = of_candidate[which[kept]]
    ones = csr_array((np.ones(row.size), (row, codes[kept])), shape=(first.size, number))
    return _Patterns(of_candidate, ones)


class _Grid:
    """The latent grades and difficulties that a pair can have, each as an array of shape (nodes,)."""

    def __init__(self, highest: int) -> None:
        levels = np.arange(-1, highest + 1 + STEP / 2, STEP)
        self.grade = np.repeat(levels, DIFFICULTIES.size)
        self.difficulty = np.tile(DIFFICULTIES, levels.size)
        self.ends = np.concatenate([[-np.inf], np.arange(highest) + 0.5, [np.inf]])

    def chances(self, values: Floats) -> tuple[Floats, Floats]:
        """Return how likely each annotator gives each grade at each node, shape (annotators, grades, nodes), and the
        derivatives of its logarithm by severity and log spread, shape (2, annotators, grades, nodes).

        values: severities and log spreads, shape (2, annotators).
        """
        width = np.exp(values[1])[:, None] * self.difficulty
        end = (self.ends[None, :, None] - self.grade - values[0][:, None, None]) / width[:, None]
        density = np.exp(-(end**2) / 2) / np.sqrt(2 * np.pi)
        steep = np.where(np.isfinite(end), end, 0) * density
        chance = SLIP / (self.ends.size - 1) + (1 - SLIP) * np.diff(ndtr(end), axis=1)
        slope = -(1 - SLIP) * np.stack([np.diff(density, axis=1) / width[:, None], np.diff(steep, axis=1)])
        return chance, slope / chance


def _maximum(patterns: _Patterns, people: int, grid: _Grid) -> tuple[Floats, Floats]:
    """Return severities and log spreads, shape (2, annotators), and the share of pairs at each node."""
    values = np.stack([np.zeros(people), np.full(people, np.log(0.7))])
    weights = np.full(grid.grade.size, 1 / grid.grade.size)
    times = np.bincount(patterns.of_candidate).astype(np.float64)
    given = patterns.rating.T.tocsr()
    for _ in range(STEPS):
        chance, slope = grid.chances(values)
        responsible = _responsible(patterns, chance, weights)
        weighted = responsible * times[:, None]
        counts = (given @ weighted).reshape(chance.shape)
        weights = weighted.sum(axis=0) / times.sum()
        pull = np.stack([values[0], values[1] - values[1].mean()]) / LOOSE[:, None] ** 2
        score = (counts * slope).sum(axis=(2, 3)) - pull
        expected = counts.sum(axis=1)[:, None] * chance
        information = np.einsum("ajgn,bjgn,jgn->jab", slope, slope, expected) + np.diag(LOOSE**-2.0)
        step = np.linalg.solve(information, score.T[:, :, None])[:, :, 0].T.clip(-0.5, 0.5)
        values = np.stack([values[0] + step[0], np.maximum(values[1] + step[1], np.log(STEP))])
        if np.abs(step).max() < ENOUGH:
            break
    return values, weights


def _responsible(patterns: _Patterns, chance: Floats, weights: Floats) -> Floats:
    """Return the probability of each node given the grades, shape (patterns, nodes)."""
    logs = np.log(chance).reshape(-1, weights.size)
    return np.asarray(softmax(patterns.rating @ logs + np.log(weights + 1e-300), axis=1))


def _scores(patterns: _Patterns, values: Floats, weights: Floats, grid: _Grid) -> tuple[Floats, csr_array]:
    """Return the probabilities of the nodes, and the derivatives of each pattern's log likelihood by all parameters,
    shape (patterns, 2 × annotators).
    """
    chance, slope = grid.chances(values)
    responsible = _responsible(patterns, chance, weights)
    ones = patterns.rating.tocoo()
    slopes = slope.reshape(2, -1, weights.size)
    grades, people = grid.ends.size - 1, values.shape[1]
    parts = [np.einsum("rn,rn->r", slopes[which][ones.col], responsible[ones.row]) for which in range(2)]
    column = ones.col // grades
    places = np.tile(ones.row, 2), np.concatenate([column, people + column])
    return responsible, csr_array((np.concatenate(parts), places), shape=(responsible.shape[0], 2 * people))


def _posterior(
    values: Floats, scores: csr_array, patterns: _Patterns, of_batch: Ints, people: int
) -> tuple[Floats, Floats, Floats]:
    """Return the means of the posterior, shape (2, annotators), its covariance, and the design effects.

    The log likelihood is taken as quadratic around the maximum. Its precision is that of the scores of single pairs,
    divided by the design effects: the variance of the scores' sums over batches beside that of single pairs.
    """
    ones = np.ones(of_batch.size)
    batches = csr_array((ones, (of_batch, patterns.of_candidate)), shape=(of_batch.max() + 1, scores.shape[0]))
    sums = batches @ scores
    times = np.bincount(patterns.of_candidate).astype(np.float64)
    precision = (scores.T @ (scores * times[:, None])).toarray()
    single = np.diag(precision).copy()
    together = np.asarray((sums**2).sum(axis=0)).ravel()
    number = np.asarray((sums != 0).sum(axis=0)).ravel()
    effect = np.maximum(together.reshape(2, -1).sum(axis=1) / single.reshape(2, -1).sum(axis=1), 1)
    pooled = np.repeat(effect, people)
    own = np.where(single > 0, together / np.maximum(single, 1e-12), 1)
    root = np.sqrt(np.maximum((SAME_BATCHES * pooled + number * own) / (SAME_BATCHES + number), 1))
    tempered: Floats = precision / (root[:, None] * root)
    # The maximum was sought with the loose prior, whose pull is taken back.
    off = np.stack([values[0], values[1] - values[1].mean()])
    pull = (off / LOOSE[:, None] ** 2).ravel() / root**2
    mean, covariance = _pooled(values, tempered, tempered @ values.ravel() + pull)
    return mean, covariance, effect


def _pooled(values: Floats, precision: Floats, weighted: Floats) -> tuple[Floats, Floats]:
    """Return the posterior's mean and covariance, the distributions over annotators being estimated (EM).

    weighted: the precision times the values that the likelihood alone is greatest at.
    """
    middle, variance, people = values.mean(axis=1), LOOSE**2, values.shape[1]
    for _ in range(100):
        prior = np.repeat(1 / variance, values.shape[1])
        covariance = np.linalg.inv(precision + np.diag(prior))
        mean = (covariance @ (weighted + prior * np.repeat(middle, values.shape[1]))).reshape(values.shape)
        middle = mean.mean(axis=1)
        off = (mean - middle[:, None]) ** 2 + np.diag(covariance).reshape(values.shape)
        changed = ((off.sum(axis=1) + AS_MANY * USUAL**2) / (people + AS_MANY)).clip(max=LOOSE**2)
        if np.allclose(changed, variance, rtol=1e-3):
            break
        variance = changed
    return mean, np.asarray(covariance, np.float64)
