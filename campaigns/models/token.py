"""Tokens: what a program signs in with, in place of its person."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from django.conf import settings
from django.contrib.auth.models import User
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.crypto import constant_time_compare

from campaigns.models.invitation import hash_of, secret_of_a_link

PREFIX = "rj_"  # so that a token is recognised where one was published by mistake
USE_IS_NOTED = timedelta(minutes=1)  # at most once in this time


class Scope(models.TextChoices):
    """What a token may do, within what its person may do."""

    READ = "read", "read what you can read"
    JUDGE = "judge", "judge: claim, grade, flag and submit"
    LEAD = "lead", "lead: all that a lead can change"
    RUNS = "runs", "submit runs, and change those that are yours"


class TokenQuerySet(models.QuerySet["Token"]):
    def usable(self) -> TokenQuerySet:
        return self.filter(expires__gt=Now())

    def make(self, user: User, name: str, scopes: Iterable[str], days: int) -> tuple[Token, str]:
        """Make a token. Return it with its secret, which is not stored."""
        secret = PREFIX + secret_of_a_link()[0]
        made = self.create(
            user=user,
            name=name,
            scopes=sorted(scopes),
            hash=hash_of(secret),
            ending=secret[-4:],
            password=user.get_session_auth_hash(),
            expires=Now() + timedelta(days=days),
        )
        return made, secret

    def with_secret(self, secret: str) -> Token | None:
        """Return the token that can be used with this secret."""
        return self.usable().filter(hash=hash_of(secret)).first()


class Token(models.Model):
    """A token of one person. It ends when it expires or is revoked, and when the person's password changes."""

    Scope = Scope

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="tokens")
    name = models.CharField(max_length=100, help_text="what it is for, in the person's words")
    scopes = models.JSONField(default=list, help_text="names of scopes")
    hash = models.CharField(max_length=64, unique=True, help_text="SHA-256 of the secret")
    ending = models.CharField(max_length=4, help_text="the secret's last characters, to tell tokens apart")
    password = models.CharField(
        max_length=128, help_text="follows from the password that the person had when it was made"
    )
    made = models.DateTimeField(db_default=Now())
    expires = models.DateTimeField()
    used = models.DateTimeField(null=True, help_text="about when it was last used")

    objects = TokenQuerySet.as_manager()

    def __str__(self) -> str:
        return f"{self.name} …{self.ending}"

    def allows(self, scope: str) -> bool:
        return scope in self.scopes

    def was_made_with_password_of(self, user: User) -> bool:
        """Return whether the person has the same password still, also if SECRET_KEY was changed since."""
        present = (user.get_session_auth_hash(), *user.get_session_auth_fallback_hash())
        return any(constant_time_compare(self.password, each) for each in present)

    def note_used(self) -> None:
        long_ago = Q(used__isnull=True) | Q(used__lt=Now() - USE_IS_NOTED)
        Token.objects.filter(long_ago, pk=self.pk).update(used=Now())
