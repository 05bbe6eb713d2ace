"""The people of a campaign as its lead sees them: what each did and asks, invitations, and quiet checks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, Max, Q, Sum
from django.utils import timezone

from campaigns.accounts.mails import mail_invitation
from campaigns.models import Campaign, Invitation, Membership
from jobs.models import Job
from judging.models import Assignment, Question
from judging.models.judgement import QuestionQuerySet
from judging.quality.check_results import Checked, RecentChecks, Speed, recent_checks
from reports.hours import Worked, worked_by_day
from reports.own_work import Conversation, Part, conversations
from reports.pay import Period, worked_in
from reports.summaries import CurrentSummary

DAYS_SHOWN = 28
INVITATIONS_SHOWN = 300


@dataclass(frozen=True)
class PersonRow:
    member: Membership
    batches: int
    judgements: int
    last_seen: datetime | None
    month: Worked
    holds_since: datetime | None

    @property
    def is_imported(self) -> bool:
        """Whether the judgements are imported ratings, of which neither times nor batches are known."""
        return bool(self.judgements) and self.last_seen is None


def person_rows(campaign: Campaign, counted: CurrentSummary) -> list[PersonRow]:
    """Everybody with what they did so far, by worker number."""
    members = campaign.memberships.filter(same_as=None).select_related("user").order_by("worker")
    numbers = {key: rest for key, *rest in counted.counts["made"]} if counted.counts else {}
    work = _work(campaign)
    hours = worked_in(campaign, Period.of_month())
    return [
        PersonRow(
            member,
            work.get(member.pk, (0, None))[0],
            *_made(numbers.get(member.pk)),
            hours.get(member.pk, Worked()),
            work.get(member.pk, (0, None))[1],
        )
        for member in members
    ]


def _made(numbers: list[Any] | None) -> tuple[int, datetime | None]:
    """How many judgements, and when the last one was given."""
    number, last = numbers or (0, None)
    return number, datetime.fromisoformat(last) if last else None


def _work(campaign: Campaign) -> dict[int, tuple[int, datetime | None]]:
    """Return how many batches each member has submitted, and since when they hold one."""
    rows = Assignment.objects.filter(annotator__campaign=campaign).order_by().values_list("annotator")
    submitted = Count("pk", filter=Q(state=Assignment.State.SUBMITTED))
    held = Max("claimed", filter=Q(state=Assignment.State.LIVE))  # of the only one
    return {member: (number, since) for member, number, since in rows.annotate(n=submitted, since=held)}


def days_of(member: Membership) -> list[tuple[Any, Worked]]:
    """What the person did on each day of the last four weeks, newest first; days without work are left out."""
    end = timezone.now()
    return sorted(worked_by_day(member, end - timedelta(days=DAYS_SHOWN), end).items(), reverse=True)


def practised(member: Membership) -> dict[str, Any]:
    """The clips that the person practised with in the last four weeks, and how many of the hours went there."""
    since = timezone.now() - timedelta(days=DAYS_SHOWN)
    sums = member.practices.filter(at__gte=since).aggregate(clips=Count("pk"), seconds=Sum("seconds"))
    return {"clips": sums["clips"], "hours": (sums["seconds"] or 0.0) / 3600}


@dataclass(frozen=True)
class CheckRow:
    annotator: Membership
    checked: Checked | None
    recent: RecentChecks
    speed: Speed | None


def check_rows(campaign: Campaign, counted: CurrentSummary) -> list[CheckRow]:
    """Every annotator by worker number; check pairs in all and speeds are those that were counted last."""
    numbers = counted.counts or {"checked": [], "speeds": []}
    checked = {key: Checked(*rest) for key, *rest in numbers["checked"]}
    speeds = {key: Speed(*rest) for key, *rest in numbers["speeds"]}
    recent = recent_checks(campaign)
    annotators = campaign.memberships.annotators().select_related("user").order_by("worker")
    return [
        CheckRow(each, checked.get(each.pk), recent.get(each.pk, RecentChecks()), speeds.get(each.pk))
        for each in annotators
    ]


@dataclass(frozen=True)
class InvitationRow:
    invitation: Invitation
    is_open: bool
    job: Job | None  # that sends it

    @property
    def failed(self) -> str:
        """Why the mail was not sent, if its job has given up or waits to try again."""
        return self.job.error if self.job else ""


def invitation_rows(campaign: Campaign) -> list[InvitationRow]:
    """Return the open invitations, and of those that were sent by mail also the used ones, the newest first."""
    listed = Q(used__isnull=True) | ~Q(address="")
    found = list(
        campaign.invitations.filter(listed, withdrawn__isnull=True)
        .select_related("by__user", "used_by")
        .order_by("-pk")[:INVITATIONS_SHOWN]
    )
    open_ones = set(campaign.invitations.open().values_list("pk", flat=True))
    mailed = [each for each in found if each.address]
    jobs = {job.row: job for job in mail_invitation.jobs(mailed)}
    rows = [InvitationRow(each, each.pk in open_ones, jobs.get(each.pk)) for each in found]
    return [row for row in rows if row.is_open or row.invitation.used]


@dataclass(frozen=True)
class QuestionRow:
    """A question that waits, with what was written before it in the same conversation."""

    question: Question
    before: list[Part]

    @property
    def address_kind(self) -> str:
        """The kind of its pair's batch, which says whether the batch has a page for leads."""
        pair = self.question.candidate
        return pair.batch.kind if pair and pair.batch else ""


def questions_with_pairs() -> QuestionQuerySet:
    """Return all questions, each with what a lead reads beside it."""
    names = ("annotator__user", "query", "candidate__batch", "candidate__clip", "candidate__moment__video", "answer")
    return Question.objects.select_related(*names, "handled_by__user")


def question_rows(questions: Iterable[Question]) -> list[QuestionRow]:
    """Return the questions, each with the conversation before it."""
    questions = list(questions)
    people = {each.annotator for each in questions}
    written = [each for person in people for each in conversations(person)]
    return [QuestionRow(each, _before(each, written)) for each in questions]


def _before(question: Question, written: list[Conversation]) -> list[Part]:
    own = next(each for each in written if question in each.questions)
    return own.parts[: [part.written for part in own.parts].index(question)]
