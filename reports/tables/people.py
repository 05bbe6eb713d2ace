"""The people of a campaign as its lead sees them: how far each has come, and what each did, asks and flags."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db.models import Count, Exists, Max, Min, OuterRef, Q, Sum, TextChoices
from django.db.models.functions import Now
from django.utils import timezone

from campaigns.accounts.mails import mail_invitation
from campaigns.models import Applicant, Campaign, Invitation, Membership
from campaigns.models.membership import MembershipQuerySet
from jobs.models import Job
from judging.models import Assignment, Batch, Candidate, Flag, Kind, Query, Question
from judging.models.judgement import QuestionQuerySet
from reports.hours import Worked, worked_by_day
from reports.own_work import Conversation, Part, conversations_of
from reports.pay import Period, worked_in
from reports.summaries import CurrentSummary
from reports.tables.batch import FlagRow, named

DAYS_SHOWN = 28
INVITATIONS_SHOWN = 300
IDLE_AFTER = timedelta(days=3)


class Stage(TextChoices):
    """How far somebody has come, from an invitation to the work."""

    ASKS = "asks", "asks to join"
    MADE = "made", "link made"
    SENDING = "sending", "being sent"
    FAILED = "failed", "not sent"
    SENT = "sent"
    OPENED = "opened", "link opened"
    EXPIRED = "expired", "link expired"
    JOINED = "joined"
    PASSED = "passed", "exam passed"
    BEGUN = "begun", "first batch done"
    IDLE = "idle", "idle for three days"
    PAUSED = "paused"
    LEFT = "left"


@dataclass(frozen=True)
class PersonRow:
    """Somebody who is a member, asks to join, or is invited; and what a member did so far."""

    stage: Stage
    since: datetime | None
    role: str
    member: Membership | None = None
    invitation: Invitation | None = None
    applicant: Applicant | None = None
    taken: int = 0  # places of a link for several people
    failed: str = ""  # why the mail was not sent
    batches: int = 0
    judgements: int = 0
    last_seen: datetime | None = None
    month: Worked = field(default_factory=Worked)
    holds_since: datetime | None = None

    @property
    def name(self) -> str:
        """What a member or an applicant is called here; of who is only invited, how the lead calls the person."""
        user = self.member.user if self.member else self.applicant.user if self.applicant else None
        return user.get_username() if user else self.invited_as

    @property
    def invited_as(self) -> str:
        return self.invitation.name if self.invitation else ""

    @property
    def address(self) -> str:
        """Where the invitation goes."""
        return self.invitation.address if self.invitation else ""

    @property
    def group(self) -> str:
        return self.invitation.group if self.invitation else ""

    @property
    def is_open(self) -> bool:
        """Whether there is an invitation that somebody can use."""
        return self.member is None and self.applicant is None and not self.is_expired

    @property
    def is_expired(self) -> bool:
        return self.stage == Stage.EXPIRED

    @property
    def is_mailed(self) -> bool:
        """Whether the invitation goes by mail, and can be sent again."""
        return self.is_open and bool(self.address) and self.invitation is not None and not self.invitation.by_hand

    @property
    def is_imported(self) -> bool:
        """Whether the judgements are imported ratings, of which neither times nor batches are known."""
        return bool(self.judgements) and self.last_seen is None


def people_rows(campaign: Campaign, counted: CurrentSummary) -> list[PersonRow]:
    """Return who asks to join, then the members by worker number, then who is invited, the newest first."""
    invitations = list(campaign.invitations.order_by("-pk"))
    several = [each for each in invitations if each.places]
    those = Applicant.objects.holding_a_place().filter(invitation__in=several)
    applicants = list(those.select_related("user", "invitation"))
    came_by = {each.user_id: each.invitation for each in applicants if each.approved}
    came_by |= {each.used_by_id: each for each in invitations if each.used_by_id}
    waiting = [each for each in applicants if each.approved is None]
    asks = [
        PersonRow(Stage.ASKS, each.at, each.invitation.role, invitation=each.invitation, applicant=each)
        for each in waiting
    ]
    return [*asks, *_members(campaign, counted, came_by), *_invited(invitations, applicants)]


def _members(campaign: Campaign, counted: CurrentSummary, came_by: dict[int, Invitation]) -> Iterator[PersonRow]:
    members = campaign.memberships.filter(same_as=None).select_related("user").order_by("worker")
    numbers = {key: rest for key, *rest in counted.counts["made"]} if counted.counts else {}
    work, hours = _work(campaign), worked_in(campaign, Period.of_month())
    for member in members:
        own = work[member.pk]
        judgements, last_seen = _made(numbers.get(member.pk))
        stage, since = _stage_of(member, own)
        yield PersonRow(
            stage,
            since,
            member.role,
            member=member,
            invitation=came_by.get(member.user_id),
            batches=own.batches,
            judgements=judgements,
            last_seen=last_seen,
            month=hours.get(member.pk, Worked()),
            holds_since=own.holds_since,
        )


def _stage_of(member: Membership, work: Work) -> tuple[Stage, datetime | None]:
    """Return how far a member has come, and since when, as far as that is known."""
    if not member.is_active:
        return Stage(member.state), None
    if work.is_idle:
        return Stage.IDLE, max(filter(None, (member.joined, work.last_claimed, work.last_submitted)))
    if work.first_submitted:
        return Stage.BEGUN, work.first_submitted
    return (Stage.PASSED, member.qualified) if member.qualified else (Stage.JOINED, member.joined)


def _invited(invitations: list[Invitation], applicants: list[Applicant]) -> Iterator[PersonRow]:
    """Return the invitations that nobody has used: open ones, and also expired ones of people who are named."""
    now = timezone.now()
    unused = [each for each in invitations if not each.used and not each.withdrawn]
    unused = [each for each in unused if each.seed or each.expires > now][:INVITATIONS_SHOWN]
    mailed = [each for each in unused if each.seed and not each.by_hand]
    jobs = {job.row: job for job in mail_invitation.jobs(mailed)}
    taken = defaultdict[int, int](int)
    for applicant in applicants:
        taken[applicant.invitation_id] += 1
    for each in unused:
        job = jobs.get(each.pk)
        stage, since = _stage_of_invitation(each, job, is_over=each.expires <= now)
        failed = job.error if job and stage == Stage.FAILED else ""
        yield PersonRow(stage, since, each.role, invitation=each, taken=taken[each.pk], failed=failed)


def _stage_of_invitation(each: Invitation, job: Job | None, is_over: bool) -> tuple[Stage, datetime | None]:
    if is_over:
        return Stage.EXPIRED, each.expires
    if each.opened:
        return Stage.OPENED, each.opened
    if each.by_hand or not each.seed:
        return Stage.MADE, each.at
    if job and job.error:  # given up, or it waits to be tried again
        return Stage.FAILED, None
    return (Stage.SENT, each.sent) if each.sent else (Stage.SENDING, None)


def idle_annotators() -> MembershipQuerySet:
    """Return the annotators who have taken and submitted nothing for three days, although their campaign has work.

    Those who wait to be told of work are not among them.
    """
    since = Now() - IDLE_AFTER
    recent = Q(claimed__gt=since) | Q(submitted__gt=since)
    worked = Assignment.objects.filter(recent, annotator=OuterRef("pk"))
    work = Batch.objects.filter(campaign=OuterRef("campaign"), kind=Kind.POOL, state=Batch.State.OPEN)
    active = Membership.objects.annotators().filter(state=Membership.State.ACTIVE, waits=None, same_as=None)
    long_here = active.filter(joined__lt=since, campaign__imported=None)
    return long_here.filter(Exists(work), ~Exists(worked))


def _made(numbers: list[Any] | None) -> tuple[int, datetime | None]:
    """How many judgements, and when the last one was given."""
    number, last = numbers or (0, None)
    return number, datetime.fromisoformat(last) if last else None


class Work(NamedTuple):
    """What a member took and submitted."""

    batches: int
    holds_since: datetime | None
    first_submitted: datetime | None
    last_submitted: datetime | None
    last_claimed: datetime | None
    is_idle: bool


def _work(campaign: Campaign) -> dict[int, Work]:
    submitted = Q(assignments__state=Assignment.State.SUBMITTED)
    held = Q(assignments__state=Assignment.State.LIVE)  # the only one
    rows = campaign.memberships.order_by().values_list("pk")
    found = rows.annotate(
        n=Count("assignments", filter=submitted),
        since=Max("assignments__claimed", filter=held),
        first=Min("assignments__submitted", filter=submitted),
        last=Max("assignments__submitted"),
        claim=Max("assignments__claimed"),
        idle=Exists(idle_annotators().filter(pk=OuterRef("pk"))),
    )
    return {member: Work(*numbers) for member, *numbers in found}


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
class QuestionRow:
    """A question that waits, with what was written before it in the same conversation."""

    question: Question
    before: list[Part]


def questions_with_pairs() -> QuestionQuerySet:
    """Return all questions, each with what a lead reads beside it."""
    names = ("annotator__user", "query", "candidate__batch", "candidate__clip", "candidate__moment__video", "answer")
    return Question.objects.select_related(*names, "handled_by__user")


class Subject(NamedTuple):
    """What flags and questions are about: a pair, a query, or nothing in particular, and then one question."""

    kind: str
    pk: int


@dataclass(frozen=True)
class Thread:
    """The flags and questions about one thing that wait for a lead."""

    flags: list[FlagRow]
    questions: list[QuestionRow]

    @property
    def candidate(self) -> Candidate | None:
        return self.flags[0].flag.candidate if self.flags else self.questions[0].question.candidate

    @property
    def query(self) -> Query | None:
        return self.flags[0].flag.candidate.query if self.flags else self.questions[0].question.query

    @property
    def address_kind(self) -> str:
        """The kind of the pair's batch, which says whether the batch has a page for leads."""
        pair = self.candidate
        return pair.batch.kind if pair and pair.batch else ""


def waiting_subjects(reader: Membership) -> list[Subject]:
    """Return what flags and questions wait about, by the oldest of each. Questions are for leads alone."""
    first: dict[Subject, datetime] = {}
    flags = Flag.objects.waiting(reader.campaign).values_list("candidate", "at")
    found = [(Subject("pair", candidate), at) for candidate, at in flags]
    if reader.may_review:
        rows = Question.objects.waiting(reader.campaign).values_list("pk", "candidate_id", "query_id", "at")
        found += [(_subject(pk, candidate, query), at) for pk, candidate, query, at in rows]
    for subject, at in found:
        first[subject] = min(at, first.get(subject, at))
    return sorted(first, key=lambda each: (first[each], each))


def _subject(question: int, candidate: int | None, query: int | None) -> Subject:
    if candidate:
        return Subject("pair", candidate)
    return Subject("query", query) if query else Subject("question", question)


def threads(subjects: Iterable[Subject], reader: Membership) -> list[Thread]:
    """Return the flags and questions that wait about each of these."""
    subjects = list(subjects)
    keys = {kind: [each.pk for each in subjects if each.kind == kind] for kind in ("pair", "query", "question")}
    flags = Flag.objects.waiting(reader.campaign).filter(candidate__in=keys["pair"]).order_by("at", "pk")
    names = ("candidate__query", "candidate__clip", "candidate__batch", "candidate__moment__video")
    of_subject: dict[Subject, Thread] = {each: Thread([], []) for each in subjects}
    for flag in flags.select_related(*names, "assignment__annotator__user"):
        of_subject[Subject("pair", flag.candidate_id)].flags.append(
            FlagRow(flag, named(flag.assignment.annotator, reader))
        )
    if reader.may_review:
        about = Q(candidate__in=keys["pair"]) | Q(candidate=None, query__in=keys["query"]) | Q(pk__in=keys["question"])
        for row in question_rows(questions_with_pairs().waiting(reader.campaign).filter(about).order_by("at", "pk")):
            each = row.question
            of_subject[_subject(each.pk, each.candidate_id, each.query_id)].questions.append(row)
    return [each for each in of_subject.values() if each.flags or each.questions]


def question_rows(questions: Iterable[Question]) -> list[QuestionRow]:
    """Return the questions, each with the conversation before it."""
    questions = list(questions)
    written = conversations_of({each.annotator for each in questions})
    return [QuestionRow(each, _before(each, written)) for each in questions]


def _before(question: Question, written: list[Conversation]) -> list[Part]:
    own = next(each for each in written if question in each.questions)
    return own.parts[: [part.written for part in own.parts].index(question)]
