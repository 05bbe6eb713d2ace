"""Hours and rates: what members did in a period, with practice and paid exams, and what an hour of a day is paid.

Of a day's practice, at most `PRACTICE_SHARE` of the day's other work counts.

A new hourly rate holds from the day on which it is set; earlier days keep the rate that they had. A lead may apply it
to earlier days, too, but not to days whose pay is approved.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from django.db.models import Count, Exists, F, FloatField, IntegerField, OuterRef, Q, QuerySet, Sum, Value
from django.db.models.functions import Coalesce, TruncDate

from campaigns.models import Campaign, Membership
from judging.models import Assignment, Flag, Kind, ListTime, Practice, Revision, Sitting
from reports.models import ApprovedPeriod

EVER = datetime(2000, 1, 1, tzinfo=UTC)  # earlier than any judgement
CENT, MILLISECOND = Decimal("0.01"), Decimal("0.001")
ONE_DAY = timedelta(days=1)
PRACTICE_SHARE = Decimal("0.1")
SPENT: dict[str, Any] = {"counted": Sum("seconds"), "measured": Sum(Coalesce("reported", "seconds"))}
FIRST = {"judgements": Count("pk", filter=Q(number=1))}  # revisions: a change of mind is no other judgement
NO_SUMS: dict[str, Any] = {
    **{name: Value(0.0, FloatField()) for name in SPENT},
    **{name: Value(0, IntegerField()) for name in ("n_judgements", "n_batches")},
}


@dataclass(frozen=True)
class Worked:
    """Active seconds, judgements made and batches submitted."""

    seconds: Decimal = Decimal(0)  # those that count, and are paid
    # Those that the browsers measured. The rest was cut: by the limit of a press, a place or practice, or by the clock.
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
    """Return what each member did on each day with work, in the time zone of the pages; `end` is excluded."""
    # The subquery of primary keys keeps SQLite from reading all revisions of the members.
    between = Revision.objects.filter(at__gte=start, at__lt=end)
    revisions = Revision.objects.filter(pk__in=between.values("pk"))
    return _grouped(revisions, start, end, who__in=campaign.memberships.values("pk"))


def worked_by_day(member: Membership, start: datetime, end: datetime) -> dict[date, Worked]:
    """Return what one member did on each day from `start` until before `end`."""
    revisions = Revision.objects.filter(judgement__assignment__in=member.assignments.saved_since(start))
    return {day: part for (_, day), part in _grouped(revisions, start, end, who=member.pk).items()}


def worked_in_assignment(assignment: Assignment) -> dict[date, Worked]:
    """Return what was done in one assignment on each day."""
    found: dict[date, Worked] = defaultdict(Worked)
    parts = [assignment, *assignment.joined.all()]
    revisions = Revision.objects.filter(judgement__assignment__in=parts)
    flags, lists = (rows.filter(assignment__in=parts) for rows in (_flags(), _lists()))
    for rows, sums in ((_as_work(revisions), SPENT | FIRST), (flags, SPENT), (lists, SPENT)):
        for row in rows.annotate(day=TruncDate("instant")).order_by().values("day").annotate(**sums):
            found[row.pop("day")] += _part(**row)
    return dict(found)


def total(parts: Iterable[Worked]) -> Worked:
    return sum(parts, Worked())


def _grouped(revisions: QuerySet[Any], start: datetime, end: datetime, **whose: Any) -> dict[tuple[int, date], Worked]:
    """Group work by member and day, in one statement. Seconds are rounded by day, so that months are sums of days."""
    parts = []
    for rows, sums in (
        (_as_work(revisions), SPENT | {"n_judgements": FIRST["judgements"]}),
        (_flags(), SPENT),
        (_lists(), SPENT),
        (_practice(), SPENT),
        (_submissions(), {"n_batches": Count("pk")}),
    ):
        is_practice = rows.model is Practice
        paid = rows.filter(instant__gte=start, instant__lt=end, **whose)
        paid = paid if is_practice else paid.filter(~Q(kind=Kind.EXAM) | _of_paid_exam())
        by_day = paid.annotate(day=TruncDate("instant"), practice=Value(int(is_practice), IntegerField())).order_by()
        columns = ("who", "day", "practice")
        parts.append(by_day.values_list(*columns).annotate(**NO_SUMS | sums).values_list(*columns, *NO_SUMS))
    judged: dict[tuple[int, date], Worked] = defaultdict(Worked)
    practised = {}
    for who, day, is_practice, *numbers in parts[0].union(*parts[1:], all=True):
        if is_practice:
            practised[who, day] = _part(*numbers)
        else:
            judged[who, day] += _part(*numbers)
    for key, part in practised.items():
        most = (judged[key].seconds * PRACTICE_SHARE).quantize(MILLISECOND, ROUND_HALF_UP)
        judged[key] += Worked(min(part.seconds, most), part.reported)
    return dict(judged)


def _of_paid_exam() -> Exists:
    """Whether the row belongs to a round of an exam that is paid."""
    return Exists(Sitting.objects.filter(member=OuterRef("who"), round=OuterRef("round"), is_paid=True))


def _part(counted: float | None = None, measured: float | None = None, judgements: int = 0, batches: int = 0) -> Worked:
    return Worked(_milliseconds(counted), _milliseconds(measured), judgements, batches)


def _milliseconds(seconds: float | None) -> Decimal:
    return Decimal(seconds or 0).quantize(MILLISECOND, ROUND_HALF_UP)


def _as_work(revisions: QuerySet[Any]) -> QuerySet[Any]:
    return _with_work(revisions, "judgement__assignment__", instant="at")


def _flags() -> QuerySet[Any]:
    return _with_work(Flag.recorded.all(), "assignment__", instant="at")


def _lists() -> QuerySet[Any]:
    return _with_work(ListTime.objects.all(), "assignment__", instant="at")


def _practice() -> QuerySet[Any]:
    counted = Practice.objects.filter(seconds__isnull=False)  # else it is none of the hours
    return counted.annotate(who=F("annotator"), instant=F("at"))


def _submissions() -> QuerySet[Any]:
    assignments = Assignment.objects.submitted().alone()
    return _with_work(assignments, "", instant="submitted")


def _with_work(rows: QuerySet[Any], assignment: str, instant: str) -> QuerySet[Any]:
    """Add whose each row is, when it was, and of which kind and round its assignment is, to which a path leads."""
    paths = {"who": "annotator", "kind": "batch__kind", "round": "round"}
    columns = {name: F(assignment + path) for name, path in paths.items() if assignment or name != "round"}
    found: QuerySet[Any] = rows.annotate(instant=F(instant), **columns)
    return found


@dataclass(frozen=True)
class Rates:
    """A campaign's hourly rates: past ones with the last day of each, oldest first; today's; and approved periods."""

    past: tuple[tuple[date, Decimal], ...]
    now: Decimal | None
    approved: tuple[ApprovedPeriod, ...] = ()

    @classmethod
    def of(cls, campaign: Campaign) -> Rates:
        # One question for both: each past rate comes beside each approved period, and there are few of either.
        names = ("pk", "first", "last", "rates", "currency", "at")
        columns = ("past_rates__last", "past_rates__hourly", *(f"approved_periods__{name}" for name in names))
        past: dict[date, Decimal] = {}
        approved: dict[int, ApprovedPeriod] = {}
        for last, hourly, pk, *fields in Campaign.objects.filter(pk=campaign.pk).values_list(*columns):
            if last is not None:
                past[last] = hourly
            if pk is not None:
                approved[pk] = ApprovedPeriod(pk=pk, **dict(zip(names[1:], fields, strict=True)))
        periods = sorted(approved.values(), key=lambda period: period.first)
        return cls(tuple(sorted(past.items())), campaign.hourly_rate, tuple(periods))

    def on(self, day: date) -> Decimal | None:
        """Return the rate of a day, or None if it has none."""
        if approved := approved_on(self.approved, day):
            return next(rate for first, last, rate in _stretches_of(approved) if first <= day <= last)
        return next((rate for last, rate in self.past if day <= last), self.now)

    def earned(self, days: Mapping[date, Worked]) -> Decimal | None:
        """Return the pay for the days, rounded half up to cents once, at the end; None if no day has a rate."""
        if self.now is None and not any(self.on(day) for day in days):
            return None
        return pay(sum((part.seconds * (self.on(day) or 0) for day, part in days.items()), Decimal(0)))

    def stretches(self, first: date, last: date) -> list[tuple[date, date]]:
        """Split the days where the rate changes, or approval begins or ends. Return the first and last day of each."""
        ends = {day for day, _ in self.past if approved_on(self.approved, day) is None}
        for period in self.approved:
            ends |= {period.first - ONE_DAY, *(last for _, last, _ in _stretches_of(period))}
        inside = sorted(day for day in ends if first <= day < last)
        return list(zip([first, *(day + ONE_DAY for day in inside)], [*inside, last], strict=True))


def approved_on(periods: Iterable[ApprovedPeriod], day: date) -> ApprovedPeriod | None:
    """Return the approved period that holds a day."""
    return next((period for period in periods if period.first <= day <= period.last), None)


def _stretches_of(period: ApprovedPeriod) -> list[tuple[date, date, Decimal | None]]:
    return [
        (date.fromisoformat(first), date.fromisoformat(last), None if rate is None else Decimal(rate))
        for first, last, rate in period.rates
    ]
