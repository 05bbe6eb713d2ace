"""Memberships: a person's role and state in a campaign, and the verbs that change them."""

from __future__ import annotations

from collections.abc import Collection

from django.conf import settings
from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from base.errors import BadValue, WrongState
from base.transactions import all_or_nothing, locked
from campaigns.models.event import Event


class MembershipQuerySet(models.QuerySet["Membership"]):
    def leads(self) -> MembershipQuerySet:
        return self.filter(role=Membership.Role.LEAD, state=Membership.State.ACTIVE)

    def annotators(self) -> MembershipQuerySet:
        return self.filter(role=Membership.Role.ANNOTATOR)


class Membership(models.Model):
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
    worker = models.PositiveIntegerField(help_text="stands for the person in everything exported")
    state = models.CharField(max_length=10, choices=State.choices, default=State.ACTIVE)
    qualified = models.DateTimeField(null=True, help_text="when the exam was passed, or waived by the lead")
    joined = models.DateTimeField(db_default=Now())
    same_as = models.ForeignKey(
        "self",
        models.PROTECT,
        null=True,
        related_name="+",
        help_text="in imported ratings: the worker whose repeated ratings of a pair this one holds",
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
    def sits_exam(self) -> bool:
        """Whether the exam stands between this annotator and work."""
        return self.campaign.exam and self.qualified is None

    @property
    def may_review(self) -> bool:
        return self.role == Membership.Role.LEAD and self.is_active

    def pause(self, by: Membership | None, words: str) -> None:
        """No work until somebody resumes it; `by` nobody is by a rule. A batch in hand stays as long as its lease."""
        self._turn([Membership.State.ACTIVE], Membership.State.PAUSED, Event.Kind.PAUSED, by, words)

    def resume(self, by: Membership | None, words: str = "") -> None:
        """Work again, after a pause. Twice is harmless."""
        self._turn([Membership.State.PAUSED], Membership.State.ACTIVE, Event.Kind.RESUMED, by, words)

    @all_or_nothing
    def qualify(self, lead: Membership, reason: str) -> None:
        """Give work without the exam, or in spite of it. Saying it twice is harmless."""
        if locked(Membership.objects.filter(pk=self.pk)).get().qualified:
            return
        Membership.objects.filter(pk=self.pk).update(qualified=Now())
        Event.objects.create(member=self, kind=Event.Kind.QUALIFIED, by=lead, words=reason)

    def leave(self, by: Membership | None, words: str) -> None:
        """Note that the person has left. Twice is harmless."""
        here = [Membership.State.ACTIVE, Membership.State.PAUSED]
        self._turn(here, Membership.State.LEFT, Event.Kind.LEFT, by, words)

    def take_back(self, by: Membership | None, words: str) -> None:
        """Active again, after having left."""
        self._turn([Membership.State.LEFT], Membership.State.ACTIVE, Event.Kind.RESUMED, by, words)

    @all_or_nothing
    def change_role(self, role: str, by: Membership | None, words: str) -> None:
        """Give the person another role. Nobody who may have seen the hidden side becomes an annotator."""
        self.lock()
        if self.role == role:
            return
        if self.role in Membership.SEES_ALL and role == Membership.Role.ANNOTATOR:
            raise WrongState(f"A {self.role} has seen what annotators must not know. Invite another account.")
        if not words.strip():
            raise BadValue("words", "nothing", "why the role changes")
        self._must_not_be_the_last_lead()
        change = f"{self.role} to {role}: {words}"[:500]
        self.role = role
        self.save(update_fields=["role"])
        self.events.create(kind=Event.Kind.ROLE, by=by, words=change)

    @all_or_nothing
    def _turn(
        self, before: Collection[str], after: str, kind: str, by: Membership | None, words: str
    ) -> None:
        self.lock()
        if self.state not in before:
            return
        if after != Membership.State.ACTIVE:
            self._must_not_be_the_last_lead()
        self.state = after
        self.save(update_fields=["state"])
        self.events.create(kind=kind, by=by, words=words)

    def lock(self) -> None:
        """Hold the row until the transaction ends, with its state and role as they are now."""
        locked(Membership.objects.filter(pk=self.pk)).get()
        self.refresh_from_db(fields=["state", "role"])

    def _must_not_be_the_last_lead(self) -> None:
        if not self.may_review:
            return
        # Under the campaign's lock: of two leads who leave at once, the second one sees that the first has left.
        locked(type(self.campaign).objects.filter(pk=self.campaign_id)).get()
        if not Membership.objects.leads().filter(campaign=self.campaign_id).exclude(pk=self.pk).exists():
            raise WrongState("This is the only active lead of the campaign. Make somebody else a lead first.")
