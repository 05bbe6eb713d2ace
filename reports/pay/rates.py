"""Hourly rates. A new rate holds from the day on which it is set; earlier days keep the rate that they had.

A lead may apply a new rate to earlier days, too, but not to days whose pay is approved.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal

from campaigns.models import Campaign
from reports.models import ApprovedPeriod
from reports.pay.hours import Worked, pay

ONE_DAY = timedelta(days=1)


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
        """Split the days from first to last where the rate changes or approval begins or ends.

        Return the first and the last day of each part.
        """
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
