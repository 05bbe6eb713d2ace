"""Hourly rates. A new rate holds from the day on which it is set; earlier days keep the rate that they had."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal

from django.utils import timezone

from campaigns.models import Campaign, PastRate
from reports.pay.hours import Worked, pay


@dataclass(frozen=True)
class Rates:
    """A campaign's hourly rates: past ones with the last day of each, oldest first, and today's."""

    past: tuple[tuple[date, Decimal], ...]
    now: Decimal | None

    @classmethod
    def of(cls, campaign: Campaign) -> Rates:
        rows = campaign.past_rates.order_by("last").values_list("last", "hourly")
        return cls(tuple(rows), campaign.hourly_rate)

    def on(self, day: date) -> Decimal | None:
        """Return the rate of a day, or None if it has none."""
        return next((rate for last, rate in self.past if day <= last), self.now)

    def earned(self, days: Mapping[date, Worked]) -> Decimal | None:
        """Return the pay for the days, rounded half up to cents once, at the end; None if no day has a rate."""
        if self.now is None and not any(self.on(day) for day in days):
            return None
        return pay(sum((part.seconds * (self.on(day) or 0) for day, part in days.items()), Decimal(0)))

    def stretches(self, first: date, last: date) -> list[tuple[date, date]]:
        """Split the days from first to last where the rate changes. Return the first and last day of each part."""
        ends = [day for day, _ in self.past if first <= day < last]
        starts = [first, *(day + timedelta(days=1) for day in ends)]
        return list(zip(starts, [*ends, last], strict=True))


def store_past_rate(campaign: Campaign, before: Decimal | None, all_days: bool) -> None:
    """Store the rate before a change, so that days before today keep it. With `all_days`, all days get the new rate."""
    if all_days:
        campaign.past_rates.all().delete()
    elif before is not None and before != campaign.hourly_rate:
        yesterday = timezone.localdate() - timedelta(days=1)
        PastRate.objects.get_or_create(campaign=campaign, last=yesterday, defaults={"hourly": before})
