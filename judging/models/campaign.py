"""Campaigns, and the people in them."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import models, transaction
from django.db.models import Max, Q
from django.db.models.functions import Now

from corpus.models import Corpus
from judging.consensus import TOLERANCE
from judging.guideline import GUIDELINE

# What a campaign is before anybody says otherwise: TVR-Ranking's numbers.
BATCH_SIZE = 20
BATCHES = 2
LAST = 5  # candidates at a batch's end whose grades tell whether there is more to find
SECOND_BATCH_FROM = 2.0  # mean grade of those last


class CampaignQuerySet(models.QuerySet["Campaign"]):
    def of(self, user: Any) -> CampaignQuerySet:
        return self.filter(memberships__user=user, memberships__state=Membership.State.ACTIVE)

    def led_by(self, user: Any) -> CampaignQuerySet:
        """Those whose hidden side the person may see."""
        return self.filter(
            memberships__user=user,
            memberships__state=Membership.State.ACTIVE,
            memberships__role__in=Membership.SEES_ALL,
        )


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
    guideline = models.TextField(default=GUIDELINE)
    encoder = models.CharField(max_length=200, blank=True, help_text="the model that ranked its candidates")
    created = models.DateTimeField(db_default=Now())

    objects = CampaignQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(batch_size__gte=1), name="batch_holds_a_candidate"),
            models.CheckConstraint(condition=Q(batches__gte=1, batches__lte=2), name="never_a_third_batch"),
            models.CheckConstraint(condition=Q(tolerance__lte=3), name="tolerance_within_scale"),
        ]

    def __str__(self) -> str:
        return self.title or self.name

    @property
    def depth(self) -> int:
        """Candidates kept for each query."""
        return self.batch_size * self.batches

    def add_member(self, user: User, role: str) -> Membership:
        """The person's membership with that role; worker numbers follow the order of joining."""
        with transaction.atomic():
            Campaign.objects.select_for_update().get(pk=self.pk)
            last = self.memberships.aggregate(last=Max("worker"))["last"] or 0
            member, _ = Membership.objects.update_or_create(
                campaign=self,
                user=user,
                defaults={"role": role},
                create_defaults={"role": role, "worker": last + 1},
            )
        return member


class Membership(models.Model):
    class Role(models.TextChoices):
        ANNOTATOR = "annotator"
        LEAD = "lead"
        RESEARCHER = "researcher"

    class State(models.TextChoices):
        ACTIVE = "active"
        PAUSED = "paused"

    SEES_ALL = (Role.LEAD, Role.RESEARCHER)

    campaign = models.ForeignKey(Campaign, models.CASCADE, related_name="memberships")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=10, choices=Role.choices)
    worker = models.PositiveIntegerField(help_text="stands for the person in everything exported")
    state = models.CharField(max_length=10, choices=State.choices, default=State.ACTIVE)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["campaign", "user"], name="one_membership_per_person"),
            models.UniqueConstraint(fields=["campaign", "worker"], name="one_person_per_worker_number"),
        ]

    def __str__(self) -> str:
        return f"{self.role} {self.worker}"

    @property
    def may_judge(self) -> bool:
        return self.role == Membership.Role.ANNOTATOR and self.state == Membership.State.ACTIVE

    @property
    def may_review(self) -> bool:
        return self.role == Membership.Role.LEAD and self.state == Membership.State.ACTIVE
