"""Hours and pay: what members did in a period, without exams, in a fixed number of database queries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from django.db.models import Count, F, Q, QuerySet, Sum
from django.db.models.functions import Coalesce, TruncDate

from campaigns.models import Campaign, Membership
from judging.models import Assignment, Flag, Kind, Revision

EVER = datetime(2000, 1, 1, tzinfo=UTC)  # earlier than any judgement
CENT, MILLISECOND = Decimal("0.01"), Decimal("0.001")


@dataclass(frozen=True)
class Worked:
    """Active seconds, judgements made and batches submitted.

    Attributes
    ----------
    seconds
        Those that count, and are paid.
    reported
        Those that the browsers measured. The rest was cut: by the limit of a press, or by the clock.
    """

    seconds: Decimal = Decimal(0)
    reported: Decimal = Decimal(0)
    judgements: int = 0
    batches: int = 0

    def __add__(self, other: Worked) -> Worked:
        return Worked(
            self.seconds + other.seconds,
            self.reported + other.reported,
            self.judgements + other.judgements,
            self.batches + other.batches,
        )

    @property
    def hours(self) -> Decimal:
        return self.seconds / 3600

    @property
    def reported_hours(self) -> Decimal:
        return self.reported / 3600

    @property
    def cut_hours(self) -> Decimal:
        return (self.reported - self.seconds) / 3600

    @property
    def hours_and_minutes(self) -> tuple[int, int]:
        """Whole hours and the minutes that remain, rounded half up to minutes."""
        minutes = int((self.seconds / 60).quantize(Decimal(1), ROUND_HALF_UP))
        return divmod(minutes, 60)

    def earned(self, hourly_rate: Decimal) -> Decimal:
        """Return the pay for the hours, rounded half up to cents once, at the end."""
        return pay(self.seconds * hourly_rate)


def pay(seconds_times_rate: Decimal) -> Decimal:
    return (seconds_times_rate / 3600).quantize(CENT, ROUND_HALF_UP)


def by_member(days: dict[tuple[int, date], Worked]) -> dict[int, Worked]:
    """Return what each member did in all, by the member's key. Members who did nothing are left out."""
    found: dict[int, Worked] = defaultdict(Worked)
    for (member, _), part in days.items():
        found[member] += part
    return dict(found)


def worked_on_days(campaign: Campaign, start: datetime, end: datetime) -> dict[tuple[int, date], Worked]:
    """Return what each member did on each day from `start` until before `end`, in the time zone of the pages.

    Days without work are left out.
    """
    # The subquery of primary keys keeps SQLite from reading all revisions of the members.
    between = Revision.objects.filter(at__gte=start, at__lt=end)
    revisions = Revision.objects.filter(pk__in=between.values("pk"))
    return _grouped(revisions, start, end, who__in=campaign.memberships.values("pk"))


def worked_by_day(member: Membership, start: datetime, end: datetime) -> dict[date, Worked]:
    """Return what one member did on each day from `start` until before `end`."""
    revisions = Revision.objects.filter(judgement__assignment__in=member.assignments.said_since(start))
    return {day: part for (_, day), part in _grouped(revisions, start, end, who=member.pk).items()}


def total(parts: Iterable[Worked]) -> Worked:
    return sum(parts, Worked())


def _grouped(revisions: QuerySet[Any], start: datetime, end: datetime, **whose: Any) -> dict[tuple[int, date], Worked]:
    """Group work by member and day. Seconds are rounded for each day, so that a month is the sum of its days."""
    found: dict[tuple[int, date], Worked] = defaultdict(Worked)
    spent = {"counted": Sum("seconds"), "measured": Sum(Coalesce("reported", "seconds"))}
    exams = Assignment.objects.annotate(who=F("annotator")).filter(batch__kind=Kind.EXAM, **whose)
    for rows, sums in (
        (_as_work(revisions), spent | {"judgements": Count("pk", filter=Q(number=1))}),
        (_flags(), spent),
        (_submissions(), {"batches": Count("pk")}),
    ):
        paid = rows.filter(instant__gte=start, instant__lt=end, **whose).exclude(assigned__in=exams.values("pk"))
        for row in paid.annotate(day=TruncDate("instant")).order_by().values("who", "day").annotate(**sums):
            found[row.pop("who"), row.pop("day")] += _part(**row)
    return dict(found)


def _part(counted: float | None = None, measured: float | None = None, judgements: int = 0, batches: int = 0) -> Worked:
    return Worked(_milliseconds(counted), _milliseconds(measured), judgements, batches)


def _milliseconds(seconds: float | None) -> Decimal:
    return Decimal(seconds or 0).quantize(MILLISECOND, ROUND_HALF_UP)


def _as_work(revisions: QuerySet[Any]) -> QuerySet[Any]:
    own = F("judgement__assignment")
    rows: QuerySet[Any] = revisions.annotate(who=F("judgement__annotator"), instant=F("at"), assigned=own)
    return rows


def _flags() -> QuerySet[Any]:
    return Flag.recorded.annotate(who=F("assignment__annotator"), instant=F("at"), assigned=F("assignment"))


def _submissions() -> QuerySet[Any]:
    assignments = Assignment.objects.submitted()
    return assignments.annotate(who=F("annotator"), instant=F("submitted"), assigned=F("pk"))
