"""Judgements and their revisions: nothing that was said is ever changed or lost."""

from __future__ import annotations

from uuid import UUID

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now


class Judgement(models.Model):
    """What one annotator thinks of one candidate; it counts from submission on, in one of four seats."""

    assignment = models.ForeignKey("judging.Assignment", models.PROTECT, related_name="judgements")
    candidate = models.ForeignKey("judging.Candidate", models.PROTECT, related_name="judgements")
    annotator = models.ForeignKey("judging.Membership", models.PROTECT, related_name="judgements")
    grade = models.PositiveSmallIntegerField(help_text="of the last revision")
    seat = models.PositiveSmallIntegerField(null=True, help_text="1-4 when it counts, else nothing")

    class Meta:
        ordering = ["candidate", "seat"]
        constraints = [
            models.UniqueConstraint(
                fields=["candidate", "annotator"], name="nobody_judges_a_candidate_twice"
            ),
            models.UniqueConstraint(fields=["candidate", "seat"], name="one_judgement_per_seat"),
            models.CheckConstraint(condition=Q(grade__in=[0, 1, 2, 3, 4]), name="grade_from_0_to_4"),
            models.CheckConstraint(
                condition=Q(seat__isnull=True) | Q(seat__in=[1, 2, 3, 4]),
                name="at_most_four_judgements_count",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.grade} by {self.annotator_id}"

    def revise(self, grade: int, key: UUID, seconds: float | None) -> Revision:
        """Add what is said now; the caller holds the assignment's lock."""
        revision = Revision.objects.create(
            judgement=self, number=self.revisions.count() + 1, grade=grade, key=key, seconds=seconds
        )
        if self.grade != grade:
            self.grade = grade
            self.save(update_fields=["grade"])
        return revision


class Revision(models.Model):
    """One press of a key."""

    judgement = models.ForeignKey("judging.Judgement", models.PROTECT, related_name="revisions")
    number = models.PositiveSmallIntegerField()
    grade = models.PositiveSmallIntegerField()
    seconds = models.FloatField(null=True, help_text="from seeing the clip to pressing, as the browser says")
    key = models.UUIDField(unique=True, help_text="the browser's idempotency key")
    at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["judgement", "number"]
        constraints = [
            models.UniqueConstraint(fields=["judgement", "number"], name="revisions_are_numbered"),
            models.CheckConstraint(condition=Q(grade__in=[0, 1, 2, 3, 4]), name="revised_grade_from_0_to_4"),
            models.CheckConstraint(
                condition=Q(seconds__isnull=True) | Q(seconds__gte=0), name="seconds_are_not_negative"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.grade}, revision {self.number}"


class Flag(models.Model):
    class Reason(models.TextChoices):
        CLIP = "clip", "The clip is missing or broken"
        QUERY = "query", "The query is unclear"
        OTHER = "other", "I cannot judge this"

    assignment = models.ForeignKey("judging.Assignment", models.PROTECT, related_name="flags")
    candidate = models.ForeignKey("judging.Candidate", models.PROTECT, related_name="flags")
    reason = models.CharField(max_length=10, choices=Reason.choices)
    comment = models.CharField(max_length=500, blank=True)
    at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["assignment", "candidate"], name="one_flag_per_assignment_and_candidate"
            )
        ]

    def __str__(self) -> str:
        return self.get_reason_display()
