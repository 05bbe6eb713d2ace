"""The lead's word: reviews of settled batches, reopenings, and grades given where annotators did not agree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

if TYPE_CHECKING:
    from campaigns.models.membership import Membership


class Words(models.QuerySet[Any]):
    """Reviews or adjudications: said once, and undone rather than changed."""

    def holding(self) -> Self:
        return self.filter(undone__isnull=True)

    def undo(self, lead: Membership) -> None:
        """Note that they no longer hold; what follows from it is the caller's."""
        self.holding().update(undone=Now(), undone_by=lead)


class Review(models.Model):
    """A verdict on a batch. It is undone, never changed."""

    class Verdict(models.TextChoices):
        SECOND = "second", "Open the second batch"
        CLOSE = "close", "Close the query"

    batch = models.ForeignKey("judging.Batch", models.PROTECT, related_name="reviews")
    lead = models.ForeignKey(
        "campaigns.Membership",
        models.PROTECT,
        null=True,
        related_name="reviews",
        help_text="nobody: a policy",
    )
    verdict = models.CharField(max_length=10, choices=Verdict.choices)
    reason = models.CharField(max_length=500, blank=True)
    at = models.DateTimeField(db_default=Now())
    undone = models.DateTimeField(null=True)
    undone_by = models.ForeignKey("campaigns.Membership", models.PROTECT, null=True, related_name="+")

    objects = Words.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["batch"], condition=Q(undone__isnull=True), name="one_review_of_a_batch_holds"
            )
        ]

    def __str__(self) -> str:
        return self.get_verdict_display()


class Reopening(models.Model):
    """Candidates given to others once more; what was said of them before stays on record, uncounted."""

    campaign = models.ForeignKey("campaigns.Campaign", models.PROTECT, related_name="reopenings")
    lead = models.ForeignKey("campaigns.Membership", models.PROTECT, related_name="reopenings")
    what = models.CharField(max_length=200, help_text="in words: a candidate, a batch, the work of somebody")
    annotator = models.ForeignKey(
        "campaigns.Membership",
        models.PROTECT,
        null=True,
        related_name="+",
        help_text="whose work, if all of it",
    )
    reason = models.CharField(max_length=500)
    at = models.DateTimeField(db_default=Now())

    def __str__(self) -> str:
        return self.what

    @property
    def job_key(self) -> str:
        return f"reopening {self.pk}"


class Adjudication(models.Model):
    """A grade of the lead's own, where there is no consensus. It is undone, never changed, and never a consensus."""

    candidate = models.ForeignKey("judging.Candidate", models.PROTECT, related_name="adjudications")
    lead = models.ForeignKey("campaigns.Membership", models.PROTECT, related_name="adjudications")
    grade = models.PositiveSmallIntegerField()
    before = models.CharField(max_length=20, help_text="the outcome that annotators came to")
    reason = models.CharField(max_length=500)
    at = models.DateTimeField(db_default=Now())
    undone = models.DateTimeField(null=True)
    undone_by = models.ForeignKey("campaigns.Membership", models.PROTECT, null=True, related_name="+")

    objects = Words.as_manager()

    class Meta:
        ordering = ["candidate", "pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["candidate"], condition=Q(undone__isnull=True), name="one_adjudication_holds"
            ),
            models.CheckConstraint(condition=Q(grade__in=[0, 1, 2, 3, 4]), name="adjudged_from_0_to_4"),
            models.CheckConstraint(
                condition=Q(before__in=["discarded", "flagged"]), name="adjudged_where_there_is_no_consensus"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.grade} by the lead"
