"""Worked examples, which show annotators what a grade means."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from judging.consensus import GRADES


class Example(models.Model):
    """A query and a clip with a grade and its reason. Pairs that are still to be judged are never examples."""

    campaign = models.ForeignKey("campaigns.Campaign", models.CASCADE, related_name="examples")
    query = models.TextField()
    moment = models.ForeignKey("corpus.Moment", models.PROTECT, related_name="+")
    clip = models.ForeignKey("corpus.Clip", models.SET_NULL, null=True, related_name="+")
    grade = models.PositiveSmallIntegerField()
    why = models.TextField()
    by = models.ForeignKey("campaigns.Membership", models.PROTECT, null=True, related_name="+")

    class Meta:
        ordering = ["campaign", "-grade", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["campaign", "query", "moment"], name="one_example_per_pair"),
            models.CheckConstraint(condition=Q(grade__in=list(GRADES)), name="example_grade_from_0_to_4"),
        ]

    def __str__(self) -> str:
        return f"{self.grade}: {self.query}"
