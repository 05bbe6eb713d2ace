"""Invitations: links by which people become members of a campaign."""

from __future__ import annotations

import hashlib
import secrets
from base64 import urlsafe_b64encode

from django.conf import settings
from django.contrib.auth.models import User
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext

from base.errors import Gone
from base.transactions import all_or_nothing, locked
from campaigns.models.membership import Event, Membership


def secret_of_a_link() -> tuple[str, str]:
    """Return a secret of 256 random bits, which nobody can guess, and its hash, which the table stores."""
    secret = secrets.token_urlsafe(32)
    return secret, hash_of(secret)


def secret_from(seed: str, key: str) -> str:
    """Return the secret of a link that is sent by mail: the same each time, but nobody finds it without the key."""
    made = salted_hmac("reeljudge invitation", seed, secret=key, algorithm="sha256")
    return urlsafe_b64encode(made.digest()).decode().rstrip("=")


def hash_of(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


class InvitationQuerySet(models.QuerySet["Invitation"]):
    def open(self) -> InvitationQuerySet:
        return self.filter(used__isnull=True, withdrawn__isnull=True, expires__gt=Now())


class Invitation(models.Model):
    """A link that makes the first person who accepts it a member."""

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
    # If it is sent by mail
    address = models.EmailField(blank=True)
    name = models.CharField(max_length=150, blank=True, help_text="how the lead calls the person")
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
                condition=Q(address="", seed="") | ~Q(address="") & ~Q(seed=""), name="a_mailed_invitation_has_a_seed"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.role} of {self.campaign_id}"

    @property
    def is_open(self) -> bool:
        return Invitation.objects.open().filter(pk=self.pk).exists()

    def secret(self) -> str:
        """Return the secret of a link that is sent by mail, also if SECRET_KEY was changed since."""
        for key in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS):
            if hash_of(secret := secret_from(self.seed, key)) == self.hash:
                return secret
        raise Gone(gettext("This invitation was made under another key of this site. Make a new one."))

    def note_opened(self) -> None:
        """Note when the link was opened. Only the first time is stored."""
        Invitation.objects.filter(pk=self.pk, opened__isnull=True).update(opened=Now())

    def must_be_open(self) -> None:
        """Raise Gone, with how the invitation ended, if nobody can use it any more."""
        if not self.is_open:
            raise Gone(self._how_it_ended())

    def _how_it_ended(self) -> str:
        if self.used:
            return gettext("This invitation was used already. Ask your lead for a new link.")
        if self.withdrawn:
            return gettext("This invitation was withdrawn. Ask your lead for a new link.")
        return gettext("This invitation has expired. Ask your lead for a new link.")

    @all_or_nothing
    def accept(self, user: User) -> Membership:
        """Make the person a member and use the invitation up. If they are a member already, nothing changes.

        Raises Gone if the invitation was used or withdrawn, or has expired; WrongState if the person would see captions
        and ranks of a corpus that they judge.
        """
        invitation = locked(Invitation.objects.filter(pk=self.pk)).select_related("campaign").get()
        if member := invitation.campaign.memberships.filter(user=user).first():
            return member
        invitation.must_be_open()
        Invitation.objects.filter(pk=self.pk).update(used=Now(), used_by=user)
        member = invitation.campaign.add_member(user, invitation.role)
        member.events.create(kind=Event.Kind.JOINED, by=invitation.by, reason=f"by invitation, as {invitation.role}")
        return member

    def withdraw(self) -> None:
        """Withdraw the invitation, so that nobody can use it. If it has ended already, nothing changes."""
        Invitation.objects.open().filter(pk=self.pk).update(withdrawn=Now())
