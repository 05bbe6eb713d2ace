"""What the lead's pages show of a campaign, in a fixed number of queries however large it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from jobs.models import Job
from judging.models import Assignment, Batch, Campaign, Candidate, Membership, Query
from judging.models.campaign import LAST, SECOND_BATCH_FROM
from judging.preparing import CUT_CLIPS
from judging.ranking import RANK


@dataclass(frozen=True)
class Filter:
    words: str
    rows: Callable[[Campaign], QuerySet[Query]]


def _with_batch(campaign: Campaign, **state: Any) -> QuerySet[Query]:
    batches = Batch.objects.filter(query=OuterRef("pk"), **state)
    return campaign.queries.filter(Exists(batches)).order_by("pk")


FILTERS = {
    "": Filter("All queries", lambda campaign: campaign.queries.order_by("pk")),
    "review": Filter("To review", lambda campaign: _with_batch(campaign, state=Batch.State.SETTLED)),
    "work": Filter("In work", lambda campaign: _with_batch(campaign, state=Batch.State.OPEN, taken__gt=0)),
    "contested": Filter(
        "In round two", lambda campaign: _with_batch(campaign, state=Batch.State.OPEN, round=2)
    ),
    "closed": Filter("Closed", lambda campaign: campaign.queries.filter(closed=True).order_by("pk")),
}


def counts(campaign: Campaign) -> list[tuple[str, str, int]]:
    """Each filter's key, words and number of queries."""
    return [(key, each.words, each.rows(campaign).count()) for key, each in FILTERS.items()]


def overview(campaign: Campaign) -> dict[str, Any]:
    """The numbers at the top of a campaign's page."""
    candidates = Candidate.objects.in_campaign(campaign).filter(batch__isnull=False)
    outcomes = {outcome: Count("pk", filter=Q(outcome=outcome)) for outcome in Candidate.Outcome.values}
    numbers = candidates.aggregate(
        all=Count("pk"), **{f"n_{name}": count for name, count in outcomes.items()}
    )
    people = campaign.memberships.filter(role=Membership.Role.ANNOTATOR, state=Membership.State.ACTIVE)
    return numbers | {
        "queries": campaign.queries.count(),
        "closed": campaign.queries.filter(closed=True).count(),
        "to_review": Batch.objects.in_campaign(campaign).to_review().count(),
        "annotators": people.count(),
        "at_work": Assignment.objects.live().filter(annotator__campaign=campaign).count(),
    }


@dataclass(frozen=True)
class BatchRow:
    """A batch as a small square in the table, and what its end looks like."""

    batch: Batch
    look: str
    words: str
    last_mean: float | None

    @property
    def recommends_second(self) -> bool:
        return self.last_mean is not None and self.last_mean >= SECOND_BATCH_FROM


@dataclass(frozen=True)
class QueryRow:
    query: Query
    batches: list[BatchRow]


def rows_of(queries: list[Query]) -> list[QueryRow]:
    """One row for each query, with its batches."""
    batches = list(Batch.objects.filter(query__in=queries).order_by("query", "number"))
    means = _last_means(batches)
    by_query: dict[int, list[BatchRow]] = {}
    for batch in batches:
        look, words = appearance(batch)
        row = BatchRow(batch, look, words, means.get(batch.pk))
        by_query.setdefault(batch.query_id, []).append(row)
    return [QueryRow(query, by_query.get(query.pk, [])) for query in queries]


def appearance(batch: Batch) -> tuple[str, str]:
    """A batch's state as a class name and as words."""
    if batch.state != Batch.State.OPEN:
        words = {"preparing": "clips are being cut", "settled": "settled, to review", "reviewed": "reviewed"}
        return batch.state, words[batch.state]
    if batch.round == 2:
        return "contested", f"round two, {batch.taken} of 2 places taken"
    return ("work", f"in work, {batch.taken} of 2 places taken") if batch.taken else ("open", "open")


def _last_means(batches: list[Batch]) -> dict[int, float]:
    """The mean final grade of the last five candidates, by batch."""
    done = [batch.pk for batch in batches if batch.state in (Batch.State.SETTLED, Batch.State.REVIEWED)]
    grades: dict[int, list[int | None]] = {}
    rows = Candidate.objects.filter(batch__in=done).order_by("batch", "rank")
    for batch, grade in rows.values_list("batch", "grade"):
        grades.setdefault(batch, []).append(grade)
    last = {batch: [grade for grade in all_[-LAST:] if grade is not None] for batch, all_ in grades.items()}
    return {batch: sum(some) / len(some) for batch, some in last.items() if some}


def jobs_of(campaign: Campaign) -> dict[str, Any]:
    """The campaign's long work: how much is under way, what of it runs, and what failed."""
    keys = Q(kind=RANK, key=f"campaign {campaign.name}")
    batches = Batch.objects.in_campaign(campaign).filter(state=Batch.State.PREPARING)
    waiting = [f"batch {pk}" for pk in batches.values_list("pk", flat=True)[:500]]
    jobs = Job.objects.filter(keys | Q(kind=CUT_CLIPS, key__in=waiting))
    return {
        "unfinished": jobs.unfinished().count(),
        "running": list(jobs.filter(state=Job.State.RUNNING)[:4]),
        "failed": list(jobs.filter(state=Job.State.FAILED)[:4]),
    }
