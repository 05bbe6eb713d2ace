"""Summaries: statistics of a campaign that a job computed and stored."""

from __future__ import annotations

from django.db import models


class Summary(models.Model):
    """One set of statistics of a campaign, replaced when a newer one is computed."""

    campaign = models.ForeignKey("campaigns.Campaign", models.CASCADE, related_name="summaries")
    name = models.CharField(max_length=40)
    made = models.DateTimeField(help_text="when the judgements were read")
    counts = models.JSONField()

    class Meta:
        verbose_name_plural = "summaries"
        constraints = [
            models.UniqueConstraint(fields=["campaign", "name"], name="one_summary_per_campaign_and_name")
        ]

    def __str__(self) -> str:
        return f"{self.name} of {self.campaign_id}"
