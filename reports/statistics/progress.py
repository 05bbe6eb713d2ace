"""How far a campaign has come, how fast it goes, and when it would end; and what each of its members did.

The numbers of members are made of every judgement.
"""

from __future__ import annotations

import math
from collections import defaultdict
from datetime import date, timedelta
from typing import Any

import numpy as np
from django.db.models import Count, Exists, Max, Min, OuterRef, Q
from django.db.models.functions import Coalesce
from django.utils import timezone

from base.dates import start_of_day
from campaigns.models import Campaign
from judging.models import Assignment, Batch, Candidate, Judgement, Review, Revision
from judging.quality.check_results import check_totals, speeds
from metrics.analysis.planning import SECONDS
from reports.hours import EVER, Worked, by_member, worked_on_days
from reports.statistics.arrays import Read, Records
from reports.statistics.forecast import Undecided, ends, left_in, pace_of

Numbers = dict[str, Any]
LONGEST = 3650  # days that the forecast looks ahead


def progress(campaign: Campaign, pool: Read) -> Numbers:
    """Return the judgements by day, how many are left, and when the campaign ends at the present pace.

    Times are in seconds, shares from 0 to 1. `earliest` and `latest` are the days between which it ends; see `ends`.
    """
    days = _days(campaign)
    judgements, seconds = sum(row[1] for row in days), sum(row[2] for row in days)
    mean = seconds / judgements if judgements and seconds else None
    left, pace = left_in(pool, _undecided(campaign)), pace_of(days)
    return {
        "outcomes": _outcomes(pool.candidates),
        "grades": np.bincount(pool.candidates["grade"][pool.candidates["grade"] >= 0], minlength=5).tolist(),
        "candidates": len(pool.candidates),
        "judgements": len(pool.judged.grade),
        "days": days,
        "left": round(left.judgements),
        "pace": pace.a_day.mean if pace else 0.0,
        **{name: _day_after(number) for name, number in ends(left, pace).items()},
        "seconds": seconds,
        "mean": mean,
        "seconds_left": round(left.judgements) * (SECONDS if mean is None else mean),
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
