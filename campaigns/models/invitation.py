"""Invitations: links by which people become members of a campaign, and the people who ask to join by one."""

from __future__ import annotations

import hashlib
import secrets
from base64 import urlsafe_b64encode
from collections.abc import Callable

from django.conf import settings
from django.contrib.auth.models import User
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext

from base.errors import Gone, WrongState
from base.transactions import all_or_nothing, locked
from campaigns.models.log import LogEntry, log
from campaigns.models.membership import LONGEST_GROUP, Event, Membership, must_stay_blind

MOST_PLACES = 500  # of one link
LONGEST_NAME = 150  # characters


def secret_of_a_link() -> tuple[str, str]:
    """Return a secret of 256 random bits, which nobody can guess, and its hash, which the table stores."""
    secret = secrets.token_urlsafe(32)
    return secret, hash_of(secret)


def secret_from(seed: str, key: str) -> str:
    """Return the secret of a link that is for one person: the same each time, but nobody finds it without the key."""
    made = salted_hmac("reeljudge invitation", seed, secret=key, algorithm="sha256")
    return urlsafe_b64encode(made.digest()).decode().rstrip("=")


def hash_of(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


class InvitationQuerySet(models.QuerySet["Invitation"]):
    def open(self) -> InvitationQuerySet:
        """Return the invitations that can be used.

        One to a role that sees all ends when whoever made it leads the campaign no longer: a lead whose role is taken
        away must not come back by a link.
        """
        by_a_lead = Q(by__role=Membership.Role.LEAD, by__state=Membership.State.ACTIVE)
        may_be = ~Q(role__in=Membership.SEES_ALL) | Q(by=None) | by_a_lead
        return self.filter(may_be, used__isnull=True, withdrawn__isnull=True, expires__gt=Now())

    def mailed(self) -> InvitationQuerySet:
        """Return the open invitations that are sent by mail."""
        return self.open().filter(by_hand=False).exclude(address="")

    def to_hand_out(self) -> InvitationQuerySet:
        """Return the open invitations of named people whose links a lead hands out."""
        return self.open().filter(by_hand=True)


class Invitation(models.Model):
    """A link that makes the first person who accepts it a member, or by which several people ask to join."""

    campaign = models.ForeignKey("campaigns.Campaign", models.CASCADE, related_name="invitations")
    role = models.CharField(max_length=10)
    hash = models.CharField(max_length=64, unique=True, help_text="SHA-256 of the link's secret")
    by = models.ForeignKey(
        "campaigns.Membership",
        models.PROTECT,
        null=True,
        related_name="invitations",
        help_text="empty if it was made in the terminal",
    )
    group = models.CharField(max_length=LONGEST_GROUP, blank=True, help_text="of annotators, for who joins")
    places = models.PositiveSmallIntegerField(
        null=True, help_text="how many people can ask to join by it; empty if one person joins by it at once"
    )
    # If it is for one person who is named
    address = models.EmailField(blank=True)
    name = models.CharField(max_length=LONGEST_NAME, blank=True, help_text="how the lead calls the person")
    by_hand = models.BooleanField(
        default=False, help_text="whether a lead hands the link out, so that using it proves no address"
    )
    language = models.CharField(max_length=10, blank=True, help_text="of the mail")
    seed = models.CharField(
        max_length=43, blank=True, help_text="what the link's secret is made of, together with SECRET_KEY"
    )
    sent = models.DateTimeField(null=True)
    opened = models.DateTimeField(null=True, help_text="when somebody first opened the link")
    at = models.DateTimeField(db_default=Now())
    expires = models.DateTimeField()
    withdrawn = models.DateTimeField(null=True)
    used = models.DateTimeField(null=True)
    used_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")

    objects = InvitationQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(used__isnull=True, used_by__isnull=True) | Q(used__isnull=False, used_by__isnull=False),
                name="a_used_invitation_has_its_user",
            ),
            models.CheckConstraint(
                condition=Q(address="", by_hand=False, seed="") | (~Q(address="") | Q(by_hand=True)) & ~Q(seed=""),
                name="an_invitation_of_one_person_has_a_seed",
            ),
            models.CheckConstraint(
                condition=Q(places__isnull=True) | Q(places__gte=1, used__isnull=True, seed=""),
                name="a_link_for_several_is_not_used_up",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.role} of {self.campaign_id}"

    @property
    def is_open(self) -> bool:
        return Invitation.objects.open().filter(pk=self.pk).exists()

    def secret(self) -> str:
        """Return the secret of a named person's link, also if SECRET_KEY was changed since."""
        for key in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS):
            if hash_of(secret := secret_from(self.seed, key)) == self.hash:
                return secret
        raise Gone(gettext("This invitation was made under another key of this site. Make a new one."))

    def note_opened(self) -> None:
        """Note when the link was opened. Only the first time is stored."""
        Invitation.objects.filter(pk=self.pk, opened__isnull=True).update(opened=Now())

    def must_be_open(self) -> None:
        """Raise Gone, with how the invitation ended, if nobody can use it any more."""
        if not self.is_open or self._is_full():
            raise Gone(self._how_it_ended())

    def _is_full(self) -> bool:
        return self.places is not None and self.applicants.holding_a_place().count() >= self.places

    def _how_it_ended(self) -> str:
        if self.used:
            return gettext("This invitation was used already. Ask your lead for a new link.")
        if self.withdrawn:
            return gettext("This invitation was withdrawn. Ask your lead for a new link.")
        if self.is_open:
            return gettext("As many people as this link is for have asked to join. Ask your lead for a new link.")
        if Invitation.objects.filter(pk=self.pk, expires__gt=Now()).exists():
            return gettext("Whoever made this invitation leads the campaign no longer. Ask a lead for a new link.")
        return gettext("This invitation has expired. Ask your lead for a new link.")

    @all_or_nothing
    def accept(self, user: User) -> Membership | None:
        """Make the person a member and use the invitation up. If they are a member already, nothing changes.

        If the invitation is for several people, the person waits for a lead instead, and this returns None.

        Raises Gone if the invitation was used or withdrawn, has expired, or has no place left; WrongState if the person
        would see captions and ranks of a corpus that they judge.
        """
        invitation = locked(Invitation.objects.filter(pk=self.pk)).select_related("campaign").get()
        locked(User.objects.filter(pk=user.pk)).get()  # who may accept another one at the same time
        if member := invitation.campaign.memberships.filter(user=user).first():
            return member
        if invitation.places is not None:
            invitation._let_ask(user)
            return None
        invitation.must_be_open()
        Invitation.objects.filter(pk=self.pk).update(used=Now(), used_by=user)
        return invitation.make_member(user, invitation.by)

    def _let_ask(self, user: User) -> None:
        """Give the person a place among those who wait, once. The row is locked, so that nobody takes one too many."""
        if self.applicants.filter(user=user).exists():
            return
        self.must_be_open()
        must_stay_blind(user, self.role, self.campaign)
        self.applicants.create(user=user)

    def make_member(self, user: User, by: Membership | None) -> Membership:
        """Make the person a member as the invitation says. Every membership that begins with one is made here."""
        if member := self.campaign.memberships.filter(user=user).first():
            return member
        member = self.campaign.add_member(user, self.role)
        if self.group:
            member.group = self.group
            member.save(update_fields=["group"])
        member.events.create(kind=Event.Kind.JOINED, by=by, reason=f"by invitation, as {self.role}")
        return member

    @all_or_nothing
    def withdraw(self, by: Membership | None = None) -> None:
        """Withdraw the invitation, so that nobody can use it. If it was used or withdrawn already, nothing changes."""
        if Invitation.objects.filter(pk=self.pk, used=None, withdrawn=None).update(withdrawn=Now()):
            log(by, LogEntry.Kind.INVITATION_WITHDRAWN, self.whom, self.role)

    @property
    def whom(self) -> str:
        """Whom it is for, in words."""
        named = " ".join(each for each in (self.name, self.address) if each)
        return named or (f"a link for {self.places} people" if self.places else "a link for one person")


class ApplicantQuerySet(models.QuerySet["Applicant"]):
    def waiting(self) -> ApplicantQuerySet:
        return self.filter(approved=None)

    def open_to(self, user: User) -> ApplicantQuerySet:
        """Return what the person has asked for and does not have: what waits, and what was refused."""
        theirs = self.filter(user=user).exclude(approved=True).select_related("invitation__campaign")
        return theirs.exclude(invitation__campaign__memberships__user=user)

    def holding_a_place(self) -> ApplicantQuerySet:
        """Return all but those whom a lead has refused, whose places are free again."""
        return self.exclude(approved=False)


class Applicant(models.Model):
    """Somebody who asks to join a campaign by a link for several people, and what a lead decided."""

    invitation = models.ForeignKey("campaigns.Invitation", models.CASCADE, related_name="applicants")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="applications")
    at = models.DateTimeField(db_default=Now())
    approved = models.BooleanField(null=True, help_text="a lead's decision; empty while the person waits for it")
    decided = models.DateTimeField(null=True)
    decided_by = models.ForeignKey("campaigns.Membership", models.PROTECT, null=True, related_name="+")

    objects = ApplicantQuerySet.as_manager()

    class Meta:
        ordering = ["at", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["invitation", "user"], name="nobody_asks_twice_by_one_link"),
            models.CheckConstraint(
                condition=Q(approved__isnull=True, decided__isnull=True)
                | Q(approved__isnull=False, decided__isnull=False),
                name="a_decision_has_its_time",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user_id} for {self.invitation_id}"

    @all_or_nothing
    def approve(self, lead: Membership) -> Membership:
        """Make the person a member. Doing it twice is harmless.

        Raises WrongState if a lead has refused the person, or if the person would by now see captions and ranks of a
        corpus that they judge.
        """
        own = self._locked()
        if own.approved is False:
            raise WrongState("This person was refused before. Send another link.")
        own._decide(True, lead)
        return own.invitation.make_member(own.user, lead)

    @all_or_nothing
    def refuse(self, lead: Membership) -> None:
        """Let the person not join, and free the place. Doing it twice is harmless.

        Raises WrongState if the person was approved.
        """
        own = self._locked()
        if own.approved:
            raise WrongState("This person has joined already. On the person's page you can end the membership.")
        own._decide(False, lead)

    def _locked(self) -> Applicant:
        return locked(Applicant.objects.filter(pk=self.pk)).select_related("invitation__campaign", "user").get()

    def _decide(self, approved: bool, lead: Membership) -> None:
        undecided = Applicant.objects.waiting().filter(pk=self.pk)
        if undecided.update(approved=approved, decided=Now(), decided_by=lead):
            log(lead, LogEntry.Kind.APPLICANT, self.user.get_username(), after="joins" if approved else "does not join")


DECISIONS: dict[str, Callable[[Applicant, Membership], object]] = {
    "approve": Applicant.approve,
    "refuse": Applicant.refuse,
}
