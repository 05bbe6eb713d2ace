"""Sittings, which are the rounds of an annotator's exam, and practice with clips whose answer is known."""

from __future__ import annotations

from django.db import models
from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import Now

from campaigns.models import Campaign, Membership
from judging.consensus import GRADES
from judging.models.judgement import COUNTED, REPORTED
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
    is_paid = models.BooleanField(default=False, help_text="as the annotator read before the round began")
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

    @classmethod
    def next_of(cls, member: Membership, last: int = 0) -> Sitting:
        """Return the member's round after the last one, paid or not as the campaign's setting says now. Not saved."""
        return cls(member=member, round=last + 1, is_paid=member.campaign.paid_exam)

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


class Practice(models.Model):
    """A clip with a known answer that an annotator took to practise: an example, or a pair of the exam."""

    annotator = models.ForeignKey("campaigns.Membership", models.PROTECT, related_name="practices")
    example = models.ForeignKey("judging.Example", models.SET_NULL, null=True, related_name="+")
    candidate = models.ForeignKey("judging.Candidate", models.PROTECT, null=True, related_name="+")
    began = models.DateTimeField(db_default=Now(), help_text="when its clock began")
    grade = models.PositiveSmallIntegerField(null=True, help_text="null until it is answered")
    at = models.DateTimeField(null=True, help_text="when it was answered")
    reported = models.FloatField(null=True, help_text=REPORTED)
    seconds = models.FloatField(null=True, help_text=COUNTED)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["annotator"], condition=Q(at__isnull=True), name="one_clip_is_practised_at_a_time"
            ),
            models.CheckConstraint(
                condition=Q(at__isnull=True, grade__isnull=True, seconds__isnull=True)
                | Q(at__isnull=False, grade__in=list(GRADES)),
                name="practised_grade_from_0_to_4",
            ),
            models.CheckConstraint(
                condition=Q(seconds__isnull=True) | Q(seconds__gte=0), name="practised_seconds_are_not_negative"
            ),
        ]
        indexes = [models.Index(fields=["annotator", "at"], name="practice_in_its_time")]

    def __str__(self) -> str:
        return f"{self.grade}, practised"


def exam_batches(campaign: Campaign) -> BatchQuerySet:
    """Return the batches of the campaign's exam, without those of withdrawn queries."""
    return Batch.objects.in_campaign(campaign).filter(kind=Kind.EXAM, query__withdrawn__isnull=True)
