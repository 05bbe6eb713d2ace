"""What annotators read about themselves: hours, earnings, agreement in words, the exam, and messages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from django.db.models import F, OuterRef, Subquery
from django.db.models.functions import Abs
from django.utils import timezone
from django.utils.translation import gettext as _

from campaigns.guideline_text import LEVELS
from campaigns.models import Membership
from corpus.models import Clip
from judging.models import Assignment, Candidate, Judgement, Kind, Revision, Sitting
from judging.quality.exam import pairs_that_came_back, reason_for
from reports.hours import Rates, Worked, total, worked_by_day

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
    pay = rates.earned(days)
    earned = "" if pay is None else f"{pay:,.2f} {member.campaign.currency}".strip()
    return WorkRow(worked, time, earned, day)


def _midnight(day: date) -> datetime:
    return timezone.make_aware(datetime(day.year, day.month, day.day))


def _tomorrow() -> datetime:
    return _midnight(timezone.localdate() + timedelta(days=1))


def week_of(member: Membership) -> WorkRow:
    """Return the work of the present week."""
    monday = _midnight(timezone.localdate() - timedelta(days=timezone.localdate().weekday()))
    return _row(member, Rates.of(member.campaign), worked_by_day(member, monday, _tomorrow()))


@dataclass(frozen=True)
class CameBack:
    """A pair of the exam that came back, as its examinee sees it: never its truth."""

    query: str
    clip: Clip | None
    grade: int  # the examinee's own, at the end of the round
    reason: str

    @property
    def level(self) -> str:
        """What the grade is called."""
        return str(LEVELS[self.grade][0])


@dataclass(frozen=True)
class ExamResult:
    """How a round of an annotator's exam ended."""

    sitting: Sitting
    came_back: list[CameBack]
    goes_on: bool  # whether there is another round, in which these pairs are judged once more

    @property
    def right(self) -> int:
        """The number of pairs of the round that did not come back."""
        return self.sitting.pairs - self.sitting.missed


def last_round(member: Membership) -> Sitting | None:
    """Return the last round of the member's exam that is marked, or None."""
    return member.sittings.exclude(result=Sitting.Result.OPEN).last()


def has_just_marked(assignment: Assignment) -> bool:
    """Return whether submitting the assignment has ended a round of the exam that is marked already."""
    if assignment.batch.kind != Kind.EXAM:
        return False
    marked = assignment.annotator.sittings.exclude(result=Sitting.Result.OPEN)
    return marked.filter(round=assignment.round).exists()


def exam_result(member: Membership) -> ExamResult | None:
    """Return how the member's last marked round ended, or None if no round is marked yet."""
    if (sitting := last_round(member)) is None:
        return None
    in_round = Revision.objects.filter(judgement=OuterRef("pk"), at__lte=sitting.ended)
    own = Subquery(in_round.order_by("-press", "-number").values("grade")[:1])
    # In the order in which the annotator graded them, which does not follow ranks.
    grades = dict(pairs_that_came_back([member]).order_by("pk").values_list("candidate", own))
    by_key = Candidate.objects.select_related("query", "clip").in_bulk(grades)
    pairs = [
        CameBack(by_key[key].query.text, by_key[key].clip, grade, reason_for(by_key[key]))
        for key, grade in grades.items()
    ]
    goes_on = member.qualified is None and member.sittings.filter(result=Sitting.Result.OPEN, ended=None).exists()
    return ExamResult(sitting, pairs, goes_on)
