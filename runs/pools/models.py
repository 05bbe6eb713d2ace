"""Enlargements of a pool, what each judged moment was found by, and the scores with and without them."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models.functions import Now


class Near(models.TextChoices):
    """What becomes of a moment that overlaps a judged one so much that both may be the same."""

    LEAVE = "leave", "Leave them out"
    JUDGE = "judge", "Have them judged like the others"
    REUSE = "reuse", "Give them the grade of the judged moment"


class Enlargement(models.Model):
    """Moments that runs found and nobody has judged, and how many of them a lead has judged."""

    Near = Near

    campaign = models.ForeignKey("campaigns.Campaign", models.PROTECT, related_name="enlargements")
    number = models.PositiveIntegerField(help_text="counts up from 1 in each campaign")
    release = models.ForeignKey(
        "releases.Release", models.PROTECT, related_name="+", help_text="whose moments are judged already"
    )
    lead = models.ForeignKey("campaigns.Membership", models.PROTECT, related_name="+", help_text="who asked")
    at = models.DateTimeField(db_default=Now())
    depth = models.PositiveSmallIntegerField(help_text="how many ranks of each run are looked at")
    iou = models.FloatField(help_text="from which a prediction matches a judged moment")
    runs = models.JSONField(help_text="the numbers of the runs")
    found = models.JSONField(null=True, help_text="the moments, the most decisive first; null until found")
    taken = models.PositiveIntegerField(null=True, help_text="how many of the first moments are judged")
    near = models.CharField(max_length=10, choices=Near.choices, default=Near.LEAVE)
    opened = models.DateTimeField(null=True)
    opened_by = models.ForeignKey("campaigns.Membership", models.PROTECT, null=True, related_name="+")

    class Meta:
        ordering = ["campaign", "-number"]
        constraints = [
            models.UniqueConstraint(fields=["campaign", "number"], name="one_enlargement_per_number"),
            models.CheckConstraint(
                condition=models.Q(opened=None, taken=None, opened_by=None)
                | models.Q(opened__isnull=False, taken__isnull=False, opened_by__isnull=False, found__isnull=False),
                name="enlargement_is_opened_by_a_lead",
            ),
        ]

    def __str__(self) -> str:
        return f"enlargement {self.number}"

    @property
    def moments(self) -> list[dict[str, Any]]:
        """All moments that were found, also those near to judged ones."""
        return self.found["moments"] if self.found else []

    def to_judge(self, near: str) -> list[dict[str, Any]]:
        """Return the moments that annotators can judge, the most decisive first."""
        return [moment for moment in self.moments if near == Near.JUDGE or moment["near"] is None]

    @property
    def reused(self) -> list[dict[str, Any]]:
        """The moments that count with the grade of a judged one, on the lead's word."""
        if not self.opened or self.near != Near.REUSE:
            return []
        return [moment for moment in self.moments if moment["near"]]


class Source(models.Model):
    """A run that found a candidate of an enlargement. No annotator's page or file reads these rows."""

    enlargement = models.ForeignKey(Enlargement, models.PROTECT, related_name="sources")
    candidate = models.ForeignKey("judging.Candidate", models.PROTECT, related_name="+")
    run = models.ForeignKey("runs.Run", models.PROTECT, related_name="found")
    rank = models.PositiveIntegerField(help_text="the best one, from 1, at which the run has the moment")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["candidate", "run"], name="one_source_per_candidate_and_run"),
            models.CheckConstraint(condition=models.Q(rank__gte=1), name="ranks_of_runs_start_at_one"),
        ]

    def __str__(self) -> str:
        return f"rank {self.rank} of {self.run}"


class PoolScore(models.Model):
    """A measure of a run on one release: with the first pool alone, with the whole one, and without its own part."""

    release = models.ForeignKey("releases.Release", models.CASCADE, related_name="pool_scores")
    run = models.ForeignKey("runs.Run", models.CASCADE, related_name="pool_scores")
    measure = models.CharField(max_length=80)
    first = models.FloatField(null=True, help_text="had no pool been enlarged")
    whole = models.FloatField(null=True, help_text="the score")
    without = models.FloatField(null=True, help_text="had the runs of this system added nothing to the pool")
    reused = models.FloatField(null=True, help_text="with reused grades too; null if there are none")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["release", "run", "measure"], name="one_pool_score_per_run_and_measure")
        ]

    def __str__(self) -> str:
        return f"{self.measure} of {self.run} by pools"
