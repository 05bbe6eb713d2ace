"""The link by which somebody makes the first account of an installation in the browser."""

from __future__ import annotations

from datetime import timedelta

from django.contrib.auth.models import User
from django.db import models
from django.db.models.functions import Now

from base.errors import Gone
from base.transactions import all_or_nothing, locked
from campaigns.models.invitation import secret_of_a_link

LIFETIME = timedelta(days=1)


class FirstLinkQuerySet(models.QuerySet["FirstLink"]):
    def open(self) -> FirstLinkQuerySet:
        """Return the links that somebody can still use: none once there is an account."""
        found = self.filter(at__gt=Now() - LIFETIME)
        return found.none() if User.objects.exists() else found

    def make(self) -> str:
        """Make a link, and return its secret, which is not stored. Links that have expired are deleted."""
        self.filter(at__lte=Now() - LIFETIME).delete()
        secret, hash = secret_of_a_link()
        self.create(hash=hash)
        return secret


class FirstLink(models.Model):
    """A link that makes the first account. Each start of a server prints one, while there is no account."""

    hash = models.CharField(max_length=64, unique=True, help_text="SHA-256 of the link's secret")
    at = models.DateTimeField(db_default=Now())

    objects = FirstLinkQuerySet.as_manager()

    def __str__(self) -> str:
        return f"link of {self.at:%Y-%m-%d %H:%M}"

    @all_or_nothing
    def make_account(self, username: str, hashed: str) -> User:
        """Make the account, which may create campaigns and let others do so, and delete all such links.

        Parameters
        ----------
        username, hashed
            The name of the account, and its password as it is stored.

        Raises
        ------
        Gone
            If the link has expired, or there is an account.
        """
        list(locked(FirstLink.objects.order_by("pk")))  # of two people at once, the second finds none
        if not FirstLink.objects.open().filter(pk=self.pk).exists():
            raise Gone(ENDED)
        user = User.objects.create(username=username, password=hashed, is_superuser=True)
        FirstLink.objects.all().delete()
        return user


ENDED = (
    "The first account was made already, or the link is older than a day. Sign in, or start the server again "
    "for another link."
)
