"""Events: the history of a membership."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now


class Event(models.Model):
    """Something that happened to a membership. Events are never changed or deleted."""

    class Kind(models.TextChoices):
        JOINED = "joined"
        QUALIFIED = "qualified"
        FAILED = "failed", "failed the exam"
        WARNED = "warned"
        PAUSED = "paused"
        RESUMED = "resumed"
        LEFT = "left"
        HANDED_OVER = "handed over", "work handed over"
        ROLE = "role", "role changed"
        OPENED = "opened", "batch opened without all clips"

    member = models.ForeignKey("campaigns.Membership", models.PROTECT, related_name="events")
    kind = models.CharField(max_length=20, choices=Kind.choices)
    by = models.ForeignKey(
        "campaigns.Membership", models.PROTECT, null=True, related_name="+", help_text="empty if a rule did it"
    )
    reason = models.CharField(max_length=500, blank=True, help_text="the reason, for the lead")
    at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["-at", "-pk"]
        indexes = [models.Index(fields=["member", "kind", "at"])]

    def __str__(self) -> str:
        return f"{self.get_kind_display()}: {self.reason}"
