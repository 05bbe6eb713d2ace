"""The people of a campaign as its lead sees them: how far each has come, and what each did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from django import forms
from django.db.models import Count, Exists, OuterRef, Q, Sum, TextChoices
from django.db.models.functions import Now
from django.utils import timezone

from base.listing import Column, Listing
from campaigns.mails import mail_invitation
from campaigns.models import Applicant, Campaign, Invitation, Membership
from campaigns.models.membership import LONGEST_GROUP, MembershipQuerySet
from jobs.models import Job
from judging.models import Assignment, Batch, Kind, Sitting
from reports.campaign_summaries import CurrentSummary
from reports.hours import Worked
from reports.pay import Period, days_of

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
    holds_since: datetime | None = None

    def __str__(self) -> str:
        return self.name

    @property
    def pk(self) -> str:
        """A key of the row among all of them."""
        return f"{type(kept).__name__}-{kept.pk}" if (kept := self.member or self.applicant or self.invitation) else ""

    @property
    def campaign(self) -> str:
        """The name of the campaign."""
        found = self.member or self.invitation
        return found.campaign.name if found else ""

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

    @property
    def is_imported(self) -> bool:
        """Whether the judgements are imported ratings, of which neither times nor batches are known."""
        return bool(self.judgements) and self.last_seen is None


class PeopleFilters(forms.Form):
    """The filters of the list of people."""

    q = forms.CharField(required=False, max_length=200, label="Name", help_text="part of a name or an address")
    role = forms.ChoiceField(required=False, choices=[("", "all"), *Membership.Role.choices], label="Role")
    stage = forms.ChoiceField(required=False, choices=[("", "all"), *Stage.choices], label="State")
    group = forms.CharField(required=False, max_length=LONGEST_GROUP, label="Group")


def _named(rows: list[PersonRow], words: str) -> list[PersonRow]:
    return [row for row in rows if words.lower() in f"{row.name}\n{row.invited_as}\n{row.address}".lower()]


PEOPLE_LIST = Listing(
    "people",
    (
        Column("worker", "Worker", lambda row: row.worker, by="worker", is_number=True),
        Column("name", "Name", lambda row: row.name, by="name"),
        Column("address", "Address", lambda row: row.address, by="address", is_usual=False),
        Column("role", "Role", lambda row: row.role, by="role"),
        Column("group", "Group", lambda row: row.group, by="group", is_usual=False),
        Column("stage", "State", lambda row: row.stage.label, by="far"),
        Column("since", "Since", lambda row: row.since, by="since", is_usual=False, is_time=True),
        Column("batches", "Batches", lambda row: row.batches, by="batches", is_number=True),
        Column("judgements", "Judgements", lambda row: row.judgements, by="judgements", is_number=True),
        Column("hours", "Hours this month", lambda row: row.hours, by="hours", is_number=True),
        Column("last", "Last grade", lambda row: row.last_seen, by="last_seen", is_time=True),
    ),
    PeopleFilters,
    {
        "q": _named,
        "role": lambda rows, role: [row for row in rows if row.role == role],
        "stage": lambda rows, stage: [row for row in rows if row.stage == stage],
        "group": lambda rows, group: [row for row in rows if row.group == group],
    },
)


def people_rows(campaign: Campaign, counted: CurrentSummary) -> list[PersonRow]:
    """Return who asks to join, then the members by worker number, then who is invited, the newest first."""
    invitations = list(campaign.invitations.order_by("-pk"))
    several = [invitation for invitation in invitations if invitation.places]
    those = Applicant.objects.holding_a_place().filter(invitation__in=several)
    applicants = list(those.select_related("user", "invitation__campaign"))
    came_by = {applicant.user_id: applicant.invitation for applicant in applicants if applicant.approved}
    came_by |= {invitation.used_by_id: invitation for invitation in invitations if invitation.used_by_id}
    waiting = [applicant for applicant in applicants if applicant.approved is None]
    asks = [
        PersonRow(Stage.ASKS, each.at, each.invitation.role, invitation=each.invitation, applicant=each)
        for each in waiting
    ]
    return [*asks, *_members(campaign, counted, came_by), *_invited(invitations, applicants)]


def _members(campaign: Campaign, counted: CurrentSummary, came_by: dict[int, Invitation]) -> Iterator[PersonRow]:
    counts = counted.counts or {}
    made, work = ({key: rest for key, *rest in counts.get(name, ())} for name in ("made", "work"))
    is_of_month = counts.get("since") == timezone.localdate().replace(day=1).isoformat()
    seconds = dict(counts["month"]) if is_of_month else {}
    live = Assignment.objects.live().alone().filter(annotator__campaign=campaign)
    held = dict(live.values_list("annotator", "claimed"))
    idle = set(idle_annotators().filter(campaign=campaign).values_list("pk", flat=True))
    for member in campaign.memberships.filter(same_as=None).select_related("user").order_by("worker"):
        batches, *times = work.get(member.pk, (0, None, None, None))
        first, *last = (datetime.fromisoformat(time) if time else None for time in times)
        judgements, last_seen = made.get(member.pk, (0, None))
        stage, since = _stage_of(member, first, max(filter(None, (member.joined, *last))), member.pk in idle)
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
            holds_since=held.get(member.pk),
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
    jobs = {job.row: job for job in mail_invitation.jobs(mailed)}
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


def idle_annotators() -> MembershipQuerySet:
    """Return the annotators who have taken and submitted nothing for three days, although their campaign has work.

    Those who wait to be told of work, or for the marks of their exam, or have failed it, are not among them.
    """
    since = Now() - IDLE_AFTER
    recent = Q(claimed__gt=since) | Q(submitted__gt=since)
    worked = Assignment.objects.filter(recent, annotator=OuterRef("pk"))
    work = Batch.objects.filter(campaign=OuterRef("campaign"), kind=Kind.POOL, state=Batch.State.OPEN)
    active = Membership.objects.annotators().filter(state=Membership.State.ACTIVE, waits=None, same_as=None)
    long_here = active.filter(joined__lt=since, campaign__imported=None)
    rounds = Sitting.objects.filter(member=OuterRef("pk"))
    examined = Q(campaign__exam=True, qualified=None) & Exists(rounds) & ~Exists(rounds.filter(ended=None))
    return long_here.exclude(examined).filter(Exists(work), ~Exists(worked))


def _first_day() -> date:
    return timezone.localdate() - timedelta(days=DAYS_SHOWN - 1)


def days_worked(member: Membership) -> list[tuple[date, Worked]]:
    """What the person did on each day of the last four weeks, newest first; days without work are left out."""
    return sorted(days_of(member, _first_day()).items(), reverse=True)


def practised(member: Membership) -> dict[str, Any]:
    """The clips that the person practised with in the last four weeks, and how many of the hours went there."""
    first = _first_day()
    sums = member.practices.filter(at__gte=Period(first, first).start).aggregate(
        clips=Count("pk"), seconds=Sum("seconds")
    )
    return {"clips": sums["clips"], "hours": (sums["seconds"] or 0.0) / 3600}
