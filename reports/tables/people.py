"""The people of a campaign as its lead sees them: how far each has come, and what each did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from operator import attrgetter
from typing import Any

from django import forms
from django.db.models import Count, Exists, OuterRef, Q, Sum, TextChoices
from django.db.models.functions import Now
from django.utils import timezone

from base.listing import Column, Listing
from campaigns.mails import mail_invitation
from campaigns.models import Applicant, Campaign, Invitation, Membership
from campaigns.models.membership import LONGEST_GROUP
from jobs.models import Job
from judging.models import Assignment, Batch, Kind, Sitting
from reports.campaign_summaries import CurrentSummary
from reports.pay import Period

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
    hours: float = 0.0  # of this month

    def __str__(self) -> str:
        return self.name

    @property
    def worker(self) -> int | None:
        return self.member.worker if self.member else None

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
        found = self.member or self.invitation
        return found.group if found else ""

    @property
    def sees_all(self) -> bool:
        """Whether it is another role than an annotator's."""
        return self.role in Membership.SEES_ALL

    @property
    def far(self) -> int:
        """How far the person has come, as a number that sorts."""
        return list(Stage).index(self.stage)

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


class PeopleFilters(forms.Form):
    """The filters of the list of people."""

    q = forms.CharField(required=False, max_length=200, label="Name", help_text="part of a name or an address")
    role = forms.ChoiceField(required=False, choices=[("", "all"), *Membership.Role.choices], label="Role")
    stage = forms.ChoiceField(required=False, choices=[("", "all"), *Stage.choices], label="State")
    group = forms.CharField(required=False, max_length=LONGEST_GROUP, label="Group")


def _named(rows: list[PersonRow], words: str) -> list[PersonRow]:
    return [row for row in rows if words.lower() in f"{row.name}\n{row.invited_as}\n{row.address}".lower()]


SORTED_BY = {name: name for name in ("worker", "name", "address", "role", "group")}
SORTED_BY |= {"stage": "far", "since": "since", "batches": "batches", "judgements": "judgements", "hours": "hours"}
SORTED_BY |= {"last": "last_seen"}
PEOPLE_LIST = Listing(
    "people",
    tuple(Column(key, key.capitalize(), attrgetter(by), by=by) for key, by in SORTED_BY.items()),
    PeopleFilters,
    {
        "q": _named,
        "role": lambda rows, role: [row for row in rows if row.role == role],
        "stage": lambda rows, stage: [row for row in rows if row.stage == stage],
        "group": lambda rows, group: [row for row in rows if row.group == group],
    },
)


def invited_rows(campaign: Campaign) -> list[PersonRow]:
    """Return who asks to join, then who is invited, the newest first."""
    asks, invited, _ = _by_invitations(campaign)
    return [*asks, *invited]


def people_rows(campaign: Campaign, counted: CurrentSummary) -> list[PersonRow]:
    """Return who asks to join, then the members by worker number, then who is invited, the newest first."""
    asks, invited, came_by = _by_invitations(campaign)
    return [*asks, *_members(campaign, counted, came_by), *invited]


def _by_invitations(campaign: Campaign) -> tuple[list[PersonRow], list[PersonRow], dict[int, Invitation]]:
    """Return who asks to join, who is invited, and by which invitation each person who joined came."""
    invitations = list(campaign.invitations.order_by("-pk"))
    several = [invitation for invitation in invitations if invitation.places]
    those = Applicant.objects.holding_a_place().filter(invitation__in=several).select_related("user")
    applicants = list(those) if several else []
    for applicant in applicants:
        applicant.invitation = next(each for each in several if each.pk == applicant.invitation_id)
    came_by = {applicant.user_id: applicant.invitation for applicant in applicants if applicant.approved}
    came_by |= {invitation.used_by_id: invitation for invitation in invitations if invitation.used_by_id}
    waiting = [applicant for applicant in applicants if applicant.approved is None]
    asks = [
        PersonRow(Stage.ASKS, each.at, each.invitation.role, invitation=each.invitation, applicant=each)
        for each in waiting
    ]
    return asks, list(_invited(invitations, applicants)), came_by


def _members(campaign: Campaign, counted: CurrentSummary, came_by: dict[int, Invitation]) -> Iterator[PersonRow]:
    counts = counted.counts or {}
    made, work = ({key: rest for key, *rest in counts.get(name, ())} for name in ("made", "work"))
    is_of_month = counts.get("since") == timezone.localdate().replace(day=1).isoformat()
    seconds = dict(counts["month"]) if is_of_month else {}
    members: Any = campaign.memberships.filter(same_as=None).select_related("user").annotate(is_idle=is_idle())
    for member in members.order_by("worker"):
        batches, *times = work.get(member.pk, (0, None, None, None))
        first, *last = (datetime.fromisoformat(time) if time else None for time in times)
        judgements, last_seen = made.get(member.pk, (0, None))
        stage, since = _stage_of(member, first, max(filter(None, (member.joined, *last))), member.is_idle)
        yield PersonRow(
            stage,
            since,
            member.role,
            member=member,
            invitation=came_by.get(member.user_id),
            batches=batches,
            judgements=judgements,
            last_seen=datetime.fromisoformat(last_seen) if last_seen else None,
            hours=round(seconds.get(member.pk, 0.0) / 3600, 2),
        )


def _stage_of(
    member: Membership, began: datetime | None, last: datetime, is_idle: bool
) -> tuple[Stage, datetime | None]:
    """Return how far a member has come, and since when, as far as that is known."""
    if not member.is_active:
        return Stage(member.state), None
    if is_idle:
        return Stage.IDLE, last
    if began:
        return Stage.BEGUN, began
    return (Stage.PASSED, member.qualified) if member.qualified else (Stage.JOINED, member.joined)


def _invited(invitations: list[Invitation], applicants: list[Applicant]) -> Iterator[PersonRow]:
    """Return the invitations that nobody has used: open ones, and also expired ones of people who are named."""
    now = timezone.now()
    unused = [invitation for invitation in invitations if not invitation.used and not invitation.withdrawn]
    unused = [each for each in unused if each.seed or each.expires > now][:INVITATIONS_SHOWN]
    mailed = [each for each in unused if each.seed and not each.by_hand]
    jobs = {job.row: job for job in mail_invitation.jobs(mailed).only("row", "error")} if mailed else {}
    taken = Counter(applicant.invitation_id for applicant in applicants)
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


def is_idle() -> Q:
    """Return the condition on members who judge nothing: annotators who took and submitted nothing for three days,
    although their campaign has work.

    Annotators who wait to be notified of work, or for the result of their exam, or have failed it, are not idle.
    """
    since = Now() - IDLE_AFTER
    recent = Q(claimed__gt=since) | Q(submitted__gt=since)
    worked = Assignment.objects.filter(recent, annotator=OuterRef("pk"))
    work = Batch.objects.filter(campaign=OuterRef("campaign"), kind=Kind.POOL, state=Batch.State.OPEN)
    active = Q(role=Membership.Role.ANNOTATOR, state=Membership.State.ACTIVE, waits=None, same_as=None)
    long_here = Q(joined__lt=since, campaign__imported=None)
    rounds = Sitting.objects.filter(member=OuterRef("pk"))
    examined = Q(campaign__exam=True, qualified=None) & Exists(rounds) & ~Exists(rounds.filter(ended=None))
    return active & long_here & ~examined & Exists(work) & ~Exists(worked)


def last_days() -> list[date]:
    """Return the last four weeks, day by day, the oldest first."""
    return [timezone.localdate() - timedelta(days=ago) for ago in reversed(range(DAYS_SHOWN))]


def practised(member: Membership) -> dict[str, Any]:
    """Return how many clips the person practised with in the last four weeks, and the hours of it."""
    first = last_days()[0]
    sums = member.practices.filter(at__gte=Period(first, first).start).aggregate(
        clips=Count("pk"), seconds=Sum("seconds")
    )
    return {"practised": sums["clips"], "practised_hours": (sums["seconds"] or 0.0) / 3600}
