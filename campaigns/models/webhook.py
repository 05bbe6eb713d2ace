"""Webhooks of campaigns, and what was sent to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import models
from django.db.models.functions import Now

from base.transactions import all_or_nothing
from campaigns.models.log import LogEntry, log

if TYPE_CHECKING:
    from campaigns.models.membership import Membership


class Webhook(models.Model):
    """An address of another site that is told what happens in a campaign."""

    campaign = models.ForeignKey("campaigns.Campaign", models.CASCADE, related_name="webhooks")
    address = models.CharField(max_length=500)
    events = models.JSONField(default=list, help_text="names of the events that are sent")
    secret = models.TextField(help_text="signs what is sent; encrypted by SECRET_KEY")
    by = models.ForeignKey(
        "campaigns.Membership",
        models.PROTECT,
        null=True,
        related_name="+",
        help_text="empty if it was made in the terminal",
    )
    made = models.DateTimeField(db_default=Now())
    enabled = models.BooleanField(default=True, help_text="whether it is told anything")

    def __str__(self) -> str:
        return self.address

    @all_or_nothing
    def enable(self, whether: bool, by: Membership | None = None) -> None:
        """Have the other site told from now on, or no longer. Doing it twice is harmless."""
        if Webhook.objects.filter(pk=self.pk, enabled=not whether).update(enabled=whether):
            words = {True: "enabled", False: "disabled"}
            log(by, LogEntry.Kind.WEBHOOK, self.address, words[not whether], words[whether])
        self.enabled = whether


class Delivery(models.Model):
    """One event for one webhook. A job sends it."""

    webhook = models.ForeignKey(Webhook, models.CASCADE, related_name="deliveries")
    event = models.CharField(max_length=20, help_text="what happened, or a test")
    body = models.TextField(help_text="JSON as it is sent and signed")
    at = models.DateTimeField(db_default=Now(), db_index=True)
    tries = models.PositiveSmallIntegerField(default=0)
    status = models.PositiveSmallIntegerField(null=True, help_text="of the last answer")
    error = models.CharField(max_length=300, blank=True, help_text="why the last attempt came to nothing")
    delivered = models.DateTimeField(null=True)

    class Meta:
        verbose_name_plural = "deliveries"
        ordering = ["-pk"]

    def __str__(self) -> str:
        return f"{self.event} {self.pk}"
