"""Campaigns, their settings, and the numbered versions of what they tell annotators."""

from __future__ import annotations

import secrets
from datetime import timedelta
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.validators import BaseValidator, MaxValueValidator, MinValueValidator
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
MOST_JUDGEMENTS = 10_000_000  # that a limit may name
MEAN_GRADE = (0, 4)  # the range of a mean grade
CHECK_WARN, CHECK_PAUSE = 0.25, 0.4  # shares of missed check pairs


def between(least: float, most: float) -> list[BaseValidator]:
    return [MinValueValidator(least), MaxValueValidator(most)]


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
    title = models.CharField("Title", max_length=200, blank=True, help_text="People see it instead of the short name.")
    corpus = models.ForeignKey(Corpus, models.PROTECT, related_name="campaigns")
    batch_size = models.PositiveSmallIntegerField(
        "Candidates in a batch", default=BATCH_SIZE, validators=between(1, 100), help_text="20 in the published method."
    )
    batches = models.PositiveSmallIntegerField(
        "Batches of a query, at most",
        default=BATCHES,
        validators=between(1, 2),
        help_text="2 in the published method: ranks 1-20, then 21-40 where there is more to find.",
    )
    tolerance = models.PositiveSmallIntegerField(
        "Grades agree when they differ by at most",
        default=TOLERANCE,
        validators=between(0, 3),
        help_text="1 in the published method. A candidate whose grades differ by more goes to two other annotators.",
    )
    order_seed = models.BigIntegerField(
        "Seed of the order of clips",
        default=random_seed,
        help_text="The order of clips and the draw of checks follow from this number. Annotators must not know it.",
    )
    # What annotators see, and how
    padding = models.FloatField(
        "Seconds around a moment",
        default=0,
        validators=between(0, 60),
        help_text="Time shown before and after each moment, 0 to 60. Annotators then see more than they grade.",
    )
    sound = models.BooleanField(
        "Clips have sound", default=False, help_text="Annotators hear the clips where the videos have sound."
    )
    opens_without_films = models.BooleanField(
        default=True,
        db_default=True,
        help_text="whether batches open although there is no film for clips of them; false for campaigns that are made "
        "from a draft, until a lead decides so",
    )
    play_once = models.BooleanField(
        "A clip must play to its end before it is graded",
        default=False,
        help_text="The keys 0-4 do nothing until the clip has played to its end.",
    )
    watch_first = models.FloatField(
        "Seconds that a clip must move before it is graded",
        default=WATCH_FIRST,
        validators=between(0, 10),
        help_text="0 to 10. A key that comes sooner grades nothing, so that a double press grades no clip unseen.",
    )
    # Who may judge, and how that is watched
    exam = models.BooleanField(
        "Annotators must pass the exam before they get work",
        default=False,
        help_text="New annotators take the exam first. You may let anybody work without it.",
    )
    exam_rounds = models.PositiveSmallIntegerField(
        "Rounds of the exam",
        default=EXAM_ROUNDS,
        validators=between(1, 10),
        help_text="Rounds in which missed pairs come back before the exam is failed, 1 to 10.",
    )
    may_return = models.BooleanField(
        "Who began a batch may judge its contested clips if nobody else is left",
        default=False,
        help_text="They know then that others disagreed. Their grades are asked again. Otherwise the batch waits.",
    )
    hidden_places = models.PositiveSmallIntegerField(
        "Hidden places in each batch",
        default=0,
        validators=between(0, MOST_HIDDEN),
        help_text=f"0 for no checks, up to {MOST_HIDDEN}. Every batch, also of round two, is then filled to one size.",
    )
    mixes_queries = models.BooleanField(
        "Contested clips of several queries make one batch",
        default=False,
        help_text="The query then changes within the batch. Otherwise hidden places fill it with clips of "
        "its own query.",
    )
    check_warn = models.FloatField(
        "Warn from a share of missed checks of",
        default=CHECK_WARN,
        validators=between(0, 1),
        help_text="Between 0 and 1. An annotator who misses this share of the checks gets a message.",
    )
    check_pause = models.FloatField(
        "Pause from a share of missed checks of",
        default=CHECK_PAUSE,
        validators=between(0, 1),
        help_text="Between 0 and 1, at least the warning's share. Work then stops until you decide.",
    )
    has_groups = models.BooleanField(default=False, help_text="whether queries are for groups of annotators")
    week_quota = models.PositiveIntegerField(
        "Judgements of all annotators in a week, at most",
        null=True,
        blank=True,
        validators=between(1, MOST_JUDGEMENTS),
        help_text="Empty for no limit. Weeks begin on Monday. A batch is handed out while a whole one fits.",
    )
    hourly_rate = models.DecimalField(
        "Pay for an hour",
        max_digits=8,
        decimal_places=2,
        null=True,
        blank=True,
        validators=between(0, 999_999),
        help_text="Annotators see what they have earned. A new rate holds from today on.",
    )
    currency = models.CharField(
        "Currency", max_length=3, blank=True, help_text="Three letters of ISO 4217, like SGD, EUR or INR."
    )
    paid_plays = models.PositiveSmallIntegerField(
        "Plays of a clip that one press may count",
        default=PAID_PLAYS,
        validators=between(1, MOST_PLAYS),
        help_text=f"1 to {MOST_PLAYS}. One press counts no more seconds than these plays take, and those below.",
    )
    paid_beyond = models.PositiveSmallIntegerField(
        "Seconds beyond these plays",
        default=PAID_BEYOND,
        validators=between(0, MOST_BEYOND),
        help_text=f"0 to {MOST_BEYOND}. The rest of what a browser reports is cut. A change holds for later claims.",
    )
    paid_exam = models.BooleanField(
        "The exam is paid",
        default=False,
        help_text="Annotators read this before they begin it. A change holds for rounds that begin later.",
    )
    # Runs, and who sees what of them
    runs_a_day = models.PositiveSmallIntegerField(
        "Runs of a researcher on a day, at most",
        null=True,
        blank=True,
        validators=between(1, 1000),
        help_text="Empty for no limit. Runs with faults do not count. Leads have no limit.",
    )
    held_back_runs = models.PositiveSmallIntegerField(
        "Runs of a person on the held-back split, at most",
        default=3,
        validators=between(1, 100),
        help_text="Each person chooses which of their runs are scored there. More runs reveal more about its grades.",
    )
    public_board = models.BooleanField(
        "Everybody may see the leaderboard of listed runs",
        default=False,
        help_text="Runs appear there only if their owners chose it. It names no query.",
    )
    held_back = models.CharField(
        max_length=20, blank=True, help_text="split whose grades only leads see; empty if none is held back"
    )
    # The lead's decisions
    second_from = models.FloatField(
        "Recommend a second batch from a mean of",
        default=SECOND_BATCH_FROM,
        validators=between(*MEAN_GRADE),
        help_text="Mean grade of a batch's last five, 0 to 4. From here on the batch page recommends another.",
    )
    auto_second_from = models.FloatField(
        "Open the second batch automatically from a mean of",
        null=True,
        blank=True,
        validators=between(*MEAN_GRADE),
        help_text="Applies without you to batches that settle from now on. Empty: you decide.",
    )
    auto_close_below = models.FloatField(
        "Close the query automatically below a mean of",
        null=True,
        blank=True,
        validators=between(*MEAN_GRADE),
        help_text="Applies without you to batches that settle from now on. Empty: you decide.",
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

    def invite(
        self, role: str, by: Membership | None, lifetime: timedelta, *, places: int | None = None, group: str = ""
    ) -> tuple[Invitation, str]:
        """Make an invitation for whoever has its link. Return it with the link's secret, which is not stored.

        One person joins by it at once; or, with `places`, as many people can ask to join.
        """
        secret = secret_of_a_link()[0]
        return self._store_invitation(role, by, lifetime, secret, places=places, group=group), secret

    def invite_person(self, role: str, by: Membership, lifetime: timedelta, **about: Any) -> Invitation:
        """Make an invitation for one person. Its link is made again from the row whenever it is sent or shown.

        about: the columns `address`, `name`, `group`, `language` and `by_hand`, as far as they are known.
        """
        seed = secrets.token_urlsafe(32)
        return self._store_invitation(role, by, lifetime, secret_from(seed, settings.SECRET_KEY), seed=seed, **about)

    @all_or_nothing
    def _store_invitation(
        self, role: str, by: Membership | None, lifetime: timedelta, secret: str, **fields: Any
    ) -> Invitation:
        hash, expires = hash_of(secret), Now() + lifetime
        made = self.invitations.create(role=role, by=by, hash=hash, expires=expires, **fields)
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
