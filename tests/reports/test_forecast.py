"""The days between which a campaign ends: simulated campaigns end between them about as often as promised."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from typing import Any

import numpy as np
import pytest

from judging.models import Candidate
from reports.statistics.arrays import CANDIDATE, Judged, Read
from reports.statistics.progress import Left, Pace, Rate, Undecided, ends, left_in, pace_of

SIZE, QUERIES = 20, 300
START = date(2026, 1, 5)  # a Monday
CAMPAIGNS = 200
Counts = np.ndarray[Any, np.dtype[np.int64]]


def crowd(rng: np.random.Generator, days: int) -> Counts:
    """Seven people who come on seven days of ten, whichever, and then judge much or little."""
    comes = rng.random((days, 7)) < 0.7
    return np.asarray((comes * rng.gamma(4, 30, (days, 7))).sum(1).astype(int))


def office(rng: np.random.Generator, days: int) -> Counts:
    """The same on the days from Monday to Friday."""
    return np.asarray(crowd(rng, days) * (np.arange(days) % 7 < 5))


class Simulated:
    """A campaign of random queries, which are judged one after the other at the pace of random days."""

    def __init__(self, rng: np.random.Generator, work: Callable[[np.random.Generator, int], Counts]) -> None:
        batches = 1 + (rng.random(QUERIES) < rng.uniform(0.2, 0.7))
        self.pairs = SIZE * batches
        self.contested = rng.binomial(self.pairs, rng.beta(3, 9, QUERIES))  # difficult queries have more
        self.whole = (2 * (self.pairs + self.contested)).cumsum()
        self.by_day = work(rng, 400).cumsum()

    def is_right(self, day: int, pace_of: Callable[[Any], Pace | None] = pace_of) -> bool | None:
        """Whether the campaign ends when the forecast of a day says; None if it has ended by then."""
        done = int(np.searchsorted(self.whole, self.by_day[day], "right"))
        if done == QUERIES:
            return None
        second = int((self.pairs[:done] > SIZE).sum())
        left = left_in(self.pool(done), Undecided(QUERIES - done, SIZE, done, second))
        counts = np.diff(self.by_day[: day + 1], prepend=0).tolist()
        days = [[str(START + timedelta(days=n)), count, 0.0] for n, count in enumerate(counts) if count]
        found = ends(left, pace_of(days))
        to_do = self.whole[-1] - self.whole[done - 1]
        took = int(np.searchsorted(self.by_day, self.by_day[day] + to_do)) - day
        earliest, latest = found["earliest"], found["latest"]
        return earliest is not None and earliest <= took <= (np.inf if latest is None else np.ceil(latest))

    def pool(self, done: int) -> Read:
        """The first queries, with one candidate for each of their pairs, and the first batches of the others."""
        sizes = np.where(np.arange(QUERIES) < done, self.pairs, SIZE)
        rows = np.zeros(sizes.sum(), CANDIDATE)
        rows["query"] = np.repeat(np.arange(QUERIES), sizes)
        rank = np.arange(len(rows)) - np.repeat(sizes.cumsum() - sizes, sizes)
        is_done = rows["query"] < done
        rows["outcome"] = np.where(is_done, Candidate.Outcome.SETTLED.value, Candidate.Outcome.OPEN.value)
        rows["escalated"] = is_done & (rank < self.contested[rows["query"]])
        nothing = np.zeros(0, np.int64)
        return Read(rows, Judged(nothing, nothing, nothing, nothing, np.zeros(0), nothing, nothing, nothing))


def share_that_is_right(work: Any, day: int, **as_if: Any) -> float:
    rng = np.random.default_rng(day)
    found = [Simulated(rng, work).is_right(day, **as_if) for _ in range(CAMPAIGNS)]
    known = [each for each in found if each is not None]
    assert len(known) > CAMPAIGNS / 2
    return float(np.mean(known))


@pytest.mark.parametrize("work", [crowd, office])
@pytest.mark.parametrize("day", [7, 10, 13, 20])
def test_simulated_campaigns_end_between_the_days_that_the_forecast_names(work: Any, day: int) -> None:
    """A little more often than in 95 of 100: whole days are rounded outwards."""
    assert share_that_is_right(work, day) > 0.93


def test_as_if_the_pace_were_certain_they_do_not() -> None:
    def certain(days: Any) -> Pace | None:
        found = pace_of(days)
        assert found
        return found._replace(a_day=found.a_day._replace(variance=0.0))

    assert share_that_is_right(crowd, 13, pace_of=certain) < 0.8


def days_of(*counts: int) -> list[list[Any]]:
    return [[str(START + timedelta(days=n)), count, 0.0] for n, count in enumerate(counts) if count]


def test_the_pace_by_hand() -> None:
    assert pace_of([]) is None
    assert pace_of(days_of(90, 110)) == (Rate(100, 0, 2), 0)  # less than a week tells nothing of how days vary
    week = (100, 100, 100, 100, 100, 0, 0)
    assert pace_of(days_of(*week, *week, 40)) == (Rate((9 * 100 + 40) / 14, 60**2 / 14, 14), 7)
    assert pace_of(days_of(7, 0, 0, *week, *week)) == (Rate(1000 / 14, 0, 14), 7)


def test_the_interval_by_hand() -> None:
    steady = Pace(Rate(100, 0, 14), 7)
    assert ends(Left(950, 0), steady) == {"end": 9.5, "earliest": 9, "latest": 9.5}
    unsure = ends(Left(1000, 100**2), steady)
    assert unsure == {"end": 10, "earliest": 7, "latest": pytest.approx(10 + 2.3646, abs=1e-3)}
    varying = ends(Left(1000, 0), Pace(Rate(100, 50**2, 14), 7))
    latest = varying["latest"]
    assert latest
    # At its end the judgements are as many standard errors away as Student's quantile says.
    error = 50 * (latest + latest**2 / 14) ** 0.5
    assert (100 * latest - 1000) / error == pytest.approx(2.3646, abs=1e-3)
    assert ends(Left(1000, 0), Pace(Rate(100, 200**2, 14), 7))["latest"] is None


def test_nothing_is_foretold_from_too_little() -> None:
    nothing = {"end": None, "earliest": None, "latest": None}
    steady = Pace(Rate(100, 0, 14), 7)
    assert ends(Left(0, 0), steady) == ends(Left(100, 0), None) == nothing
    assert ends(Left(100, None), steady) == ends(Left(100, 0), Pace(Rate(100, 0, 3), 0)) == nothing | {"end": 1}
