"""How much is left to judge, and between which days a campaign ends if it goes on as it did. Pure.

The interval of the end is that of E. C. Fieller, Some problems in interval estimation, 1954.
"""

from __future__ import annotations

import math
from datetime import date, timedelta
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from judging.models.pool import ANNOTATORS
from reports.statistics.arrays import CONTESTED, DISCARDED, OPEN, SETTLED, Read, Records

WEEK, PACE_OVER = 7, 14  # days; the pace of the last two weeks is assumed to go on
CONFIDENCE = 0.95  # of the days between which a campaign ends
CONTESTED_SHARE = 0.2  # share of pairs expected in round two, before any is settled
SECOND_SHARE = 0.5  # share of queries expected to get a second batch, before any is reviewed


class Rate(NamedTuple):
    """How often something comes in each of many: its mean, its variance between them, and how many were seen."""

    mean: float
    variance: float
    seen: float

    def variance_of_sum(self, number: float) -> float:
        """Return the variance of the sum over so many others: their own, and that of the mean which was seen."""
        return self.variance * (number + number**2 / self.seen)


class Pace(NamedTuple):
    """The judgements of a day, and the degrees of freedom of their variance; 0 if too few days are seen to tell."""

    a_day: Rate
    freedom: int


class Left(NamedTuple):
    """The judgements still to come, and the variance of their number; None if too little is seen to tell."""

    judgements: float
    variance: float | None


class Undecided(NamedTuple):
    """Queries for which the lead may open a second batch, how large it is, and what the lead decided so far."""

    queries: int
    size: int
    decided: int = 0
    opened: int = 0

    @property
    def share(self) -> float:
        """The share of queries that get a second batch, if leads go on to decide as they did so far."""
        return self.opened / self.decided if self.decided else SECOND_SHARE

    @property
    def variance(self) -> float:
        """The variance of the number of second batches; two decisions of each kind are added (Agresti and Coull)."""
        seen = self.decided + 4
        share = (self.opened + 2) / seen
        return Rate(share, share * (1 - share), seen).variance_of_sum(self.queries)


def ends(left: Left, pace: Pace | None) -> dict[str, float | None]:
    """Return after how many days the campaign ends, and the earliest and latest end of an interval of 95 %.

    All are None if nothing is left or nobody works, the interval also while too little is seen, and `latest` if the
    pace varies so much that no end is certain. The interval is Fieller's: it holds the numbers of days in which the
    judgements to come and those that are left do not differ significantly.
    """
    found: dict[str, float | None] = {"end": None, "earliest": None, "latest": None}
    if not round(left.judgements) or pace is None or not pace.a_day.mean:
        return found
    (mean, variance, seen), number = pace.a_day, left.judgements
    found["end"] = number / mean
    if left.variance is None or not pace.freedom:
        return found
    from scipy.special import stdtrit  # slow to import

    square = float(stdtrit(pace.freedom, 0.5 + CONFIDENCE / 2)) ** 2
    # The ends are the roots of a·d² − b·d + c = 0.
    a = mean**2 - square * variance / seen
    b, c = 2 * number * mean + square * variance, number**2 - square * left.variance
    root = math.sqrt(max(0.0, b**2 - 4 * a * c))
    found["earliest"] = math.floor(max(0.0, 2 * c / (b + root)))
    found["latest"] = (b + root) / (2 * a) if a > 0 else None
    return found


def left_in(pool: Read, undecided: Undecided) -> Left:
    """Estimate the number of judgements still to come, for open and contested candidates and for second batches."""
    candidates, judged = pool
    counted = np.bincount(judged.candidate, minlength=len(candidates))
    outcome = candidates["outcome"]
    past = np.isin(outcome, [SETTLED, DISCARDED]) | candidates["escalated"]
    contested = float(candidates["escalated"][past].mean()) if past.any() else CONTESTED_SHARE
    round_two = ANNOTATORS * contested
    under_way = (ANNOTATORS - counted[outcome == OPEN] + round_two).sum()
    in_round_two = (2 * ANNOTATORS - counted[outcome == CONTESTED]).sum()
    second = undecided.queries * undecided.share * undecided.size
    by_query = _contested_by_query(candidates[past], contested)
    if by_query is None:
        variance = None
    else:
        others = (float((outcome == OPEN).sum()) + second) / by_query.mean
        of_second = undecided.variance * (undecided.size * (ANNOTATORS + round_two)) ** 2
        variance = ANNOTATORS**2 * by_query.variance_of_sum(others) + of_second
    return Left(float(under_way) + float(in_round_two) + second * (ANNOTATORS + round_two), variance)


def _contested_by_query(past: Records, share: float) -> Rate | None:
    """Return how many pairs of a query were judged, and the variance of the contested ones about their share."""
    _, query = np.unique(past["query"], return_inverse=True)
    pairs = np.bincount(query)
    if len(pairs) < 2:
        return None
    beside = np.bincount(query, past["escalated"]) - share * pairs
    return Rate(float(pairs.mean()), float((beside**2).sum() / (len(pairs) - 1)), len(pairs))


def pace_of(days: list[list[Any]]) -> Pace | None:
    """Return the judgements a day over the last two weeks with work, days of rest included; None before any work.

    Two whole weeks are compared day by day, so that a rest at every weekend is no uncertainty. Less than a week tells
    nothing of such a rest, and so nothing of how days vary.
    """
    if not days:
        return None
    counts = _by_day(days)
    mean, number = float(counts.mean()), len(counts)
    if number == PACE_OVER:
        variance, freedom = float(((counts[:WEEK] - counts[WEEK:]) ** 2).mean()) / 2, WEEK
    elif number >= WEEK:
        variance, freedom = float(counts.var(ddof=1)), number - 1
    else:
        variance, freedom = 0.0, 0
    return Pace(Rate(mean, variance, number), freedom)


def _by_day(days: list[list[Any]]) -> NDArray[np.float64]:
    """Return the judgements of each day of the last two weeks with work; of fewer days if the first came later."""
    dates = [date.fromisoformat(row[0]) for row in days]
    first = max(dates[0], dates[-1] - timedelta(days=PACE_OVER - 1))
    counts = np.zeros((dates[-1] - first).days + 1)
    for day, row in zip(dates, days, strict=True):
        if day >= first:
            counts[(day - first).days] = row[1]
    return counts
