"""Approving the pay of a period, which then never changes."""

from __future__ import annotations

from datetime import date, timedelta

from django.db.models import QuerySet
from django.utils import timezone
from django.utils.formats import date_format

from base.errors import WrongState
from base.transactions import all_or_nothing, locked
from campaigns.models import Campaign, Membership
from reports.models import ApprovedDay, ApprovedPeriod
from reports.pay.periods import Period, days_in
from reports.pay.rates import Rates

AFTER = timedelta(minutes=5)  # until every press of the last day is stored, even one that waited for a lock


@all_or_nothing
def approve(lead: Membership, period: Period) -> ApprovedPeriod:
    """Approve the hours and the pay of a period, as they stand now. If that period is approved, return it.

    Raises
    ------
    WrongState
        If the period is not over, or holds some days that are approved already.
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
