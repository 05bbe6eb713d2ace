"""Campaigns, and the people in them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db import models
from django.db.models import F, Max, Q
from django.db.models.functions import Now

from base.errors import Outdated
from base.transactions import all_or_nothing, locked
from campaigns.guideline_text import GUIDELINE
from campaigns.models.guideline import Guideline
from campaigns.models.invitation import Invitation, secret_of_a_link
from campaigns.models.membership import Membership
from corpus.models import Corpus

# What a campaign is before anybody says otherwise: TVR-Ranking's numbers.
BATCH_SIZE = 20
BATCHES = 2
TOLERANCE = 1  # the largest difference at which two grades agree
LAST = 5  # candidates at a batch's end whose grades tell whether there is more to find
SECOND_BATCH_FROM = 2.0  # mean grade of those last
EXAM_ROUNDS = 3
CHECK_RATES = (0.05, 0.15)
CHECK_WARN, CHECK_PAUSE = 0.25, 0.4  # shares of checks further than the tolerance from what they should be


class CampaignQuerySet(models.QuerySet["Campaign"]):
    def of(self, user: Any) -> CampaignQuerySet:
        """Those that the person belongs to, also while paused."""
        return self.filter(memberships__user=user, memberships__state__in=Membership.MAY_LEARN)

    def led_by(self, user: Any) -> CampaignQuerySet:
        """Those whose hidden side the person may see."""
        return self.filter(
            memberships__user=user,
            memberships__state=Membership.State.ACTIVE,
            memberships__role__in=Membership.SEES_ALL,
        )


class PastRate(models.Model):
    """What an hour was paid before the rate changed."""

    campaign = models.ForeignKey("campaigns.Campaign", models.CASCADE, related_name="past_rates")
    last = models.DateField(help_text="the last day that it holds for, in the time zone of the pages")
    hourly = models.DecimalField(max_digits=8, decimal_places=2)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["campaign", "last"], name="one_rate_until_a_day")]

    def __str__(self) -> str:
        return f"{self.hourly} until {self.last}"


class Campaign(models.Model):
    name = models.SlugField(max_length=100, unique=True)
    title = models.CharField(max_length=200, blank=True)
    corpus = models.ForeignKey(Corpus, models.PROTECT, related_name="campaigns")
    batch_size = models.PositiveSmallIntegerField(default=BATCH_SIZE)
    batches = models.PositiveSmallIntegerField(default=BATCHES)
    tolerance = models.PositiveSmallIntegerField(default=TOLERANCE)
    order_seed = models.BigIntegerField(
        default=0, help_text="of the order in which each annotator sees candidates"
    )
    # What annotators see, and how
    padding = models.FloatField(default=0, help_text="seconds shown before and after each moment")
    sound = models.BooleanField(default=False, help_text="whether clips are heard")
    play_once = models.BooleanField(
        default=False, help_text="whether a clip must have played to its end before it is graded"
    )
    # Who may judge, and how that is watched
    exam = models.BooleanField(default=False, help_text="whether only who passed the exam gets work")
    exam_rounds = models.PositiveSmallIntegerField(default=EXAM_ROUNDS, help_text="attempts at the exam")
    check_rate = models.FloatField(
        default=0, help_text="share of judgements that are quiet checks; 0 is none"
    )
    check_warn = models.FloatField(default=CHECK_WARN, help_text="share of failed checks that warns")
    check_pause = models.FloatField(default=CHECK_PAUSE, help_text="share of failed checks that pauses")
    hourly_rate = models.DecimalField(max_digits=8, decimal_places=2, null=True, blank=True)
    currency = models.CharField(max_length=3, blank=True)
    # The lead's decisions
    second_from = models.FloatField(
        default=SECOND_BATCH_FROM, help_text="mean grade of the last five that opens the second batch"
    )
    auto_second_from = models.FloatField(null=True, blank=True, help_text="mean that opens it by itself")
    auto_close_below = models.FloatField(null=True, blank=True, help_text="mean that closes by itself")
    encoder = models.CharField(max_length=200, blank=True, help_text="the model that ranked its candidates")
    imported = models.DateTimeField(
        null=True, blank=True, help_text="when finished ratings were imported into it"
    )
    created = models.DateTimeField(db_default=Now())
    touched = models.DateTimeField(
        null=True, blank=True, help_text="when a lead last changed what its numbers are counted from"
    )

    objects = CampaignQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(batch_size__gte=1), name="batch_holds_a_candidate"),
            models.CheckConstraint(condition=Q(batches__gte=1, batches__lte=2), name="never_a_third_batch"),
            models.CheckConstraint(condition=Q(tolerance__lte=3), name="tolerance_within_scale"),
            models.CheckConstraint(condition=Q(padding__gte=0, padding__lte=60), name="padding_is_short"),
            models.CheckConstraint(condition=Q(exam_rounds__gte=1), name="exam_has_a_round"),
            models.CheckConstraint(
                condition=Q(check_rate=0) | Q(check_rate__range=CHECK_RATES), name="checks_are_few_or_none"
            ),
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

    @property
    def job_key(self) -> str:
        """Of its long work: at most one job of each kind."""
        return f"campaign {self.name}"

    def touch(self) -> None:
        """A lead changed what its numbers are counted from: those that are kept are old."""
        Campaign.objects.filter(pk=self.pk).update(touched=Now())

    @property
    def guideline(self) -> Guideline:
        """The version in force; the one that every campaign begins with is number 0."""
        return self.guidelines.order_by("version").last() or self.first_guideline

    @property
    def first_guideline(self) -> Guideline:
        return Guideline(campaign=self, version=0, text=GUIDELINE)

    @all_or_nothing
    def write_guideline(self, lead: Membership, text: str, started_from: int) -> Guideline:
        """Put a new version in force, written from an earlier one; the same text again adds nothing.

        Raises
        ------
        Outdated
            When somebody put another version in force since the one that the lead started from.
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
        return self.guidelines.create(version=present.version + 1, text=text, by=lead)

    @property
    def depth(self) -> int:
        """Candidates kept for each query."""
        return self.batch_size * self.batches

    @all_or_nothing
    def add_member(self, user: User, role: str) -> Membership:
        """The person's membership; a new one has that role. Worker numbers follow the order of joining."""
        if member := self.memberships.filter(user=user).first():
            return member
        locked(Campaign.objects.filter(pk=self.pk)).get()
        last = self.memberships.aggregate(last=Max("worker"))["last"] or 0
        return self.memberships.create(user=user, role=role, worker=last + 1)

    def invite(self, role: str, by: Membership | None, lifetime: timedelta) -> tuple[Invitation, str]:
        """An invitation, and the secret of its link, which is nowhere else."""
        secret, hash = secret_of_a_link()
        expires = Now() + lifetime
        return self.invitations.create(role=role, by=by, hash=hash, expires=expires), secret
