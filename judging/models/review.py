"""Reviews: the lead's decision on a settled batch."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now


class Review(models.Model):
    class Verdict(models.TextChoices):
        SECOND = "second", "Open the second batch"
        CLOSE = "close", "Close the query"

    batch = models.OneToOneField("judging.Batch", models.PROTECT, related_name="lead_review")
    lead = models.ForeignKey("judging.Membership", models.PROTECT, related_name="reviews")
    verdict = models.CharField(max_length=10, choices=Verdict.choices)
    reason = models.CharField(max_length=500, blank=True)
    at = models.DateTimeField(db_default=Now())

    def __str__(self) -> str:
        return self.get_verdict_display()
