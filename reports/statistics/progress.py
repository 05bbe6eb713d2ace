"""How far a campaign has come, how fast it goes, and when it would end; and what each of its members did.

The numbers of members are made of every judgement. The interval of the end is that of E. C. Fieller, Some problems in
interval estimation, 1954.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import defaultdict
from datetime import date, timedelta
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from django.db.models import Count, Exists, Max, Min, OuterRef, Q, Subquery
from django.db.models.functions import Coalesce
from django.utils import timezone
from django.utils.timezone import localdate
from numpy.typing import NDArray

from base.dates import start_of_day
from campaigns.models import Campaign
from judging.consensus import ANNOTATORS
from judging.models import Assignment, Batch, Candidate, Judgement, Review, Revision
from judging.quality.check_results import check_totals, speeds
from metrics.analysis.planning import SECONDS
from reports.hours import EVER, Worked, by_member, worked_on_days
from reports.statistics.arrays import CONTESTED, DISCARDED, OPEN, SETTLED, Read, Records

Numbers = dict[str, Any]
LONGEST = 3650  # days that the forecast looks ahead
NEVER = date.max


def progress(campaign: Campaign, pool: Read) -> Numbers:
    """Return the judgements by day, how many are left, and when the campaign ends at the present pace.

    Times are in seconds, shares from 0 to 1. `earliest` and `latest` are the days between which it ends; see `ends`.
    `half` are those of the interval of 50 %.
    """
    days = _days(campaign)
    judgements, seconds = sum(row[1] for row in days), sum(row[2] for row in days)
    mean = seconds / judgements if judgements and seconds else None
    left, pace = left_in(pool, _undecided(campaign)), pace_of(days)
    half = ends(left, pace, 0.5)
    return {
        "outcomes": _outcomes(pool.candidates),
        "grades": np.bincount(pool.candidates["grade"][pool.candidates["grade"] >= 0], minlength=5).tolist(),
        "candidates": len(pool.candidates),
        "judgements": len(pool.judged.grade),
        "days": days,
        "left": round(left.judgements),
        "pace": pace.a_day.mean if pace else 0.0,
        **{name: _day_after(number) for name, number in ends(left, pace).items()},
        "half": [_day_after(half[end]) for end in ("earliest", "latest")],
        "burn_up": burn_up(campaign),
        "seconds": seconds,
        "mean": mean,
        "seconds_left": round(left.judgements) * (SECONDS if mean is None else mean),
    }


def burn_up(campaign: Campaign) -> list[list[Any]]:
    """Return [day, begun, finished, ready] for each day on which one of them changed, the first day first.

    A query is begun when the first assignment of it is submitted, and finished when the last of its reviews is given.
    It is ready to release once it and all before it in the random order are finished. What was reopened or withdrawn
    is not counted for the days before, either. Queries whose days are unknown, such as imported ones, are left out.
    """
    submitted = Assignment.objects.filter(batch__query=OuterRef("pk"), state=Assignment.State.SUBMITTED).order_by()
    reviews = Review.objects.in_force().filter(batch__query=OuterRef("pk")).order_by()
    first = submitted.values("batch__query").annotate(at=Min("submitted")).values("at")
    last = reviews.values("batch__query").annotate(at=Max("at")).values("at")
    queries = campaign.queries.pool().filter(withdrawn=None).order_by("place", "pk")
    rows = list(queries.annotate(first=Subquery(first), last=Subquery(last)).values_list("closed", "first", "last"))
    closed = [localdate(at) if is_closed and at else NEVER for is_closed, _, at in rows]
    begun = sorted(localdate(at) for _, at, _ in rows if at)
    lines = [begun, sorted(closed), list(accumulate(closed, max))]
    days = sorted({day for line in lines for day in line} - {NEVER})
    return [[day.isoformat(), *(bisect_right(line, day) for line in lines)] for day in days]


def _outcomes(candidates: Records) -> dict[str, int]:
    """Count the candidates by their present outcome. Those that the lead graded count as adjudicated only."""
    by_lead = candidates["adjudicated"]
    names, numbers = np.unique(candidates["outcome"][~by_lead], return_counts=True)
    counts = dict.fromkeys(Candidate.Outcome.values, 0) | dict(zip(names.tolist(), numbers.tolist(), strict=True))
    return counts | {Candidate.Outcome.ADJUDICATED.value: int(by_lead.sum())}


def _days(campaign: Campaign) -> list[list[Any]]:
    """Return for each day with work the day, the judgements made, and the active seconds that hours and pay count."""
    found: dict[date, Worked] = defaultdict(Worked)
    for (_, day), part in worked_on_days(campaign, EVER, timezone.now()).items():
        found[day] += part
    return [[str(day), found[day].judgements, float(found[day].seconds)] for day in sorted(found)]


def _undecided(campaign: Campaign) -> Undecided:
    """Return what is known of second batches to come."""
    if campaign.batches < 2:
        return Undecided(0, campaign.batch_size)
    reviews = Review.objects.filter(batch__campaign=campaign, batch__number=1, undone__isnull=True)
    counts = reviews.aggregate(decided=Count("pk"), opened=Count("pk", filter=Q(verdict=Review.Verdict.SECOND)))
    decided = Batch.objects.filter(Q(number=2) | Q(further=True), query=OuterRef("pk"))
    queries = campaign.queries.pool().filter(~Exists(decided), closed=False)
    return Undecided(queries.count(), campaign.batch_size, **counts)


def _day_after(days: float | None) -> str | None:
    if days is None or days > LONGEST:
        return None
    return (timezone.localdate() + timedelta(days=math.ceil(days))).isoformat()


def people(campaign: Campaign) -> dict[str, Any]:
    """Return the members' totals, as lists that begin with the member's primary key.

    `made` has the number of judgements and the time of the last revision; `checked` the number of check pairs and of
    missed ones; `speeds` the number of judgements of thirty days, of fast ones, and the median of the seconds; `month`
    the seconds of the month that begins on the day `since`, in the time zone of the pages; `work` the number of batches
    submitted, when the first was, and when the last was submitted and claimed.
    """
    revisions = Revision.objects.filter(judgement__annotator__campaign=campaign).order_by()
    first, last = Count("pk", filter=Q(number=1)), Max("at")
    made = revisions.values_list("judgement__annotator").annotate(n=first, last=last)
    first_day = start_of_day(timezone.localdate().replace(day=1))
    month = by_member(worked_on_days(campaign, first_day, timezone.now()))
    own = Assignment.objects.filter(annotator__campaign=campaign).order_by().values_list("annotator")
    first_one = Min("submitted", filter=Q(state=Assignment.State.SUBMITTED))
    numbers = {"n": Count("pk", filter=Q(state=Assignment.State.SUBMITTED)), "first": first_one}
    work = own.annotate(**numbers, last=Max("submitted"), claim=Max("claimed"))
    return {
        "work": [[key, n, *(at and at.isoformat() for at in times)] for key, n, *times in work],
        "since": first_day.date().isoformat(),
        "month": [[key, float(part.seconds)] for key, part in month.items()],
        "made": [[key, number, at.isoformat()] for key, number, at in made] + _imported(campaign),
        "checked": [[key, each.pairs, each.missed] for key, each in check_totals(campaign).items()],
        "speeds": [[key, each.judgements, each.fast, each.median] for key, each in speeds(campaign).items()],
    }


def _imported(campaign: Campaign) -> list[list[Any]]:
    """Return the imported ratings of each worker. They have no revision, and nobody knows when they were made."""
    rows = Judgement.objects.filter(annotator__campaign=campaign, revisions__isnull=True).order_by()
    worker = Coalesce("annotator__same_as", "annotator")
    made = rows.values_list(worker).annotate(n=Count("pk")) if campaign.imported else ()
    return [[key, number, None] for key, number in made]


def days_over(campaign: Campaign) -> dict[str, Any]:
    """Return what each member did on each day before yesterday. Nothing is added to these days any more.

    The result names the time zone of the pages, because days are others in another zone.
    """
    yesterday = start_of_day(later=-1)
    days = worked_on_days(campaign, EVER, yesterday)
    return {
        "zone": timezone.get_current_timezone_name(),
        "before": yesterday.isoformat(),
        "worked": [
            [member, day.isoformat(), str(part.seconds), str(part.reported), part.judgements, part.batches]
            for (member, day), part in days.items()
        ],
    }


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


def ends(left: Left, pace: Pace | None, confidence: float = CONFIDENCE) -> dict[str, float | None]:
    """Return after how many days the campaign ends, and the earliest and latest end of an interval, usually of 95 %.

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

    square = float(stdtrit(pace.freedom, 0.5 + confidence / 2)) ** 2
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
