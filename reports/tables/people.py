"""The people of a campaign as its lead sees them, in a fixed number of questions however many they are."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, Max, Q
from django.utils import timezone

from campaigns.models import Campaign, Membership
from judging.models import Assignment
from reports.pay.hours import Worked, worked_by_day
from reports.pay.periods import Period, worked_in
from reports.summaries import CurrentSummary

DAYS_SHOWN = 28


@dataclass(frozen=True)
class PersonRow:
    member: Membership
    batches: int
    judgements: int
    last_seen: datetime | None
    month: Worked
    holds_since: datetime | None

    @property
    def is_imported(self) -> bool:
        """Whether the judgements are imported ratings, of which neither times nor batches are known."""
        return bool(self.judgements) and self.last_seen is None


def person_rows(campaign: Campaign, counted: CurrentSummary) -> list[PersonRow]:
    """Everybody with what they did so far, by worker number."""
    members = campaign.memberships.filter(same_as=None).select_related("user").order_by("worker")
    numbers = {key: rest for key, *rest in counted.counts["made"]} if counted.counts else {}
    work = _work(campaign)
    hours = worked_in(campaign, Period.of_month())
    return [
        PersonRow(
            member,
            work.get(member.pk, (0, None))[0],
            *_made(numbers.get(member.pk)),
            hours.get(member.pk, Worked()),
            work.get(member.pk, (0, None))[1],
        )
        for member in members
    ]


def _made(numbers: list[Any] | None) -> tuple[int, datetime | None]:
    """How many judgements, and when the last one was given."""
    number, last = numbers or (0, None)
    return number, datetime.fromisoformat(last) if last else None


def _work(campaign: Campaign) -> dict[int, tuple[int, datetime | None]]:
    """Return how many batches each member has submitted, and since when they hold one."""
    rows = Assignment.objects.filter(annotator__campaign=campaign).order_by().values_list("annotator")
    submitted = Count("pk", filter=Q(state=Assignment.State.SUBMITTED))
    held = Max("claimed", filter=Q(state=Assignment.State.LIVE))  # of the only one
    return {member: (number, since) for member, number, since in rows.annotate(n=submitted, since=held)}


def days_of(member: Membership) -> list[tuple[Any, Worked]]:
    """What the person did on each day of the last four weeks, newest first; days without work are left out."""
    end = timezone.now()
    return sorted(worked_by_day(member, end - timedelta(days=DAYS_SHOWN), end).items(), reverse=True)
