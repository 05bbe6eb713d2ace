"""How far a campaign has come, how fast it goes, and when it would end; and what each of its members did.

The numbers of members are made of every judgement.
"""

from __future__ import annotations

import math
from collections import defaultdict
from datetime import date, timedelta
from typing import Any

import numpy as np
from django.db.models import Count, Exists, Max, OuterRef, Q
from django.db.models.functions import Coalesce
from django.utils import timezone

from campaigns.models import Campaign
from judging.models import Batch, Candidate, Judgement, Review, Revision
from judging.models.pool import ANNOTATORS
from judging.quality.check_results import check_totals, speeds
from reports.hours import EVER, Worked, worked_on_days
from reports.statistics.arrays import CONTESTED, DISCARDED, OPEN, SETTLED, Read, Records

Numbers = dict[str, Any]
PACE_OVER = timedelta(days=14)  # the forecast assumes that the pace of these days goes on
CONTESTED_SHARE = 0.2  # share of pairs expected in round two, before any is settled
SECOND_SHARE = 0.5  # share of queries expected to get a second batch, before any is reviewed
SECONDS = 19.0  # expected for a judgement, before any is timed (TVR-Ranking: 1,200 hours for 227,808)


def progress(campaign: Campaign, pool: Read) -> Numbers:
    """Return the judgements by day, how many are left, and when the campaign ends at the present pace.

    Times are in seconds, shares from 0 to 1.
    """
    days = _days(campaign)
    judgements, seconds = sum(row[1] for row in days), sum(row[2] for row in days)
    mean = seconds / judgements if judgements and seconds else None
    left = _left(campaign, pool)
    pace = _pace(days)
    return {
        "outcomes": _outcomes(pool.candidates),
        "grades": np.bincount(pool.candidates["grade"][pool.candidates["grade"] >= 0], minlength=5).tolist(),
        "candidates": len(pool.candidates),
        "judgements": len(pool.judged.grade),
        "days": days,
        "left": left,
        "pace": pace,
        "end": _end(left, pace),
        "seconds": seconds,
        "mean": mean,
        "seconds_left": left * (SECONDS if mean is None else mean),
    }


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


def _left(campaign: Campaign, pool: Read) -> int:
    """Estimate the number of judgements still to come, for open and contested candidates and for second batches."""
    candidates, judged = pool
    counted = np.bincount(judged.candidate, minlength=len(candidates))
    outcome = candidates["outcome"]
    past = np.isin(outcome, [SETTLED, DISCARDED]) | candidates["escalated"]
    contested = float(candidates["escalated"][past].mean()) if past.any() else CONTESTED_SHARE
    round_two = ANNOTATORS * contested
    under_way = (ANNOTATORS - counted[outcome == OPEN] + round_two).sum()
    in_round_two = (2 * ANNOTATORS - counted[outcome == CONTESTED]).sum()
    second = _second_batches(campaign) * (ANNOTATORS + round_two)
    return round(float(under_way) + float(in_round_two) + second)


def _second_batches(campaign: Campaign) -> float:
    """Estimate the candidates of second batches to come, if leads go on to decide as they did so far."""
    if campaign.batches < 2:
        return 0.0
    reviews = Review.objects.filter(batch__campaign=campaign, batch__number=1, undone__isnull=True)
    counts = reviews.aggregate(all=Count("pk"), second=Count("pk", filter=Q(verdict=Review.Verdict.SECOND)))
    share = counts["second"] / counts["all"] if counts["all"] else SECOND_SHARE
    decided = Batch.objects.filter(Q(number=2) | Q(further=True), query=OuterRef("pk"))
    undecided = campaign.queries.pool().filter(~Exists(decided), closed=False)
    return undecided.count() * share * campaign.batch_size


def _pace(days: list[list[Any]]) -> float:
    """Return the judgements a day over the last two weeks with work, days of rest included."""
    if not days:
        return 0.0
    last = date.fromisoformat(days[-1][0])
    recent = [row for row in days if date.fromisoformat(row[0]) > last - PACE_OVER]
    first = date.fromisoformat(recent[0][0])
    return float(sum(row[1] for row in recent) / ((last - first).days + 1))


def _end(left: int, pace: float) -> str | None:
    if not left or not pace or left / pace > 3650:
        return None
    return (timezone.localdate() + timedelta(days=math.ceil(left / pace))).isoformat()


def people(campaign: Campaign) -> dict[str, Any]:
    """Return the members' totals, as lists that begin with the member's primary key.

    `made` has the number of judgements and the time of the last revision; `checked` the number of check pairs and of
    missed ones; `speeds` the number of judgements of thirty days, of fast ones, and the median of the seconds.
    """
    revisions = Revision.objects.filter(judgement__annotator__campaign=campaign).order_by()
    first, last = Count("pk", filter=Q(number=1)), Max("at")
    made = revisions.values_list("judgement__annotator").annotate(n=first, last=last)
    return {
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
    yesterday = timezone.localtime() - timedelta(days=1)
    midnight = yesterday.replace(hour=0, minute=0, second=0, microsecond=0)
    days = worked_on_days(campaign, EVER, midnight)
    return {
        "zone": timezone.get_current_timezone_name(),
        "before": midnight.isoformat(),
        "worked": [
            [member, day.isoformat(), str(part.seconds), str(part.reported), part.judgements, part.batches]
            for (member, day), part in days.items()
        ],
    }
