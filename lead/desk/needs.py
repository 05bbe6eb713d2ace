"""What needs the lead now, most urgent first, in one database query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db.models import OuterRef, QuerySet, Subquery
from django.db.models.functions import Now
from django.urls import reverse

from campaigns.models import Campaign, Membership
from judging.models import Batch, Flag, Kind, Sitting
from judging.work.claiming import STUCK_AFTER, stuck_batches, without_annotators
from reports.tables.queries import number_of


@dataclass(frozen=True)
class Need:
    """Something to do: how much of it there is, in words, and where."""

    number: int
    one: str
    many: str
    address: str

    @property
    def words(self) -> str:
        return f"{self.number:,} {self.one if self.number == 1 else self.many}"


def needs(campaign: Campaign, failed_jobs: int) -> list[Need]:
    """Everything of which there is at least one."""
    counts = _counts(campaign)
    pages = {
        name: reverse(name, args=[campaign.name])
        for name in ("campaign", "campaign-work", "people", "flags", "reviews", "exam")
    }
    listed = [
        Need(failed_jobs, "job failed", "jobs failed", f"{pages['campaign-work']}?state=failed"),
        Need(counts["paused"], "annotator is paused", "annotators are paused", pages["people"]),
        Need(
            counts["stuck"],
            "contested batch has had no annotator for a day",
            "contested batches have had no annotator for a day",
            f"{pages['campaign']}?show=stuck",
        ),
        Need(
            counts["waiting"],
            "batch has nobody left who may judge it",
            "batches have nobody left who may judge them",
            f"{pages['campaign']}?show=waiting",
        ),
        Need(counts["failed"], "examinee failed the exam", "examinees failed the exam", pages["exam"]),
        Need(
            counts["unmarked"],
            "examinee waits for others or for your grades",
            "examinees wait for others or for your grades",
            pages["exam"],
        ),
        Need(counts["flags"], "flag to look at", "flags to look at", pages["flags"]),
        Need(counts["to_review"], "batch to review", "batches to review", pages["reviews"]),
    ]
    return [need for need in listed if need.number]


def _counts(campaign: Campaign) -> dict[str, int]:
    annotators = Membership.objects.annotators().filter(campaign=OuterRef("pk"))
    last = Sitting.objects.filter(member=OuterRef("pk")).order_by("-round").values("result")[:1]
    failed = annotators.annotate(last=Subquery(last)).filter(last=Sitting.Result.FAILED, qualified=None)
    unmarked = Sitting.objects.waiting().filter(ended__lt=Now() - STUCK_AFTER, member__qualified=None)
    rows: dict[str, QuerySet[Any]] = {
        "paused": annotators.filter(state=Membership.State.PAUSED),
        "stuck": stuck_batches().filter(campaign=OuterRef("pk")),
        "waiting": without_annotators().filter(kind=Kind.POOL, campaign=OuterRef("pk")),
        "failed": failed.filter(state=Membership.State.ACTIVE),
        "unmarked": unmarked.filter(member__campaign=OuterRef("pk"), member__state=Membership.State.ACTIVE),
        "flags": Flag.objects.waiting(OuterRef("pk")),
        "to_review": Batch.objects.to_review().filter(campaign=OuterRef("pk")),
    }
    numbers = {name: number_of(own) for name, own in rows.items()}
    found = Campaign.objects.filter(pk=campaign.pk).values_list(*numbers.values()).get()
    return dict(zip(numbers, found, strict=True))
