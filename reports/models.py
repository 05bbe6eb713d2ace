"""Summaries, which a job computed and stored; periods whose pay a lead approved; views of lists that were saved."""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

LONGEST_NAME, LONGEST_VIEW = 60, 1000  # characters


class Summary(models.Model):
    """One set of statistics of a campaign, replaced when a newer one is computed."""

    campaign = models.ForeignKey("campaigns.Campaign", models.CASCADE, related_name="summaries")
    name = models.CharField(max_length=40)
    made = models.DateTimeField(help_text="when the judgements were read")
    counts = models.JSONField()

    class Meta:
        verbose_name_plural = "summaries"
        constraints = [models.UniqueConstraint(fields=["campaign", "name"], name="one_summary_per_campaign_and_name")]

    def __str__(self) -> str:
        return f"{self.name} of {self.campaign_id}"


class ApprovedPeriod(models.Model):
    """Days whose hours and pay a lead approved. They never change, whatever the settings become."""

    campaign = models.ForeignKey("campaigns.Campaign", models.PROTECT, related_name="approved_periods")
    first = models.DateField(help_text="in the time zone of the pages, as the next")
    last = models.DateField()
    rates = models.JSONField(help_text="lists of a first day, a last day and the hourly rate between them")
    currency = models.CharField(max_length=3, blank=True)
    by = models.ForeignKey("campaigns.Membership", models.PROTECT, related_name="+")
    at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["first"]
        constraints = [
            models.CheckConstraint(condition=Q(first__lte=F("last")), name="a_period_begins_before_it_ends"),
            models.UniqueConstraint(fields=["campaign", "first"], name="one_approved_period_from_a_day"),
        ]

    def __str__(self) -> str:
        return f"{self.first} to {self.last}"


class ApprovedDay(models.Model):
    """What a member did on a day, as it was approved."""

    period = models.ForeignKey(ApprovedPeriod, models.PROTECT, related_name="days")
    member = models.ForeignKey("campaigns.Membership", models.PROTECT, related_name="approved_days")
    day = models.DateField()
    seconds = models.DecimalField(max_digits=9, decimal_places=3, help_text="active seconds that count")
    reported = models.DecimalField(max_digits=9, decimal_places=3, help_text="active seconds of the browser")
    judgements = models.PositiveIntegerField()
    batches = models.PositiveIntegerField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["member", "day"], name="a_day_is_approved_once_for_each_member")]

    def __str__(self) -> str:
        return f"{self.day} of {self.member_id}"


class SavedView(models.Model):
    """Filters, order and columns of a list under a name: a person's own, or for all who see the campaign."""

    campaign = models.ForeignKey("campaigns.Campaign", models.CASCADE, related_name="saved_views")
    listing = models.CharField(max_length=20, help_text="the kind of list")
    name = models.CharField(max_length=LONGEST_NAME)
    by = models.ForeignKey("campaigns.Membership", models.CASCADE, related_name="saved_views")
    is_shared = models.BooleanField(default=False)
    choices = models.CharField(max_length=LONGEST_VIEW, help_text="as in the address of the list")

    class Meta:
        ordering = ["name", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["by", "listing", "name"], name="one_view_of_a_name_for_each_person")
        ]

    def __str__(self) -> str:
        return self.name
