"""Sittings: the rounds of an annotator's exam."""

from __future__ import annotations

from django.db import models
from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import Now

from campaigns.models import Campaign
from judging.models.pool import Batch, BatchQuerySet
from judging.models.states import Kind, SittingResult


class SittingQuerySet(models.QuerySet["Sitting"]):
    def waiting(self) -> SittingQuerySet:
        """Return the sittings that are submitted and not marked yet."""
        return self.filter(result=Sitting.Result.OPEN, ended__isnull=False)


class Sitting(models.Model):
    """One round of one annotator's exam: all pairs in round one, later only those that were returned."""

    Result = SittingResult

    member = models.ForeignKey("campaigns.Membership", models.PROTECT, related_name="sittings")
    round = models.PositiveSmallIntegerField(default=1)
    result = models.CharField(max_length=10, choices=Result.choices, default=Result.OPEN)
    began = models.DateTimeField(db_default=Now())
    ended = models.DateTimeField(null=True)
    pairs = models.PositiveIntegerField(default=0, help_text="judged in this round")
    missed = models.PositiveIntegerField(
        default=0, help_text="pairs whose grade differs from the truth by more than the tolerance"
    )

    objects = SittingQuerySet.as_manager()

    class Meta:
        ordering = ["member", "round"]
        constraints = [
            models.UniqueConstraint(fields=["member", "round"], name="one_sitting_per_round"),
            models.UniqueConstraint(
                fields=["member"], condition=Q(result=SittingResult.OPEN), name="one_open_sitting_per_member"
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
        """Whether the lead may give another round: the exam was failed, and there are pairs to judge again."""
        return self.result == Sitting.Result.FAILED and self.missed > 0 and self.member.qualified is None

    def remaining_batches(self) -> BatchQuerySet:
        """Return the batches of this round that the annotator has not submitted."""
        batches = exam_batches(self.member.campaign)
        if self.round > 1:
            returned = self.member.judgements.filter(returned__isnull=False, candidate__batch=OuterRef("pk"))
            batches = batches.filter(Exists(returned))
        submitted = self.member.assignments.submitted().filter(round=self.round, batch=OuterRef("pk"))
        return batches.exclude(Exists(submitted)).order_by("pk")


def exam_batches(campaign: Campaign) -> BatchQuerySet:
    """Return the batches of the campaign's exam, without those of withdrawn queries."""
    return Batch.objects.in_campaign(campaign).filter(kind=Kind.EXAM, query__withdrawn__isnull=True)
