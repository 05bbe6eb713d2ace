"""What belongs to an account: the link that makes the first one, programs' tokens, and how a person likes to work."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from django.conf import settings
from django.contrib.auth.models import User
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.crypto import constant_time_compare
from django.utils.translation import gettext_lazy as _

from base.errors import Gone
from base.transactions import all_or_nothing, locked
from campaigns.models.invitation import hash_of, secret_of_a_link

LIFETIME = timedelta(days=1)
PREFIX = "rj_"  # so that a token is recognised where one was published by mistake
USE_IS_NOTED = timedelta(minutes=1)  # at most once in this time


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

    class Meta:
        db_table = "campaigns_firstlink"

    def __str__(self) -> str:
        return f"link of {self.at:%Y-%m-%d %H:%M}"

    @all_or_nothing
    def make_account(self, username: str, hashed: str) -> User:
        """Make the account, which may create campaigns and let others do so, and delete all such links.

        `hashed` is its password as it is stored. Raises Gone if the link has expired, or there is an account.
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

    class Scope(models.TextChoices):
        """What a token may do, within what its person may do."""

        READ = "read", _("Read what you can read")
        JUDGE = "judge", _("Judge: claim, grade, flag and submit")
        LEAD = "lead", _("Lead: change what a lead can change")
        RUNS = "runs", _("Submit runs, and change your own")

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

    class Meta:
        db_table = "campaigns_token"

    def __str__(self) -> str:
        return f"{self.name} …{self.ending}"

    def allows(self, scope: str) -> bool:
        return scope in self.scopes

    def was_made_with_password_of(self, user: User) -> bool:
        """Return whether the person has the same password still, also if SECRET_KEY was changed since."""
        present = (user.get_session_auth_hash(), *user.get_session_auth_fallback_hash())
        return any(constant_time_compare(self.password, each) for each in present)

    def note_used(self) -> None:
        """Store that it is used now, unless that was stored a moment ago: a statement more would wait for writers."""
        if self.used is None or self.used < timezone.now() - USE_IS_NOTED:
            Token.objects.filter(pk=self.pk).update(used=Now())


# What the workplace does by a key, and the key for it unless the person chose another one, by the name that browsers
# give it.
KEYS = {f"grade{grade}": str(grade) for grade in range(5)}
KEYS |= {
    "back": "ArrowLeft",
    "flag": "f",
    "ask": "q",
    "later": "w",
    "list": "a",
    "pause": " ",
    "again": "l",
    "rest": "b",
    "help": "?",
}
HIGHEST_GOAL = 5000  # clips a day


class PreferencesQuerySet(models.QuerySet["Preferences"]):
    def of(self, user: User) -> Preferences:
        """Return how the person likes to work. Who never chose anything gets the usual, which is not stored."""
        return self.filter(user=user).first() or Preferences(user=user)


class Preferences(models.Model):
    """How a person likes to work: keys, suggestions of breaks, and a goal of the person's own, which no lead sees."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, models.CASCADE, related_name="preferences")
    changed_keys = models.JSONField(default=dict, help_text="keys that are not the usual ones, by what they do")
    goal = models.PositiveSmallIntegerField(null=True, help_text="clips that the person wants to judge in a day")
    suggests_breaks = models.BooleanField(default=True)

    objects = PreferencesQuerySet.as_manager()

    class Meta:
        db_table = "campaigns_preferences"
        verbose_name_plural = "preferences"
        constraints = [
            models.CheckConstraint(condition=Q(goal__range=(1, HIGHEST_GOAL)), name="goal_of_one_clip_to_thousands")
        ]

    def __str__(self) -> str:
        return f"of {self.user}"

    @property
    def keys(self) -> dict[str, str]:
        """The key for each of `KEYS`."""
        return {does: self.changed_keys.get(does, usual) for does, usual in KEYS.items()}

    def change(self, **values: object) -> Preferences:
        """Store some of the values."""
        stored, _ = Preferences.objects.update_or_create(user=self.user, defaults=values)
        return stored
