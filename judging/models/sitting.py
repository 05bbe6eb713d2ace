"""Sittings: an annotator's exam, round by round."""

from __future__ import annotations

from django.db import models
from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import Now

from campaigns.models import Campaign
from judging.models.pool import Batch, BatchQuerySet, Kind


class SittingQuerySet(models.QuerySet["Sitting"]):
    def waiting(self) -> SittingQuerySet:
        """Handed in, and not marked yet."""
        return self.filter(result=Sitting.Result.OPEN, ended__isnull=False)


class Sitting(models.Model):
    """One round of one annotator's exam: all pairs the first time, then those that came back."""

    class Result(models.TextChoices):
        OPEN = "open"  # being judged, or waiting for others' grades
        PASSED = "passed"
        RETURNED = "returned"  # some pairs came back
        FAILED = "failed"  # and no round is left

    member = models.ForeignKey("campaigns.Membership", models.PROTECT, related_name="sittings")
    round = models.PositiveSmallIntegerField(default=1)
    result = models.CharField(max_length=10, choices=Result.choices, default=Result.OPEN)
    began = models.DateTimeField(db_default=Now())
    ended = models.DateTimeField(null=True)
    pairs = models.PositiveIntegerField(default=0, help_text="judged in this round")
    off = models.PositiveIntegerField(default=0, help_text="further than the tolerance from the truth")

    objects = SittingQuerySet.as_manager()

    class Meta:
        ordering = ["member", "round"]
        constraints = [
            models.UniqueConstraint(fields=["member", "round"], name="one_sitting_per_round"),
            models.UniqueConstraint(
                fields=["member"], condition=Q(result="open"), name="one_open_sitting_per_member"
            ),
        ]

    def __str__(self) -> str:
        return f"round {self.round}: {self.result}"

    @property
    def is_open(self) -> bool:
        return self.result == Sitting.Result.OPEN

    @property
    def is_waiting(self) -> bool:
        return self.is_open and self.ended is not None

    @property
    def may_be_repeated(self) -> bool:
        """Whether the lead may give another round: some pairs are off, so that they can come back."""
        return self.result == Sitting.Result.FAILED and self.off > 0 and self.member.qualified is None

    def left(self) -> BatchQuerySet:
        """The batches of this round that she has not submitted."""
        batches = exam_batches(self.member.campaign)
        if self.round > 1:
            back = self.member.judgements.filter(returned__isnull=False, candidate__batch=OuterRef("pk"))
            batches = batches.filter(Exists(back))
        done = self.member.assignments.submitted().filter(round=self.round, batch=OuterRef("pk"))
        return batches.exclude(Exists(done)).order_by("pk")


def exam_batches(campaign: Campaign) -> BatchQuerySet:
    return Batch.objects.in_campaign(campaign).filter(kind=Kind.EXAM, query__withdrawn__isnull=True)
