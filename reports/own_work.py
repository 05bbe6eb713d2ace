"""What annotators read about themselves: hours, earnings, agreement in words, and messages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from django.db.models import F
from django.db.models.functions import Abs
from django.utils import timezone
from django.utils.translation import gettext as _

from campaigns.models import Membership
from judging.models import Assignment, Candidate, Judgement, Kind
from reports.hours import Rates, Worked, total, worked_by_day, worked_in_assignment

DAYS = 14
COMPARED = 100  # newest settled pairs that the words about agreement are based on
FEWEST = 20  # pairs below which nothing is said about agreement
CLOSE = 1  # grades from the final one


@dataclass(frozen=True)
class WorkRow:
    """The work of a day or a period, as the annotator reads it."""

    worked: Worked
    time: str
    earned: str
    day: date | None = None


def fortnight(member: Membership) -> dict[str, Any]:
    """The days of the last two weeks with work, newest first; their total; and earlier hourly rates."""
    first = timezone.localdate() - timedelta(days=DAYS - 1)
    days, rates = worked_by_day(member, _midnight(first), _tomorrow()), Rates.of(member.campaign)
    return {
        "days": [_row(member, rates, {day: days[day]}, day) for day in sorted(days, reverse=True)],
        "total": _row(member, rates, days),
        "earlier_rates": [(last, rate) for last, rate in rates.past if last >= first],
    }


def done_in(assignment: Assignment) -> dict[str, Any]:
    """What an assignment counts: its seconds, and what they earn in words, empty if no day of it has a rate."""
    days = worked_in_assignment(assignment)
    return {"seconds": float(total(days.values()).seconds), "earned": _money(assignment.annotator, days)}


def agreement(member: Membership) -> str:
    """How the annotator's grades compare with the final ones, in words and never in numbers."""
    # The annotator and the state of the assignment are those that an index has in the order of submission.
    newest = {"assignment__annotator": member, "assignment__state": Assignment.State.SUBMITTED}
    settled = Judgement.objects.filter(**newest, seat__isnull=False, assignment__batch__kind=Kind.POOL)
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
        "Many of your recent grades are far from the final ones. Please read the guideline again, or ask your lead."
    )


def _row(member: Membership, rates: Rates, days: Mapping[date, Worked], day: date | None = None) -> WorkRow:
    worked = total(days.values())
    hours, minutes = worked.hours_and_minutes
    time = _("%(hours)d h %(minutes)02d min") % {"hours": hours, "minutes": minutes}
    return WorkRow(worked, time, _money(member, days, rates), day)


def _money(member: Membership, days: Mapping[date, Worked], rates: Rates | None = None) -> str:
    pay = (rates or Rates.of(member.campaign)).earned(days)
    return "" if pay is None else f"{pay:,.2f} {member.campaign.currency}".strip()


def _midnight(day: date) -> datetime:
    return timezone.make_aware(datetime(day.year, day.month, day.day))


def _tomorrow() -> datetime:
    return _midnight(timezone.localdate() + timedelta(days=1))


def week_of(member: Membership) -> WorkRow:
    """Return the work of the present week."""
    monday = _midnight(timezone.localdate() - timedelta(days=timezone.localdate().weekday()))
    return _row(member, Rates.of(member.campaign), worked_by_day(member, monday, _tomorrow()))
