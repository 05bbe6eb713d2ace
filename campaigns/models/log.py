"""The log: what leads did in a campaign, written by each verb in the transaction in which it does it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.db import models
from django.db.models.functions import Now

if TYPE_CHECKING:
    from campaigns.models.membership import Membership

LONGEST = 2000  # characters of what was before or after


class LogEntry(models.Model):
    """Something that a lead did. Entries are never changed or deleted."""

    class Kind(models.TextChoices):
        SETTINGS = "settings", "Setting changed"
        STEERING = "steering", "Work steered"
        REVIEW = "review", "Batch reviewed"
        REVIEW_UNDONE = "review-undone", "Review undone"
        REOPENING = "reopening", "Reopened"
        REOPENING_UNDONE = "reopening-undone", "Reopening undone"
        ADJUDICATION = "adjudication", "Pair graded"
        ADJUDICATION_UNDONE = "adjudication-undone", "Grade taken back"
        FLAG = "flag", "Flag dealt with"
        QUESTION = "question", "Question answered"
        KEPT_ANSWER = "kept-answer", "Answer kept for all"
        WITHDRAWAL = "withdrawal", "Query withdrawn"
        BROUGHT_BACK = "brought-back", "Query brought back"
        ACTION = "action", "Done to many queries"
        ACTION_UNDONE = "action-undone", "Undone for many queries"
        OPENED = "opened", "Batch opened without clips"
        EXAM = "exam", "Exam made"
        TRUTH = "truth", "Truth of the exam"
        WAIVER = "waiver", "Exam waived or repeated"
        MEMBER = "member", "Member changed"
        INVITATION = "invitation", "Invited"
        INVITATION_WITHDRAWN = "invitation-withdrawn", "Invitation withdrawn"
        APPLICANT = "applicant", "Applicant decided"
        GUIDELINE = "guideline", "Guideline changed"
        EXAMPLE = "example", "Example changed"
        MESSAGE = "message", "Message sent"
        PAY = "pay", "Hours approved"
        EXPORT = "export", "Exported"
        RELEASE = "release", "Release frozen"
        WEBHOOK = "webhook", "Webhook changed"

    campaign = models.ForeignKey("campaigns.Campaign", models.PROTECT, related_name="log")
    by = models.ForeignKey("campaigns.Membership", models.PROTECT, related_name="+")
    kind = models.CharField(max_length=25, choices=Kind.choices)
    what = models.CharField(max_length=500, help_text="to what it was done, in words")
    before = models.TextField(blank=True, max_length=LONGEST, help_text="what there was")
    after = models.TextField(blank=True, max_length=LONGEST, help_text="what there is since then")
    at = models.DateTimeField(db_default=Now())

    class Meta:
        verbose_name_plural = "log entries"
        ordering = ["-pk"]
        indexes = [models.Index(fields=["campaign", "kind"]), models.Index(fields=["campaign", "at"])]

    def __str__(self) -> str:
        return f"{self.get_kind_display()}: {self.what}"


def log(lead: Membership | None, kind: LogEntry.Kind, what: object, before: object = "", after: object = "") -> None:
    """Note what a lead does. What a rule does, or who runs the site, is not noted: then there is no lead.

    Call this in the transaction that does it, and only if it changes something.
    """
    if lead is not None:
        texts = {"what": str(what)[:500], "before": in_words(before)[:LONGEST], "after": in_words(after)[:LONGEST]}
        LogEntry.objects.create(campaign_id=lead.campaign_id, by=lead, kind=kind, **texts)


def in_words(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "none", True: "yes", False: "no"}[value]
    return str(value)
