"""The mean over all ranked queries from a random sample of them, and the method of its interval. Pure.

The regression estimator: W. G. Cochran, Sampling Techniques, chapters 5 and 7. Where few queries of the sample deviate
from their predictions, the difference estimator with an interval for means of bounded values: `intervals.py`.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import hypot, sqrt
from typing import Literal, NamedTuple

import numpy as np

from ..formats.arrays import Bools, Floats, Ints
from .intervals import ENOUGH, deviating, distances, skewed, width

FEWEST = 3  # judged queries
IN_A_STRATUM = 2  # judged queries
# Times as many queries must deviate for an interval that holds at all times: where a third of them do, and elsewhere
MORE_OF_MANY, MORE_OF_FEW, MANY = 2, 4, 1 / 3
HALVINGS = 20  # of the range of p, to find it from intervals

Method = Literal["census", "regression", "bounded"]


@dataclass(frozen=True)
class Estimate:
    """A mean over queries, or a difference of two, estimated from the queries that were judged.

    Attributes
    ----------
    value, se, low, high
        The estimate, its standard error, and its interval, on the scale of the measure's aggregate and cut to its
        range. If the method is ``"bounded"``, the standard error is half the interval's width over Student's quantile.
    plain, plain_se
        The mean of the judged queries alone, and its standard error.
    slope
        λ: the part of a predicted difference between queries that judging confirms; 0 where nothing is predicted, and 1
        if the method is ``"bounded"``.
    judged, ranked
        The number of queries in the sample, and of all ranked queries (n and N).
    confidence
        The share of samples whose interval holds the true mean.
    future
        Whether the true mean is that over all queries of their kind, instead of that over the ranked queries.
    anytime
        Whether the interval holds at all times, however often it is looked at while judging goes on.
    method
        How the interval was made: ``"regression"``; ``"bounded"`` if fewer than 10 queries of the sample deviate from
        their prediction (at all times 20, and 40 where less than a third do); ``"census"`` if all ranked queries are
        judged and no others are meant.
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
    method: Method

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
        how += ", bounded" if self.method == "bounded" else ""
        return f"{self.value:.4f} [{self.low:.4f}, {self.high:.4f}], {how}"


@dataclass(frozen=True)
class Values:
    """What a run scores.

    mean: of the judged queries; where the convention leaves some out, of the others.
    residual: what each judged query adds to that mean, floats of shape (judged,) whose mean is 0.
    predicted: score of each ranked query as if its candidates had the predicted grades, floats of shape (ranked,).
    least, most: the range of a query's score.
    counted: the share of the sample that is not left out, by weight; 1 if all queries count.
    """

    mean: float
    residual: Floats
    predicted: Floats
    least: float
    most: float
    counted: float

    def less(self, other: "Values") -> "Values":
        """The difference to another run."""
        residual, predicted = self.residual - other.residual, self.predicted - other.predicted
        least, most = self.least - other.most, self.most - other.least
        return Values(self.mean - other.mean, residual, predicted, least, most, self.counted)


def mean_of(values: list[Values]) -> Values:
    """Return the mean of several runs on the same queries, such as the seeds of a system."""
    residual, predicted = (
        np.mean([getattr(each, name) for each in values], axis=0) for name in ("residual", "predicted")
    )
    mean, counted = float(np.mean([each.mean for each in values])), values[0].counted
    least, most = min(each.least for each in values), max(each.most for each in values)
    return Values(mean, residual, predicted, least, most, counted)


class _Fit(NamedTuple):
    """The regression of what is judged on what is predicted.

    slope, se: λ and the standard error. plain: the standard error of the mean of the judged queries alone.
    robust: the standard error with each residual divided by 1 less its leverage (HC3: J. G. MacKinnon and H. White,
    Journal of Econometrics, 1985). skewness: of the residuals.
    freedom: degrees of freedom, from the number of queries that deviate; negative if almost none does.
    """

    slope: float
    se: float
    plain: float
    robust: float
    skewness: float
    freedom: float


class _Found(NamedTuple):
    """Those attributes of an estimate that depend on the method of its interval."""

    value: float
    se: float
    low: float
    high: float
    slope: float
    method: Method


class Design:
    """Which of the ranked queries were drawn, and from which strata.

    Strata of which fewer than two queries were judged are taken together. Each stratum counts by its share of the
    ranked queries.

    sample: which queries are judged: bool of shape (ranked,), at least three of them.
    strata: the name of each ranked query's stratum.
    """

    def __init__(self, sample: Bools, strata: Sequence[str]) -> None:
        self.sample = np.flatnonzero(sample)
        self.judged, self.ranked = self.sample.size, sample.size
        self.stratum = _merged(sample, strata)
        of_sample = self.stratum[self.sample]
        self.drawn, self.held = np.bincount(of_sample), np.bincount(self.stratum)
        self.of_sample, self.strata = of_sample, self.drawn.size
        self.weight = (self.held / self.ranked / self.drawn)[of_sample]  # of each judged query in a mean

    def values(self, scores: Floats, predicted: Floats, most: float = 1.0) -> Values | None:
        """Make ready a run's scores of judged queries and those that are predicted; NaN where one is left out.

        A mean over part of the queries is a ratio of two means, which is linearised (Cochran, section 6.4). Scores lie
        between 0 and `most`. Return None if all judged queries are left out.
        """
        counts = ~np.isnan(scores)
        total = float(self.weight[counts].sum())
        if not total:
            return None
        mean = float((self.weight * np.where(counts, scores, 0.0)).sum() / total)
        residual = np.where(counts, scores - mean, 0.0) / total
        return Values(mean, residual, np.nan_to_num(predicted), 0.0, most, total)

    def estimate(
        self, values: Values, future: bool = False, confidence: float = 0.95, anytime: bool = False
    ) -> Estimate:
        """Estimate a mean or a difference, and the interval around it. See `Estimate` for the parameters."""
        fit = self._fit(values, future)
        found = self._interval(values, fit, future, confidence, anytime)
        return Estimate(
            **found._asdict(),
            plain=values.mean,
            plain_se=fit.plain,
            judged=self.judged,
            ranked=self.ranked,
            confidence=confidence,
            future=future,
            anytime=anytime,
        )

    def slope(self, values: Values, future: bool = True) -> float:
        """λ of the regression estimator; 0 where all queries have the same prediction."""
        weight = self._weight_of_squares(future)
        spread, move = self._within(values.residual), self._within(values.predicted[self.sample])
        below = float((weight * move**2).sum())
        return float((weight * move * spread).sum()) / below if below > 1e-24 else 0.0

    def p_value(self, values: Values) -> float:
        """Return the probability of so large an estimate if the true difference were 0, for all queries of the kind:
        the largest error probability at which the interval holds 0.
        """
        fit, low, high = self._fit(values, future=True), 0.0, 1.0
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            found = self._interval(values, fit, True, 1 - middle, False)
            low, high = (middle, high) if found.low <= 0 <= found.high else (low, middle)
        return high

    def _times(self, fit: "_Fit", anytime: bool) -> int:
        """Return how many times as many queries must deviate."""
        many = fit.freedom + 2 >= MANY * self.judged
        return (MORE_OF_MANY if many else MORE_OF_FEW) if anytime else 1

    def _interval(self, values: Values, fit: "_Fit", future: bool, confidence: float, anytime: bool) -> "_Found":
        method: Method = "regression" if fit.freedom + 2 >= ENOUGH * self._times(fit, anytime) else "bounded"
        slope, se, value = fit.slope, fit.se, self._value(values, fit.slope)
        if self.judged == self.ranked and not future:
            return _Found(value, se, value, value, slope, "census")
        if method == "regression":
            half = width(self.judged, fit.freedom, confidence, anytime)[1]
            down, up = (fit.robust * each for each in skewed(half, fit.skewness, self.judged))
            if value - down >= values.most or value + up <= values.least:  # nothing of the interval is possible
                method = "bounded"
        if method == "bounded":
            normal, student = width(self.judged, self.judged - self.strata - 1, confidence, anytime)
            slope, value = 1.0, self._value(values, 1.0)
            down, up = self._distances(values, normal, future)
            se = (down + up) / 2 / student
        value, low, high = np.clip((value, value - down, value + up), values.least, values.most).tolist()
        return _Found(value, se, low, high, slope, method)

    def _value(self, values: Values, slope: float) -> float:
        """The mean of the judged queries, corrected by what is predicted of all ranked ones."""
        if self.judged == self.ranked:
            return values.mean
        x = values.predicted
        return values.mean + slope * float(x.mean() - (self.weight * x[self.sample]).sum())

    def _fit(self, values: Values, future: bool) -> "_Fit":
        """Regress what is judged on what is predicted."""
        x, slope = values.predicted[self.sample], self.slope(values, future)
        weight, spread = self._weight_of_squares(future), self._within(values.residual)
        left = spread - slope * self._within(x)
        further, plain = (self._variance_of_part(values, x, each) if future else 0.0 for each in (slope, 0.0))
        freedom = self.judged - self.strata - 1
        squares = float((weight * left**2).sum()) * (freedom + 1) / freedom + further
        robust = float((weight * (left / (1 - self._leverage(x))) ** 2).sum()) + further
        scale = np.sqrt(self._weight_of_squares(future=True))
        carried = round(min(deviating(scale * (values.residual - x)), deviating(scale * left)), 9)
        size = float(((scale * left) ** 2).mean()) ** 1.5
        return _Fit(
            slope=slope,
            se=sqrt(squares),
            plain=sqrt(float((weight * spread**2).sum()) + plain),
            robust=sqrt(robust),
            skewness=float(((scale * left) ** 3).mean()) / size if size > 1e-30 else 0.0,
            freedom=carried - self.strata - 1,
        )

    def _leverage(self, x: Floats) -> Floats:
        """By how much each judged query's score moves its own fitted value: in [0, 1)."""
        squares = self._weight_of_squares(future=True) * self._within(x) ** 2
        share = squares / total if (total := float(squares.sum())) > 1e-24 else squares
        leverage: Floats = np.minimum(1 / self.drawn[self.of_sample] + share, 0.9)
        return leverage

    def _distances(self, values: Values, normal: float, future: bool) -> tuple[float, float]:
        """How far the mean may lie below and above the difference estimator.

        Each stratum has an interval for the mean of scores less predictions, which lie in a known range. The strata's
        distances are combined as standard errors are (MOVER: G. Y. Zou and A. Donner, Statistics in Medicine, 2008).
        """
        from scipy.special import ndtr  # slow to import

        x = values.predicted
        deviation = values.residual - x[self.sample]
        least = (values.least - values.mean) / values.counted - x.max()
        most = (values.most - values.mean) / values.counted - x.min()
        left = 1.0 if future else np.sqrt(1 - self.drawn / self.held)
        weight = self.held / self.ranked * left
        tail = float(ndtr(-normal))
        found = np.array(
            [distances(deviation[self.of_sample == each], least, most, tail) for each in range(self.strata)]
        )
        down, up = np.sqrt(((weight[:, None] * found) ** 2).sum(axis=0)).tolist()
        further = normal * sqrt(self._variance_of_part(values, x[self.sample], 1.0)) if future else 0.0
        return hypot(down, further), hypot(up, further)

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
