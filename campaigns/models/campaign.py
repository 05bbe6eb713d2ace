"""Campaigns, their settings, and the numbered versions of what they tell annotators."""

from __future__ import annotations

import secrets
from datetime import timedelta
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import models
from django.db.models import F, Max, Q
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from base.errors import Outdated, ReeljudgeError
from base.text import rendered
from base.transactions import all_or_nothing, locked
from campaigns.guideline_text import GUIDELINE
from campaigns.models.invitation import Invitation, hash_of, secret_from, secret_of_a_link
from campaigns.models.log import LogEntry, log
from campaigns.models.membership import Membership, must_stay_blind
from corpus.models import Corpus

# Default settings, which are TVR-Ranking's.
BATCH_SIZE = 20
BATCHES = 2
TOLERANCE = 1  # the largest difference at which two grades agree
WATCH_FIRST = 0.4  # seconds for which a clip moves before it can be graded
LAST = 5  # candidates at a batch's end; their grades tell whether there is more to find
SECOND_BATCH_FROM = 2.0  # mean grade of these candidates
EXAM_ROUNDS = 3
MOST_HIDDEN = 10  # places of a batch
PAID_PLAYS, PAID_BEYOND = 3, 60  # of a clip; seconds
MOST_PLAYS, MOST_BEYOND = 20, 120
CHECK_WARN, CHECK_PAUSE = 0.25, 0.4  # shares of missed check pairs


class Guideline(models.Model):
    """One version of a campaign's guideline. Versions are never changed."""

    campaign = models.ForeignKey("campaigns.Campaign", models.CASCADE, related_name="guidelines")
    version = models.PositiveIntegerField()
    text = models.TextField(help_text="Markdown")
    by = models.ForeignKey("campaigns.Membership", models.PROTECT, null=True, related_name="+")
    at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["campaign", "version"]
        constraints = [models.UniqueConstraint(fields=["campaign", "version"], name="one_guideline_per_version")]

    def __str__(self) -> str:
        return f"guideline {self.version}"

    @property
    def html(self) -> SafeString:
        """The text as HTML. The built-in version is translated into the page's language, those of leads are not."""
        return rendered(self.text if self.version else gettext(self.text))

    @property
    def author(self) -> str:
        return self.by.user.get_username() if self.by else "Reeljudge"


def random_seed() -> int:
    """Return a seed that nobody can guess, as large as its column allows."""
    return secrets.randbits(63)


class CampaignQuerySet(models.QuerySet["Campaign"]):
    def named(self, name: str) -> Campaign:
        """Return the campaign of that name. Raises ReeljudgeError if there is none; it says which there are."""
        if campaign := self.filter(name=name).first():
            return campaign
        names = ", ".join(self.values_list("name", flat=True)) or "none yet"
        raise ReeljudgeError(f"campaign {name}: not found; expected one of: {names}")

    def of(self, user: Any) -> CampaignQuerySet:
        """Return the campaigns that the person belongs to, also those where they are paused."""
        return self.filter(memberships__user=user, memberships__state__in=Membership.MAY_LEARN)

    def led_by(self, user: Any) -> CampaignQuerySet:
        """Return the campaigns that the person sees as a lead or as a researcher."""
        return self.filter(
            memberships__user=user,
            memberships__state=Membership.State.ACTIVE,
            memberships__role__in=Membership.SEES_ALL,
        )


class PastRate(models.Model):
    """An hourly rate that was replaced by a newer one."""

    campaign = models.ForeignKey("campaigns.Campaign", models.CASCADE, related_name="past_rates")
    last = models.DateField(help_text="the last day with this rate, in the time zone of the pages")
    hourly = models.DecimalField(max_digits=8, decimal_places=2)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["campaign", "last"], name="one_rate_until_a_day")]

    def __str__(self) -> str:
        return f"{self.hourly} until {self.last}"


class Campaign(models.Model):
    """A project in which annotators judge candidates from one corpus, under one set of rules."""

    name = models.SlugField(max_length=100, unique=True)
    title = models.CharField(max_length=200, blank=True)
    corpus = models.ForeignKey(Corpus, models.PROTECT, related_name="campaigns")
    batch_size = models.PositiveSmallIntegerField(default=BATCH_SIZE)
    batches = models.PositiveSmallIntegerField(default=BATCHES)
    tolerance = models.PositiveSmallIntegerField(default=TOLERANCE)
    order_seed = models.BigIntegerField(
        default=random_seed, help_text="secret seed of the order in which each annotator sees candidates, and of checks"
    )
    # What annotators see, and how
    padding = models.FloatField(default=0, help_text="seconds shown before and after each moment")
    sound = models.BooleanField(default=False, help_text="whether clips are heard")
    play_once = models.BooleanField(
        default=False, help_text="whether a clip must have played to its end before it is graded"
    )
    watch_first = models.FloatField(
        default=WATCH_FIRST, help_text="seconds for which a clip must have been moving before it is graded"
    )
    # Who may judge, and how that is watched
    exam = models.BooleanField(default=False, help_text="whether annotators must pass the exam to get work")
    exam_rounds = models.PositiveSmallIntegerField(default=EXAM_ROUNDS, help_text="attempts at the exam")
    may_return = models.BooleanField(
        default=False,
        help_text="whether who began a batch in round one may judge it in round two if nobody else is left",
    )
    hidden_places = models.PositiveSmallIntegerField(
        default=0, help_text="places of each batch that hold quiet checks; 0 for no checks"
    )
    mixes_queries = models.BooleanField(
        default=False, help_text="whether contested pairs of several queries make one batch of round two"
    )
    check_warn = models.FloatField(default=CHECK_WARN, help_text="share of missed pairs that leads to a warning")
    check_pause = models.FloatField(default=CHECK_PAUSE, help_text="share of missed pairs that leads to a pause")
    has_groups = models.BooleanField(default=False, help_text="whether queries are for groups of annotators")
    week_quota = models.PositiveIntegerField(
        null=True, blank=True, help_text="judgements of all annotators in a week, at most"
    )
    hourly_rate = models.DecimalField(max_digits=8, decimal_places=2, null=True, blank=True)
    currency = models.CharField(max_length=3, blank=True)
    paid_plays = models.PositiveSmallIntegerField(
        default=PAID_PLAYS, help_text="plays of the clip that one press may count"
    )
    paid_beyond = models.PositiveSmallIntegerField(
        default=PAID_BEYOND, help_text="seconds beyond these plays that one press may count"
    )
    # Runs, and who sees what of them
    runs_a_day = models.PositiveSmallIntegerField(
        null=True, blank=True, help_text="runs of one researcher on a day, at most; empty for no limit"
    )
    held_back_runs = models.PositiveSmallIntegerField(
        default=3, help_text="runs of one person that are scored on the held-back split, at most"
    )
    public_board = models.BooleanField(default=False, help_text="whether everybody may see the leaderboard")
    held_back = models.CharField(
        max_length=20, blank=True, help_text="split whose grades only leads see; empty if none is held back"
    )
    # The lead's decisions
    second_from = models.FloatField(
        default=SECOND_BATCH_FROM, help_text="mean grade of the last five that opens the second batch"
    )
    auto_second_from = models.FloatField(
        null=True, blank=True, help_text="mean from which the policy opens the second batch"
    )
    auto_close_below = models.FloatField(
        null=True, blank=True, help_text="mean below which the policy closes the query"
    )
    selection = models.JSONField(
        default=dict, blank=True, help_text="how queries were drawn from the corpus's captions; empty if none were"
    )
    encoder = models.CharField(max_length=200, blank=True, help_text="the model that ranked its candidates")
    reuses = models.ForeignKey(
        "self",
        models.PROTECT,
        null=True,
        blank=True,
        related_name="+",
        help_text="the earlier campaign over the corpus whose grades it reuses",
    )
    imported = models.DateTimeField(null=True, blank=True, help_text="when its finished ratings were imported")
    rounds_known = models.BooleanField(
        default=True, help_text="False for imported ratings whose file does not say their rounds"
    )
    left_out = models.PositiveIntegerField(
        default=0, help_text="rated pairs without a final grade that the imported pair file does not hold"
    )
    created = models.DateTimeField(db_default=Now())
    touched = models.DateTimeField(
        null=True, blank=True, help_text="when a lead last changed something that its statistics depend on"
    )

    objects = CampaignQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(batch_size__gte=1), name="batch_holds_a_candidate"),
            models.CheckConstraint(condition=Q(batches__gte=1, batches__lte=2), name="never_a_third_batch"),
            models.CheckConstraint(condition=Q(tolerance__lte=3), name="tolerance_within_scale"),
            models.CheckConstraint(condition=Q(padding__gte=0, padding__lte=60), name="padding_is_short"),
            models.CheckConstraint(
                condition=Q(watch_first__gte=0, watch_first__lte=10), name="waiting_for_a_clip_is_short"
            ),
            models.CheckConstraint(
                condition=Q(paid_plays__gte=1, paid_plays__lte=MOST_PLAYS, paid_beyond__lte=MOST_BEYOND),
                name="a_press_counts_minutes_at_most",
            ),
            models.CheckConstraint(condition=Q(exam_rounds__gte=1), name="exam_has_a_round"),
            models.CheckConstraint(condition=Q(hidden_places__lte=MOST_HIDDEN), name="hidden_places_are_few"),
            models.CheckConstraint(
                condition=Q(check_warn__gte=0, check_pause__gte=F("check_warn"), check_pause__lte=1),
                name="a_warning_comes_before_a_pause",
            ),
            models.CheckConstraint(
                condition=Q(auto_second_from__isnull=True)
                | Q(auto_close_below__isnull=True)
                | Q(auto_close_below__lte=F("auto_second_from")),
                name="closing_is_below_opening",
            ),
        ]

    def __str__(self) -> str:
        return self.title or self.name

    def touch(self) -> None:
        """Note that a lead changed something that the statistics depend on, so that stored ones are out of date."""
        Campaign.objects.filter(pk=self.pk).update(touched=Now())

    @property
    def guideline(self) -> Guideline:
        """The version in force. Every campaign begins with the built-in version, number 0."""
        return self.guidelines.order_by("version").last() or self.first_guideline

    @property
    def first_guideline(self) -> Guideline:
        return Guideline(campaign=self, version=0, text=GUIDELINE)

    @all_or_nothing
    def write_guideline(self, lead: Membership, text: str, started_from: int) -> Guideline:
        """Put a new version in force, unless the text is that of the version in force, and return the version.

        Raises Outdated if somebody else has put a newer version in force since the lead began, with version
        `started_from`.
        """
        locked(Campaign.objects.filter(pk=self.pk)).get()
        present = self.guideline
        if text == present.text:
            return present
        if present.version != started_from:
            raise Outdated(
                f"Version {present.version} was put in force by {present.author} while you wrote from version "
                f"{started_from}. Your text is still here: take over what is new in theirs, then save again."
            )
        made = self.guidelines.create(version=present.version + 1, text=text, by=lead)
        log(lead, LogEntry.Kind.GUIDELINE, "the guideline", f"version {present.version}", f"version {made.version}")
        return made

    def most_seconds(self, length: float) -> float:
        """Return the active seconds that one press may count for a moment of that many seconds."""
        return self.paid_plays * (length + 2 * self.padding) + self.paid_beyond

    def tolerates(self, grade: float, right: float) -> bool:
        """Return whether a grade is right or close enough; else it is missed."""
        return abs(grade - right) <= self.tolerance

    @property
    def largest_batch(self) -> int:
        """The number of places of a whole batch, with hidden ones."""
        return self.batch_size + self.hidden_places

    @property
    def depth(self) -> int:
        """The number of candidates that are stored for each query."""
        return self.batch_size * self.batches

    @all_or_nothing
    def add_member(self, user: User, role: str) -> Membership:
        """Return the person's membership, made with that role if there is none. Worker numbers count up from 1.

        Raises WrongState if the person would see captions and ranks of a corpus that they judge.
        """
        if member := self.memberships.filter(user=user).first():
            return member
        must_stay_blind(user, role, self)
        locked(Campaign.objects.filter(pk=self.pk)).get()
        last = self.memberships.aggregate(last=Max("worker"))["last"] or 0
        return self.memberships.create(user=user, role=role, worker=last + 1)

    @all_or_nothing
    def invite(
        self, role: str, by: Membership | None, lifetime: timedelta, *, places: int | None = None, group: str = ""
    ) -> tuple[Invitation, str]:
        """Make an invitation for whoever has its link. Return it with the link's secret, which is not stored.

        One person joins by it at once; or, with `places`, as many people can ask to join.
        """
        secret, hash = secret_of_a_link()
        fields = {"role": role, "by": by, "hash": hash, "places": places, "group": group}
        made = self.invitations.create(expires=Now() + lifetime, **fields)
        log(by, LogEntry.Kind.INVITATION, made.whom, after=role)
        return made, secret

    @all_or_nothing
    def invite_person(
        self,
        role: str,
        by: Membership,
        lifetime: timedelta,
        *,
        address: str = "",
        name: str = "",
        group: str = "",
        language: str = "",
        by_hand: bool = False,
    ) -> Invitation:
        """Make an invitation for one person. Its link is made again from the row whenever it is sent or shown."""
        seed = secrets.token_urlsafe(32)
        made = self.invitations.create(
            role=role,
            by=by,
            expires=Now() + lifetime,
            hash=hash_of(secret_from(seed, settings.SECRET_KEY)),
            seed=seed,
            address=address,
            name=name,
            group=group,
            language=language,
            by_hand=by_hand,
        )
        log(by, LogEntry.Kind.INVITATION, made.whom, after=role)
        return made

    def store_past_rate(self, before: Decimal | None, all_days: bool) -> None:
        """Store the hourly rate before a change, so that days before today keep it.

        With `all_days`, all days that are not approved get the new rate.
        """
        if all_days:
            self.past_rates.all().delete()  # approved periods hold rates of their own
        elif before is not None and before != self.hourly_rate:
            yesterday = timezone.localdate() - timedelta(days=1)
            PastRate.objects.get_or_create(campaign=self, last=yesterday, defaults={"hourly": before})
