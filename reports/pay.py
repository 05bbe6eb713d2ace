"""The hours and the pay of everybody in a period, as a table or CSV; and their approval, which makes them final."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from statistics import median
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone
from django.utils.formats import date_format

from base.dates import start_of_day
from base.errors import BadValue, WrongState
from base.text import harmless
from base.transactions import all_or_nothing, locked
from campaigns.models import Campaign, LogEntry, Membership, log
from reports.campaign_summaries import DAYS, last_summary
from reports.hours import MILLISECOND, Rates, Worked, approved_on, by_member, total, worked_by_day, worked_on_days
from reports.models import ApprovedDay, ApprovedPeriod

UNUSUAL = Decimal(2)  # times the median pace
MUCH_CUT = Decimal("0.2")  # of what browsers reported
FEWEST_JUDGEMENTS, FEWEST_ROWS = 20, 3  # for a pace to be compared
AFTER = timedelta(minutes=5)  # until every press of the last day is stored, even one that waited for a lock


@dataclass(frozen=True)
class Period:
    """The days from `first` to `last`, both included, in the time zone of the pages."""

    first: date
    last: date

    @classmethod
    def of_month(cls, day: date | None = None) -> Period:
        first = (day or timezone.localdate()).replace(day=1)
        return cls(first, (first + timedelta(days=31)).replace(day=1) - timedelta(days=1))

    @classmethod
    def between(cls, first: date | None = None, last: date | None = None) -> Period:
        """Return a period. The present month's first and last day are the defaults.

        Raise BadValue if a day is not of the years 2000 to 2200, or the period ends before it begins.
        """
        month = cls.of_month()
        period = cls(first or month.first, last or month.last)
        for field, day in (("from", period.first), ("to", period.last)):
            if not 2000 <= day.year <= 2200:
                raise BadValue(field, str(day), "a day between the years 2000 and 2200")
        if period.first > period.last:
            raise BadValue("to", str(period.last), f"a day not before {period.first}")
        return period

    @property
    def start(self) -> datetime:
        return start_of_day(self.first)

    @property
    def end(self) -> datetime:
        return start_of_day(self.last, later=1)

    @property
    def before(self) -> Period:
        """The month before the first day."""
        return Period.of_month(self.first.replace(day=1) - timedelta(days=1))

    @property
    def after(self) -> Period:
        return Period.of_month(self.last.replace(day=1) + timedelta(days=31))

    @property
    def query(self) -> str:
        return f"from={self.first}&to={self.last}"


Counted = tuple[dict[tuple[int, date], Worked], datetime | None]


def days_in(
    campaign: Campaign, period: Period, rates: Rates | None = None, counted: Counted | None = None
) -> dict[tuple[int, date], Worked]:
    """Return what each member did on each day: as approved, as counted by the last summary, or as it is now.

    The approved periods and the counted days are read if they are not given.
    """
    days, start = counted or days_counted(last_summary(campaign, DAYS))
    found = {key: part for key, part in days.items() if period.first <= key[1] <= period.last}
    if start is None or start < period.end:
        found |= worked_on_days(campaign, max(start or period.start, period.start), period.end)
    known = campaign.approved_periods.all() if rates is None else rates.approved
    approved = [each for each in known if each.first <= period.last and each.last >= period.first]
    found = {key: part for key, part in found.items() if approved_on(approved, key[1]) is None}
    rows = ApprovedDay.objects.filter(period__in=approved, day__gte=period.first, day__lte=period.last)
    kept = {(row.member_id, row.day): Worked(row.seconds, row.reported, row.judgements, row.batches) for row in rows}
    return found | kept


def days_of(member: Membership, first: date) -> dict[date, Worked]:
    """Return what one member did on each day from the first on: as counted by the last summary, or as it stands now."""
    days, counted = days_counted(last_summary(member.campaign, DAYS), member)
    start = Period(first, first).start
    found = {day: part for (_, day), part in days.items() if day >= first}
    return found | worked_by_day(member, max(counted or start, start), timezone.now())


def days_counted(summary: Any, only: Membership | None = None) -> Counted:
    """Return the days in a stored summary, of all members or of one, and the time before which it is complete.

    There are none without a summary, and in one that was computed in another time zone, where days are others.
    """
    if summary is None or summary["zone"] != timezone.get_current_timezone_name():
        return {}, None
    days = {
        (member, date.fromisoformat(day)): Worked(Decimal(seconds), Decimal(reported), judgements, batches)
        for member, day, seconds, reported, judgements, batches in summary["worked"]
        if only is None or member == only.pk
    }
    return days, datetime.fromisoformat(summary["before"])


@dataclass(frozen=True)
class PayRow:
    """What a member did in days that have the same hourly rate."""

    member: Membership
    period: Period
    worked: Worked
    rate: Decimal | None
    currency: str
    approved: ApprovedPeriod | None = None

    @property
    def pay(self) -> Decimal | None:
        return None if self.rate is None else self.worked.earned(self.rate)

    @property
    def pace(self) -> Decimal | None:
        """The seconds that counted for each judgement; None without a judgement."""
        return self.worked.seconds / self.worked.judgements if self.worked.judgements else None

    @property
    def cut_share(self) -> Decimal:
        return self.worked.cut_hours / self.worked.reported_hours if self.worked.reported else Decimal(0)


def pay_of(campaign: Campaign, period: Period, rates: Rates) -> list[PayRow]:
    """Return a row for each member and rate with work in the period, in the order of worker numbers.

    Approved days and others have rows of their own.
    """
    days = days_in(campaign, period, rates)
    members = campaign.memberships.select_related("user").in_bulk({member for member, _ in days})
    rows = []
    for first, last in rates.stretches(period.first, period.last):
        did = by_member({key: part for key, part in days.items() if first <= key[1] <= last})
        approved = approved_on(rates.approved, first)
        currency = approved.currency if approved else campaign.currency
        rest = (rates.on(last), currency, approved)
        some = (PayRow(members[key], Period(first, last), part, *rest) for key, part in did.items())
        rows += sorted(some, key=lambda row: row.member.worker)
    return rows


def sum_of(rows: list[PayRow]) -> tuple[Worked, Decimal | None]:
    """Return the sum of the work and of the pay. The pay is None if no row has a rate."""
    paid = [row.pay for row in rows if row.pay is not None]
    return total(row.worked for row in rows), sum(paid, Decimal(0)) if paid else None


def unusual(rows: list[PayRow]) -> list[str]:
    """Say of each row what is unusual about it, or nothing: its pace beside the others', or how much was cut.

    A pace is unusual if it is more than `UNUSUAL` times the median of all rows, or less than its inverse. It needs
    `FEWEST_JUDGEMENTS` in a row, and three such rows.
    """
    paces = {n: row.pace for n, row in enumerate(rows) if row.pace and row.worked.judgements >= FEWEST_JUDGEMENTS}
    usual = median(paces.values()) if len(paces) >= FEWEST_ROWS else None
    found = []
    for n, row in enumerate(rows):
        ratio = paces[n] / usual if usual and n in paces else 1
        words = [f"{row.cut_share:.0%} cut"] if row.cut_share > MUCH_CUT else []
        words += ["much slower than others"] if ratio > UNUSUAL else []
        words += ["much faster than others"] if ratio < 1 / UNUSUAL else []
        found.append(", ".join(words))
    return found


REST = ("rate", "currency", "pay", "approved")


def write_csv(out: Any, campaign: Campaign, period: Period, names: bool) -> None:
    """Write a line for each member and rate, with the worker number, and with the name only if `names` is set."""
    writer = csv.writer(out, lineterminator="\r\n")
    who = ["worker", "name"] if names else ["worker"]
    writer.writerow([*who, "from", "to", "batches", "judgements", "reported", "hours", "cut", *REST])
    for row in pay_of(campaign, period, Rates.of(campaign)):
        writer.writerow(map(harmless, _cells(row, names)))


def _cells(row: PayRow, names: bool) -> Iterator[object]:
    yield row.member.worker
    if names:
        yield row.member.user.get_full_name() or row.member.user.get_username()
    yield from (row.period.first, row.period.last, row.worked.batches, row.worked.judgements)
    for hours in (row.worked.reported_hours, row.worked.hours, row.worked.cut_hours):
        yield hours.quantize(MILLISECOND)
    yield from ("" if row.rate is None else row.rate, row.currency, "" if row.pay is None else row.pay)
    yield timezone.localdate(row.approved.at) if row.approved else ""


@all_or_nothing
def approve(lead: Membership, period: Period) -> ApprovedPeriod:
    """Approve the hours and the pay of a period, as they stand now. If that period is approved, return it.

    Raise WrongState if the period is not over, or holds some days that are approved already.
    """
    campaign = locked(Campaign.objects.filter(pk=lead.campaign_id)).get()
    for earlier in _overlapping(campaign, period):
        if (earlier.first, earlier.last) == (period.first, period.last):
            return earlier
        raise WrongState(
            f"The days from {_words(earlier.first)} to {_words(earlier.last)} are approved already. "
            "Choose a period without them."
        )
    if timezone.now() < period.end + AFTER:
        over = f"{_words(period.last)}, and five minutes have passed"
        raise WrongState(f"A period can be approved when it is over: after {over}.")
    log(lead, LogEntry.Kind.PAY, f"{_words(period.first)} to {_words(period.last)}", "not approved", "approved")
    return _store(campaign, lead, period)


def may_be_approved(campaign: Campaign, period: Period) -> bool:
    """Return whether `approve` would approve the period now."""
    return timezone.now() >= period.end + AFTER and not _overlapping(campaign, period).exists()


def _overlapping(campaign: Campaign, period: Period) -> QuerySet[ApprovedPeriod]:
    return campaign.approved_periods.filter(first__lte=period.last, last__gte=period.first)


def _store(campaign: Campaign, lead: Membership, period: Period) -> ApprovedPeriod:
    days, rates = days_in(campaign, period), Rates.of(campaign)
    parts = [(first, last, rates.on(last)) for first, last in rates.stretches(period.first, period.last)]
    approved = ApprovedPeriod.objects.create(
        campaign=campaign,
        first=period.first,
        last=period.last,
        rates=[[str(first), str(last), None if rate is None else str(rate)] for first, last, rate in parts],
        currency=campaign.currency,
        by=lead,
    )
    ApprovedDay.objects.bulk_create(
        ApprovedDay(
            period=approved,
            member_id=member,
            day=day,
            seconds=worked.seconds,
            reported=worked.reported,
            judgements=worked.judgements,
            batches=worked.batches,
        )
        for (member, day), worked in days.items()
    )
    return approved


def _words(day: date) -> str:
    return date_format(day, "j F Y")
