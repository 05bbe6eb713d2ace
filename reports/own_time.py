"""The time of an annotator's day, batch by batch and clip by clip: what is measured, what counts, and why less."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from django.db.models import Sum
from django.db.models.functions import Coalesce
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from base.dates import start_of_day
from campaigns.models import Membership
from judging.models import Assignment, Flag, Kind, ListTime, Revision
from judging.work.saving import left_at_place
from judging.work.submitting import LIST_SECONDS
from reports.hours import PRACTICE_SHARE

TINY = 0.0005  # seconds; they are sent in milliseconds
BY_CLOCK = gettext_lazy("More than the clock allows since your batch was opened.")


@dataclass(frozen=True)
class Time:
    """The active seconds at one place, or in the list of clips: measured, and counted."""

    position: int | None  # None for the list of clips
    reported: float
    seconds: float
    why: str = ""  # less counts than was measured


@dataclass(frozen=True)
class BatchTime:
    """The active seconds of one batch on one day."""

    query: str
    times: list[Time]

    @property
    def clips(self) -> int:
        return sum(time.position is not None for time in self.times)

    @property
    def reported(self) -> float:
        return sum(time.reported for time in self.times)

    @property
    def seconds(self) -> float:
        return sum(time.seconds for time in self.times)


@dataclass(frozen=True)
class DayTime:
    """The active seconds of one day: of its batches, and of practice."""

    day: date
    batches: list[BatchTime]
    practice: Time | None


@dataclass(frozen=True)
class _Press:
    at: datetime
    reported: float
    seconds: float


def time_on(member: Membership, day: date) -> DayTime:
    """Return the member's time on a day, in the time zone of the pages."""
    batches = batches_on(member, day)
    return DayTime(day, batches, practice_on(member, day, sum(batch.seconds for batch in batches)))


def batches_on(member: Membership, day: date) -> list[BatchTime]:
    """Return the time of each batch on which the member worked on a day, without rounds of an exam that is not paid."""
    paid = set(member.sittings.filter(is_paid=True).values_list("round", flat=True))
    recent = member.assignments.saved_since(start_of_day(day)).alone().order_by("claimed")
    held = recent.filter(claimed__lt=start_of_day(day, later=1)).select_related("batch__query")
    assignments = [each for each in held if each.batch.kind != Kind.EXAM or each.round in paid]
    presses, lists = _presses(member, assignments), defaultdict(list)
    for listed in ListTime.objects.filter(assignment__in=assignments):
        lists[listed.assignment_id].append(listed)
    found = []
    for assignment in assignments:
        times = list(_times(assignment, day, presses))
        in_list = [each for each in lists[assignment.pk] if timezone.localdate(each.at) == day]
        times += [Time(None, each.reported, each.seconds, _why_in_list(each, assignment)) for each in in_list]
        if times:
            found.append(BatchTime(assignment.batch.query.text, times))
    return found


def practice_on(member: Membership, day: date, judged: float) -> Time | None:
    """Return the time of the day's practice, given the seconds that judging counts on it; None without practice."""
    on_day = member.practices.filter(at__gte=start_of_day(day), at__lt=start_of_day(day, later=1))
    reported, seconds = on_day.filter(seconds__isnull=False).aggregate(r=Sum("reported"), s=Sum("seconds")).values()
    if not reported:
        return None
    most = float(PRACTICE_SHARE) * judged
    share = _("At most {share} of the day's judging counts.").format(share=f"{PRACTICE_SHARE:.0%}")
    return Time(None, reported, min(seconds, most), share if seconds > most else "")


def _presses(member: Membership, assignments: list[Assignment]) -> dict[int, list[_Press]]:
    """Return the measured presses of the assignments' candidates, in their order, by candidate."""
    candidates = {candidate for each in assignments for candidate in each.places}
    of_grades = {"judgement__annotator": member, "judgement__candidate__in": candidates}
    of_flags = {"assignment__annotator": member, "candidate__in": candidates}
    found: dict[int, list[_Press]] = defaultdict(list)
    for rows, candidate in (
        (Revision.objects.filter(**of_grades), "judgement__candidate"),
        (Flag.recorded.filter(**of_flags), "candidate"),
    ):
        measured = rows.filter(seconds__isnull=False).annotate(measured=Coalesce("reported", "seconds"))
        for key, *numbers in measured.values_list(candidate, "at", "measured", "seconds"):
            found[key].append(_Press(*numbers))
    return {key: sorted(presses, key=lambda press: press.at) for key, presses in found.items()}


def _times(assignment: Assignment, day: date, presses: dict[int, list[_Press]]) -> Iterator[Time]:
    """Yield the time of each place on the day."""
    for position, (candidate, limit) in enumerate(zip(assignment.places, assignment.limits, strict=True), 1):
        before = reported = seconds = 0.0
        reasons: dict[str, Any] = {}
        for press in presses.get(candidate, ()):
            if timezone.localdate(press.at) == day:
                reported, seconds = reported + press.reported, seconds + press.seconds
                reasons |= dict.fromkeys(_why(press, limit, before))
            before += press.seconds
        if reported:
            yield Time(position, reported, seconds, " ".join(reasons))


def _why(press: _Press, limit: float, before: float) -> Iterator[str]:
    """Yield why less of a press counts than was measured, given its limit and what counted at its place before."""
    if press.seconds > press.reported - TINY:
        return
    if press.seconds < min(press.reported, left_at_place(limit, before)) - TINY:
        yield str(BY_CLOCK)
    elif press.seconds > limit - TINY:
        yield _("One grade or flag of this clip counts at most {n} s.").format(n=f"{limit:.0f}")
    else:
        yield _("This clip counts at most {n} s, with all changes.").format(n=f"{2 * limit:.0f}")


def _why_in_list(listed: ListTime, assignment: Assignment) -> str:
    if listed.seconds > listed.reported - TINY:
        return ""
    most = LIST_SECONDS * len(assignment.places)
    if listed.seconds > most - TINY:
        return _("The list of clips counts at most {n} s.").format(n=most)
    return str(BY_CLOCK)
