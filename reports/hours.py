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

from django.db.models import CharField, Count, F, FloatField, IntegerField, Q, QuerySet, Sum, Value
from django.db.models.functions import Coalesce, TruncDate
from django.utils import timezone

from base.database import compiled_all
from campaigns.models import Campaign, Membership
from judging.models import Assignment, Flag, Kind, ListTime, Practice, Revision, Sitting
from reports.models import ApprovedPeriod

EVER = datetime(2000, 1, 1, tzinfo=UTC)  # earlier than any judgement
CENT, MILLISECOND = Decimal("0.01"), Decimal("0.001")
ONE_DAY = timedelta(days=1)
PRACTICE_SHARE = Decimal("0.1")
PRACTICE = "practice"  # beside the kinds of batches
SPENT: dict[str, Any] = {"counted": Sum("seconds"), "measured": Sum(Coalesce("reported", "seconds"))}
SENT = {"counted": Sum("seconds"), "measured": Sum("reported")}  # where browsers always report
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
    revisions = Revision.objects.filter(pk__in=between)
    return _grouped(revisions, start, end, annotator__campaign=campaign)


def worked_by_day(member: Membership, start: datetime, end: datetime) -> dict[date, Worked]:
    """Return what one member did on each day from `start` until before `end`."""
    revisions = Revision.objects.filter(judgement__assignment__in=member.assignments.saved_since(start))
    return {day: part for (_, day), part in _grouped(revisions, start, end, annotator=member).items()}


def judged_since(member: Membership, start: datetime) -> int:
    """Return the number of judgements that the member made since then, those of an exam only where it is paid."""
    own = Revision.objects.filter(
        number=1, at__gte=start, judgement__assignment__in=member.assignments.saved_since(start)
    )
    paid = member.sittings.filter(is_paid=True).values("round")
    return own.filter(
        ~Q(judgement__assignment__batch__kind=Kind.EXAM) | Q(judgement__assignment__round__in=paid)
    ).count()


def worked_in_assignment(assignment: Assignment) -> dict[date, Worked]:
    """Return what was done in one assignment on each day."""
    found: dict[date, Worked] = defaultdict(Worked)
    for day, *numbers in _days_of_assignment(assignment.pk, timezone.get_current_timezone_name()):
        found[day] += _part(*numbers)
    return dict(found)


@compiled_all
def _days_of_assignment(assignment: int, zone: str) -> QuerySet[Any, Any]:
    """Return the sums of an assignment's revisions, flags and list times by day in a time zone."""
    own = Assignment.objects.filter(Q(pk=assignment) | Q(joined_to=assignment)).values("pk")
    revisions = Revision.objects.filter(judgement__assignment__in=own)
    flags, lists = (model.filter(assignment__in=own) for model in (Flag.recorded, ListTime.objects))
    parts = [
        rows.annotate(day=TruncDate("at")).order_by().values_list("day").annotate(**NO_SUMS | sums)
        for rows, sums in ((revisions, SPENT | {"n_judgements": FIRST["judgements"]}), (flags, SPENT), (lists, SENT))
    ]
    return parts[0].union(*parts[1:], all=True)


def batches_done(member: Membership) -> int:
    """Return the number of batches that the member has submitted, those of an exam only where it is paid."""
    paid = member.sittings.filter(is_paid=True).values("round")
    return member.assignments.submitted().alone().filter(~Q(batch__kind=Kind.EXAM) | Q(round__in=paid)).count()


def total(parts: Iterable[Worked]) -> Worked:
    return sum(parts, Worked())


def _grouped(revisions: QuerySet[Any], start: datetime, end: datetime, **whose: Any) -> dict[tuple[int, date], Worked]:
    """Group work by member and day, in one statement. Seconds are rounded by day, so that months are sums of days."""
    parts, columns = [], ("who", "day", "kind", "round")
    for rows, assignment, at, sums in (
        (revisions.order_by(), "judgement__assignment__", "at", SPENT | {"n_judgements": FIRST["judgements"]}),
        (Flag.recorded, "assignment__", "at", SPENT),
        (ListTime.objects, "assignment__", "at", SENT),
        (Practice.objects.filter(seconds__isnull=False).order_by(), None, "at", SENT),  # else it is none of the hours
        (Assignment.objects.submitted().alone(), "", "submitted", {"n_batches": Count("pk")}),
    ):
        wanted = {f"{assignment or ''}{name}": value for name, value in whose.items()}
        in_time = rows.filter(**{f"{at}__gte": start, f"{at}__lt": end}, **wanted)
        by_day = in_time.annotate(day=TruncDate(at), **_whose(assignment))
        parts.append(by_day.values_list(*columns).annotate(**NO_SUMS | sums))
    judged: dict[tuple[int, date], Worked] = defaultdict(Worked)
    found = list(parts[0].union(*parts[1:], all=True))
    is_paid = _paid_rounds({who for who, _, kind, *_ in found if kind == Kind.EXAM})
    for who, day, kind, round, *numbers in found:
        if kind != PRACTICE and (kind != Kind.EXAM or (who, round) in is_paid):
            judged[who, day] += _part(*numbers)
    for who, day, kind, _, *numbers in found:
        if kind == PRACTICE:
            part, most = _part(*numbers), judged[who, day].seconds * PRACTICE_SHARE
            judged[who, day] += Worked(min(part.seconds, most.quantize(MILLISECOND, ROUND_HALF_UP)), part.reported)
    return dict(judged)


def _whose(assignment: str | None) -> dict[str, Any]:
    """Return the columns that say whose a row is and of which kind and round, given the path to its assignment.

    Practice has no assignment; an assignment has a round of its own.
    """
    if assignment is None:
        return {"who": F("annotator"), "kind": Value(PRACTICE, CharField()), "round": Value(0, IntegerField())}
    whose = {"who": F(f"{assignment}annotator"), "kind": F(f"{assignment}batch__kind")}
    return whose | ({"round": F(f"{assignment}round")} if assignment else {})


def _paid_rounds(members: set[int]) -> set[tuple[int, int]]:
    """Return the rounds of the members' exams that are paid, each as its member and number."""
    paid = Sitting.objects.filter(member__in=members, is_paid=True)
    return set(paid.values_list("member", "round")) if members else set()


def _part(counted: float | None = None, measured: float | None = None, judgements: int = 0, batches: int = 0) -> Worked:
    return Worked(_milliseconds(counted), _milliseconds(measured), judgements, batches)


def _milliseconds(seconds: float | None) -> Decimal:
    return Decimal(seconds or 0).quantize(MILLISECOND, ROUND_HALF_UP)


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
