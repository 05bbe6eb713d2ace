"""What an annotator reads about herself: hours, earnings, agreement in words, and messages. All work is one kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from django.db.models import F
from django.db.models.functions import Abs
from django.utils import timezone
from django.utils.translation import gettext as _

from annotate.handed_out import progress
from campaigns.models import Membership
from judging.models import Candidate, Judgement, Kind
from reports.pay.hours import Worked, total, worked_by_day
from reports.pay.rates import Rates

DAYS = 14
COMPARED, FEWEST = (
    100,
    20,
)  # newest settled pairs that the words about agreement are from, and the fewest for any
CLOSE = 1  # grades from the final one


@dataclass(frozen=True)
class Row:
    """Some time's work as the annotator reads it."""

    worked: Worked
    time: str
    earned: str
    day: date | None = None


def home(member: Membership) -> dict[str, Any]:
    """What stands under the button."""
    monday = _midnight(timezone.localdate() - timedelta(days=timezone.localdate().weekday()))
    week = worked_by_day(member, monday, _tomorrow())
    return progress(member) | {
        "week": _row(member, Rates.of(member.campaign), week),
        "agreement": agreement(member),
        "inbox": member.messages.unread().order_by("-at", "-pk"),
    }


def fortnight(member: Membership) -> dict[str, Any]:
    """The days of the last two weeks on which something was done, newest first; their sum; and rates of before."""
    first = timezone.localdate() - timedelta(days=DAYS - 1)
    days, rates = worked_by_day(member, _midnight(first), _tomorrow()), Rates.of(member.campaign)
    return {
        "days": [_row(member, rates, {day: days[day]}, day) for day in sorted(days, reverse=True)],
        "all": _row(member, rates, days),
        "earlier_rates": [(last, rate) for last, rate in rates.past if last >= first],
    }


def agreement(member: Membership) -> str:
    """How her grades compare with the final ones, in words and never in numbers."""
    settled = Judgement.objects.filter(annotator=member, seat__isnull=False, candidate__query__kind=Kind.POOL)
    settled = settled.filter(candidate__outcome=Candidate.Outcome.SETTLED)
    apart = settled.order_by("-assignment__submitted", "-pk").values_list(
        Abs(F("grade") - F("candidate__grade")), flat=True
    )[:COMPARED]
    close = [distance <= CLOSE for distance in apart]
    if len(close) < FEWEST:
        return _("It is too early to say how your grades compare with the final ones.")
    share = sum(close) / len(close)
    if share >= 0.9:
        return _("Nearly all of your recent grades are close to the final ones.")
    if share >= 0.75:
        return _("Most of your recent grades are close to the final ones.")
    return _(
        "Many of your recent grades are some way from the final ones. The guideline may help, and so may your lead."
    )


def _row(member: Membership, rates: Rates, days: Mapping[date, Worked], day: date | None = None) -> Row:
    worked = total(days.values())
    hours, minutes = worked.hours_and_minutes
    time = _("%(hours)d h %(minutes)02d min") % {"hours": hours, "minutes": minutes}
    pay = rates.earned(days)
    earned = "" if pay is None else f"{pay:,.2f} {member.campaign.currency}".strip()
    return Row(worked, time, earned, day)


def _midnight(day: date) -> datetime:
    return timezone.make_aware(datetime(day.year, day.month, day.day))


def _tomorrow() -> datetime:
    return _midnight(timezone.localdate() + timedelta(days=1))
