"""Memberships: a person's role and state in a campaign, their history, and messages to annotators."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from base.errors import BadValue, WrongState
from base.transactions import all_or_nothing, locked
from campaigns.models.log import LogEntry, log

if TYPE_CHECKING:
    from campaigns.models.campaign import Campaign

PERMISSION = "campaigns.add_campaign"  # whoever has it sees all corpora but those that they annotate
LONGEST_MESSAGE = 2000  # characters
LONGEST_GROUP = 40


class Event(models.Model):
    """Something that happened to a membership. Events are never changed or deleted."""

    class Kind(models.TextChoices):
        JOINED = "joined"
        QUALIFIED = "qualified"
        FAILED = "failed", "failed the exam"
        WARNED = "warned"
        PAUSED = "paused"
        RESUMED = "resumed"
        LEFT = "left"
        HANDED_OVER = "handed over", "work handed over"
        ROLE = "role", "role changed"
        OPENED = "opened", "batch opened without all clips"
        STEERED = "steered", "work steered"

    member = models.ForeignKey("campaigns.Membership", models.PROTECT, related_name="events")
    kind = models.CharField(max_length=20, choices=Kind.choices)
    by = models.ForeignKey(
        "campaigns.Membership", models.PROTECT, null=True, related_name="+", help_text="empty if a rule did it"
    )
    reason = models.CharField(max_length=500, blank=True, help_text="the reason, for the lead")
    at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["-at", "-pk"]
        indexes = [models.Index(fields=["member", "kind", "at"])]

    def __str__(self) -> str:
        return f"{self.get_kind_display()}: {self.reason}"


class MembershipQuerySet(models.QuerySet["Membership"]):
    def leads(self) -> MembershipQuerySet:
        return self.filter(role=Membership.Role.LEAD, state=Membership.State.ACTIVE)

    def seeing_all(self, user: Any) -> MembershipQuerySet:
        """Return the person's active memberships as a lead or researcher."""
        return self.filter(user=user, role__in=Membership.SEES_ALL, state=Membership.State.ACTIVE)

    def annotators(self) -> MembershipQuerySet:
        return self.filter(role=Membership.Role.ANNOTATOR)

    def able(self) -> MembershipQuerySet:
        """Return the annotators who may judge: they are active and, where there is an exam, have passed it."""
        passed = Q(campaign__exam=False) | Q(qualified__isnull=False)
        return self.annotators().filter(passed, state=Membership.State.ACTIVE)

    def reachable(self) -> MembershipQuerySet:
        """Return the annotators to whom messages go: all who have not left."""
        return self.annotators().exclude(state=Membership.State.LEFT)

    @all_or_nothing
    def steer(self, by: Membership, reason: str, **values: Any) -> int:
        """Set limits or the group of these members, and return how many this has changed.

        A batch that they hold stays with them.
        """
        rows = locked(self.order_by("pk"))
        changed = [row for row in rows if any(getattr(row, name) != value for name, value in values.items())]
        Membership.objects.filter(pk__in=[each.pk for each in changed]).update(**values)
        for each in changed:
            before = "; ".join(str(getattr(each, name) or "none") for name in values)
            log(by, LogEntry.Kind.STEERING, each, before, reason)
        events = [Event(member=each, kind=Event.Kind.STEERED, by=by, reason=reason[:500]) for each in changed]
        return len(Event.objects.bulk_create(events))


class Membership(models.Model):
    """A person in a campaign, under a worker number that stands for the person in all exports."""

    class Role(models.TextChoices):
        ANNOTATOR = "annotator", _("Annotator")
        LEAD = "lead", _("Lead")
        RESEARCHER = "researcher", _("Researcher")

    class State(models.TextChoices):
        ACTIVE = "active"
        PAUSED = "paused"
        LEFT = "left"

    SEES_ALL = (Role.LEAD, Role.RESEARCHER)
    MAY_LEARN = (State.ACTIVE, State.PAUSED)

    campaign = models.ForeignKey("campaigns.Campaign", models.CASCADE, related_name="memberships")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=10, choices=Role.choices)
    worker = models.PositiveIntegerField(help_text="stands for the person in all exports")
    state = models.CharField(max_length=10, choices=State.choices, default=State.ACTIVE)
    qualified = models.DateTimeField(null=True, help_text="when the exam was passed, or waived by the lead")
    joined = models.DateTimeField(db_default=Now())
    group = models.CharField(max_length=LONGEST_GROUP, blank=True, help_text="of annotators; empty if in none")
    most_in_all = models.PositiveIntegerField(
        "In all", null=True, blank=True, help_text="Judgements, at most. Empty for no limit."
    )
    most_a_day = models.PositiveIntegerField(
        "A day", null=True, blank=True, help_text="Judgements on a day, at most. Empty for no limit."
    )
    most_a_week = models.PositiveIntegerField(
        "A week", null=True, blank=True, help_text="Judgements in a week, at most. Empty for no limit."
    )
    waits = models.DateTimeField(null=True, help_text="since when the annotator waits to be told that there is work")
    digest_site = models.CharField(
        max_length=200, blank=True, help_text="where the links of the lead's daily mail lead; empty for no such mail"
    )
    digest_sent = models.DateField(null=True, help_text="the last day of which the lead had that mail")
    same_as = models.ForeignKey(
        "self",
        models.PROTECT,
        null=True,
        related_name="+",
        help_text="in imported ratings, the worker whose repeated ratings this membership holds",
    )

    objects = MembershipQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["campaign", "user"], name="one_membership_per_person"),
            models.UniqueConstraint(fields=["campaign", "worker"], name="one_person_per_worker_number"),
        ]

    def __str__(self) -> str:
        return f"{self.role} {self.worker}"

    @property
    def as_worker(self) -> Membership:
        """The membership of the worker whose repeated ratings this one holds; else itself."""
        return self.same_as or self

    @property
    def is_annotator(self) -> bool:
        return self.role == Membership.Role.ANNOTATOR

    @property
    def is_active(self) -> bool:
        return self.state == Membership.State.ACTIVE

    @property
    def is_paused(self) -> bool:
        return self.state == Membership.State.PAUSED

    @property
    def has_left(self) -> bool:
        return self.state == Membership.State.LEFT

    @property
    def may_judge(self) -> bool:
        return self.is_annotator and self.is_active

    @property
    def must_pass_exam(self) -> bool:
        """Whether the annotator gets no work before passing the exam."""
        return self.campaign.exam and self.qualified is None

    @property
    def sees_grades(self) -> bool:
        """Whether the member sees all judgements: a lead, and a researcher unless the campaign holds a split back."""
        return self.may_review or (self.role in Membership.SEES_ALL and not self.campaign.held_back)

    @property
    def may_review(self) -> bool:
        return self.role == Membership.Role.LEAD and self.is_active

    def pause(self, by: Membership | None, reason: str) -> None:
        """Give the member no new work until somebody resumes it. A batch that they hold stays until its lease ends.

        `by` is None if a rule pauses the member.
        """
        self._change_state([Membership.State.ACTIVE], Membership.State.PAUSED, Event.Kind.PAUSED, by, reason)

    def resume(self, by: Membership | None, reason: str = "") -> None:
        """End a pause. Doing it twice is harmless."""
        self._change_state([Membership.State.PAUSED], Membership.State.ACTIVE, Event.Kind.RESUMED, by, reason)

    @all_or_nothing
    def qualify(self, lead: Membership, reason: str) -> None:
        """Give the member work although they have not passed the exam. Doing it twice is harmless."""
        if locked(Membership.objects.filter(pk=self.pk)).get().qualified:
            return
        Membership.objects.filter(pk=self.pk).update(qualified=Now())
        Event.objects.create(member=self, kind=Event.Kind.QUALIFIED, by=lead, reason=reason)
        log(lead, LogEntry.Kind.WAIVER, self, "no work before the exam", f"work without the exam: {reason}")

    def wait_for_work(self) -> None:
        """Note that the annotator wants to be told once there is work. Doing it twice is harmless."""
        Membership.objects.filter(pk=self.pk, waits__isnull=True).update(waits=Now())

    def stop_waiting(self) -> bool:
        """Forget that the annotator waits for work. Return whether this call did, of several at the same time."""
        return bool(Membership.objects.filter(pk=self.pk, waits__isnull=False).update(waits=None))

    def leave(self, by: Membership | None, reason: str) -> None:
        """Note that the person has left. Doing it twice is harmless."""
        before = [Membership.State.ACTIVE, Membership.State.PAUSED]
        self._change_state(before, Membership.State.LEFT, Event.Kind.LEFT, by, reason)

    def take_back(self, by: Membership | None, reason: str) -> None:
        """Make a person who had left an active member again."""
        self._change_state([Membership.State.LEFT], Membership.State.ACTIVE, Event.Kind.RESUMED, by, reason)

    @all_or_nothing
    def change_role(self, role: str, by: Membership | None, reason: str) -> None:
        """Give the person another role. If they have it already, nothing changes.

        Raises WrongState if a lead or a researcher is to become an annotator, because they may have seen what
        annotators must not know, if an annotator who is to see all judges the same corpus in another campaign, or if
        the person is the only active lead; BadValue if there is no reason.
        """
        self.lock()
        if self.role == role:
            return
        if self.role in Membership.SEES_ALL and role == Membership.Role.ANNOTATOR:
            raise WrongState(f"A {self.role} has seen what annotators must not know. Invite another account.")
        must_stay_blind(self.user, role, self.campaign)
        if not reason.strip():
            raise BadValue("reason", "nothing", "why the role changes")
        self._must_not_be_the_last_lead()
        change = f"{self.role} to {role}: {reason}"[:500]
        log(by, LogEntry.Kind.MEMBER, self, self.role, f"{role}: {reason}")
        self.role = role
        self.save(update_fields=["role"])
        self.events.create(kind=Event.Kind.ROLE, by=by, reason=change)

    @all_or_nothing
    def _change_state(self, before: Collection[str], after: str, kind: str, by: Membership | None, reason: str) -> None:
        self.lock()
        if self.state not in before:
            return
        if after != Membership.State.ACTIVE:
            self._must_not_be_the_last_lead()
        log(by, LogEntry.Kind.MEMBER, self, self.state, f"{after}: {reason}" if reason else after)
        self.state = after
        self.save(update_fields=["state"])
        self.events.create(kind=kind, by=by, reason=reason)

    def lock(self) -> None:
        """Lock the row until the transaction ends, and read its state and role again."""
        locked(Membership.objects.filter(pk=self.pk)).get()
        self.refresh_from_db(fields=["state", "role"])

    def _must_not_be_the_last_lead(self) -> None:
        if not self.may_review:
            return
        # If two leads leave at the same time, the campaign's lock makes the second see that the first has left.
        locked(type(self.campaign).objects.filter(pk=self.campaign_id)).get()
        if not Membership.objects.leads().filter(campaign=self.campaign_id).exclude(pk=self.pk).exists():
            raise WrongState("This is the only active lead of the campaign. Make somebody else a lead first.")


def must_stay_blind(user: User, role: str, campaign: Campaign) -> None:
    """Refuse a role in which somebody would come to see captions and ranks of a corpus that they judge, or the reverse.

    Memberships of all campaigns over the corpus count, also of people who have left, because they may be taken back.
    Raises WrongState if the person is to annotate and sees the corpus already, or is to see it and annotates elsewhere
    over it. The lock has two roles of one person, in two campaigns, given one after the other.
    """
    locked(User.objects.filter(pk=user.pk)).get()
    memberships = Membership.objects.filter(user=user, campaign__corpus=campaign.corpus_id)
    others = memberships.exclude(campaign=campaign)
    if role in Membership.SEES_ALL:
        if others.annotators().exists():
            raise WrongState(
                gettext("Who annotates another campaign over the same corpus must not see what its leads see.")
            )
        return
    if others.filter(role__in=Membership.SEES_ALL).exists():
        raise WrongState(
            gettext(
                "Who leads or follows another campaign over the same corpus has seen what annotators must not know."
            )
        )
    if user.has_perm(PERMISSION) and not memberships.annotators().exists():
        raise WrongState(gettext("Who may create campaigns has seen what annotators must not know."))


class MessageQuerySet(models.QuerySet["Message"]):
    def unread(self) -> MessageQuerySet:
        return self.filter(read__isnull=True)

    def unread_first(self) -> MessageQuerySet:
        return self.order_by(F("read").desc(nulls_first=True), "-at", "-pk")

    @all_or_nothing
    def send(self, to: Iterable[Membership], text: str, by: Membership) -> int:
        """Send the text to each member who has no unread message with the same text. Return how many were sent."""
        waiting = set(self.unread().filter(by=by, text=text).values_list("to", flat=True))
        new = [Message(to=member, text=text, by=by) for member in to if member.pk not in waiting]
        if new:
            log(by, LogEntry.Kind.MESSAGE, f"to {len(new):,} annotators", after=text)
        return len(self.bulk_create(new))


class Message(models.Model):
    """A message to one annotator. It has no sender if a rule sent it."""

    to = models.ForeignKey("campaigns.Membership", models.PROTECT, related_name="messages")
    by = models.ForeignKey("campaigns.Membership", models.PROTECT, null=True, related_name="sent")
    text = models.TextField(max_length=LONGEST_MESSAGE)
    at = models.DateTimeField(db_default=Now())
    read = models.DateTimeField(null=True)

    objects = MessageQuerySet.as_manager()

    class Meta:
        ordering = ["-at", "-pk"]

    def __str__(self) -> str:
        return self.text[:60]

    @property
    def words(self) -> str:
        """The text, translated into the reader's language if a rule sent it."""
        return self.text if self.by_id else gettext(self.text)

    def mark_read(self) -> None:
        """Note when the message was read. Only the first time is stored."""
        Message.objects.unread().filter(pk=self.pk).update(read=Now())
