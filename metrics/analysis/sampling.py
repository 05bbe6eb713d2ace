"""The regression estimator: the mean over all ranked queries from a random sample of them. Pure.

See W. G. Cochran, Sampling Techniques, chapters 5 and 7; for the interval that may be looked at often, H. Robbins,
Statistical methods related to the law of the iterated logarithm, 1970.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import log, sqrt

import numpy as np

from ..formats.arrays import Bools, Floats, Ints

FEWEST = 3  # judged queries
IN_A_STRATUM = 2  # judged queries
NARROWEST_AT = 100  # judged queries, of an interval that holds at all times


@dataclass(frozen=True)
class Estimate:
    """A mean over queries, or a difference of two, estimated from the queries that were judged.

    Attributes
    ----------
    value, se, low, high
        The estimate, its standard error, and its interval, on the scale of the measure's aggregate; of a score, cut to
        the measure's range.
    plain, plain_se
        The mean of the judged queries alone, and its standard error.
    slope
        λ: the part of a predicted difference between queries that judging confirms; 0 where nothing is predicted.
    judged, ranked
        The number of queries in the sample, and of all ranked queries (n and N).
    confidence
        The share of samples whose interval holds the true mean.
    future
        Whether the true mean is that over all queries of their kind, instead of that over the ranked queries.
    anytime
        Whether the interval holds at all times, however often it is looked at while judging goes on.
    """

    value: float
    se: float
    low: float
    high: float
    plain: float
    plain_se: float
    slope: float
    judged: int
    ranked: int
    confidence: float
    future: bool
    anytime: bool

    @property
    def share(self) -> float:
        """Share of the ranked queries that were judged, in (0, 1]."""
        return self.judged / self.ranked

    @property
    def is_decided(self) -> bool:
        """Whether the interval of a difference excludes 0."""
        return self.low > 0 or self.high < 0

    def __str__(self) -> str:
        how = "judged in full" if self.share == 1 else f"estimated from {self.share:.0%} of the queries"
        return f"{self.value:.4f} [{self.low:.4f}, {self.high:.4f}], {how}"


@dataclass(frozen=True)
class Values:
    """What a run scores.

    mean: of the judged queries; where the convention leaves some out, of the others.
    residual: what each judged query adds to that mean, floats of shape (judged,) whose mean is 0.
    predicted: score of each ranked query as if its candidates had the predicted grades, floats of shape (ranked,).
    """

    mean: float
    residual: Floats
    predicted: Floats

    def less(self, other: "Values") -> "Values":
        """The difference to another run."""
        return Values(self.mean - other.mean, self.residual - other.residual, self.predicted - other.predicted)


class Design:
    """Which of the ranked queries were drawn, and from which strata.

    Strata of which fewer than two queries were judged are taken together. Each stratum counts by its share of the
    ranked queries.

    Parameters
    ----------
    sample
        Which queries are judged: bool of shape (ranked,), at least three of them.
    strata
        The name of each ranked query's stratum.
    """

    def __init__(self, sample: Bools, strata: Sequence[str]) -> None:
        self.sample = np.flatnonzero(sample)
        self.judged, self.ranked = self.sample.size, sample.size
        self.stratum = _merged(sample, strata)
        of_sample = self.stratum[self.sample]
        self.drawn, self.held = np.bincount(of_sample), np.bincount(self.stratum)
        self.of_sample, self.strata = of_sample, self.drawn.size
        self.weight = (self.held / self.ranked / self.drawn)[of_sample]  # of each judged query in a mean

    def values(self, scores: Floats, predicted: Floats) -> Values | None:
        """Make ready a run's scores of judged queries and those that are predicted; NaN where one is left out.

        A mean over part of the queries is a ratio of two means, which is linearised (Cochran, section 6.4). Return None
        if all judged queries are left out.
        """
        counts = ~np.isnan(scores)
        total = float(self.weight[counts].sum())
        if not total:
            return None
        mean = float((self.weight * np.where(counts, scores, 0.0)).sum() / total)
        residual = np.where(counts, scores - mean, 0.0) / total
        return Values(mean, residual, np.nan_to_num(predicted))

    def estimate(
        self, values: Values, future: bool = False, confidence: float = 0.95, anytime: bool = False
    ) -> Estimate:
        """Estimate a mean or a difference, and the interval around it. See `Estimate` for the parameters."""
        x = values.predicted[self.sample]
        weight = self._weight_of_squares(future)
        spread, move = self._within(values.residual), self._within(x)
        below = float((weight * move**2).sum())
        slope = float((weight * move * spread).sum()) / below if below > 1e-24 else 0.0
        moved = 0.0 if self.judged == self.ranked else values.predicted.mean() - (self.weight * x).sum()
        value = values.mean + slope * float(moved)
        freedom = self.judged - self.strata - 1
        squares = float((weight * (spread - slope * move) ** 2).sum()) * (freedom + 1) / freedom
        plain = float((weight * spread**2).sum())
        if future:
            squares += self._variance_of_part(values, x, slope)
            plain += self._variance_of_part(values, x, 0.0)
        half = sqrt(squares) * width(self.judged, freedom, confidence, anytime)
        return Estimate(
            value=value,
            se=sqrt(squares),
            low=value - half,
            high=value + half,
            plain=values.mean,
            plain_se=sqrt(plain),
            slope=slope,
            judged=self.judged,
            ranked=self.ranked,
            confidence=confidence,
            future=future,
            anytime=anytime,
        )

    def p_value(self, difference: Estimate) -> float:
        """Return the probability of so large an estimate if the true difference were 0."""
        if not difference.se:
            return float(not difference.value)
        from scipy.special import stdtr  # slow to import

        return float(2 * stdtr(self.judged - self.strata - 1, -abs(difference.value) / difference.se))

    def _within(self, values: Floats) -> Floats:
        """Values less the mean of their stratum."""
        means = np.bincount(self.of_sample, values) / self.drawn
        within: Floats = values - means[self.of_sample]
        return within

    def _weight_of_squares(self, future: bool) -> Floats:
        """By how much each judged query's square counts in the variance of the mean."""
        share = self.held / self.ranked
        left = np.ones_like(share) if future else 1 - self.drawn / self.held
        weight: Floats = (share**2 * left / (self.drawn * (self.drawn - 1)))[self.of_sample]
        return weight

    def _variance_of_part(self, values: Values, x: Floats, slope: float) -> float:
        """The variance that the ranked queries' mean has as a sample of all queries of their kind, of the part of the
        scores that is explained: by strata, and by what was predicted.
        """
        left = np.bincount(self.of_sample, values.residual - slope * x) / self.drawn
        part = left[self.stratum] + slope * values.predicted
        return float(part.var(ddof=1)) / self.ranked


def width(judged: int, freedom: int, confidence: float, anytime: bool = False) -> float:
    """Half of an interval's width, in standard errors.

    freedom: degrees of freedom. anytime: whether the interval holds at all times.

    >>> round(width(100, 98, 0.95), 2), round(width(100, 98, 0.95, anytime=True), 2)
    (1.98, 3.07)
    """
    from scipy.special import ndtri, stdtrit  # slow to import

    error = 1 - confidence
    usual = float(stdtrit(freedom, 1 - error / 2))
    if not anytime:
        return usual
    # The normal mixture of Robbins, and as much wider as Student's interval is wider than the normal one.
    seen = judged / NARROWEST_AT * (-2 * log(error) + log(1 - 2 * log(error)))
    mixture = sqrt(2 * (seen + 1) / seen * log(sqrt(seen + 1) / error))
    return mixture * usual / float(ndtri(1 - error / 2))


def _merged(sample: Bools, strata: Sequence[str]) -> Ints:
    """Number of each query's stratum, where small strata are one; all are, if they are too many for the sample."""
    drawn = Counter(dict.fromkeys(strata, 0)) + Counter(
        name for name, is_in in zip(strata, sample, strict=True) if is_in
    )
    by_size = sorted(set(strata), key=lambda name: (drawn[name], name))
    small = [name for name in by_size if drawn[name] < IN_A_STRATUM]
    if small and sum(drawn[name] for name in small) < IN_A_STRATUM:
        small += by_size[len(small) : len(small) + 1]
    large = [name for name in by_size if name not in small]
    if len(large) + bool(small) + FEWEST > sample.sum() + 1:
        return np.zeros(sample.size, dtype=np.int64)
    number = {name: place for place, name in enumerate(large)} | dict.fromkeys(small, len(large))
    return np.array([number[name] for name in strata], dtype=np.int64)
