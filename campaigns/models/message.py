"""Messages to annotators, from a lead or from a rule of the campaign."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from django.db import models
from django.db.models import F
from django.db.models.functions import Now
from django.utils.translation import gettext

from base.transactions import all_or_nothing

if TYPE_CHECKING:
    from campaigns.models.membership import Membership

LONGEST_MESSAGE = 2000  # characters


class MessageQuerySet(models.QuerySet["Message"]):
    def unread(self) -> MessageQuerySet:
        return self.filter(read__isnull=True)

    def unread_first(self) -> MessageQuerySet:
        return self.order_by(F("read").desc(nulls_first=True), "-at", "-pk")

    @all_or_nothing
    def send(self, to: Iterable[Membership], text: str, by: Membership) -> int:
        """Send the text to each member who has no unread message with the same text. Return how many were sent."""
        waiting = set(self.unread().filter(by=by, text=text).values_list("to", flat=True))
        new = [Message(to=member, text=text, by=by) for member in to if member.pk not in waiting]
        return len(self.bulk_create(new))


class Message(models.Model):
    """A message to one annotator. It has no sender if a rule sent it."""

    to = models.ForeignKey("campaigns.Membership", models.PROTECT, related_name="messages")
    by = models.ForeignKey("campaigns.Membership", models.PROTECT, null=True, related_name="sent")
    text = models.TextField(max_length=LONGEST_MESSAGE)
    at = models.DateTimeField(db_default=Now())
    read = models.DateTimeField(null=True)

    objects = MessageQuerySet.as_manager()

    class Meta:
        ordering = ["-at", "-pk"]

    def __str__(self) -> str:
        return self.text[:60]

    @property
    def words(self) -> str:
        """The text, translated into the reader's language if a rule sent it."""
        return self.text if self.by_id else gettext(self.text)

    def mark_read(self) -> None:
        """Note when the message was read. Only the first time is stored."""
        Message.objects.unread().filter(pk=self.pk).update(read=Now())
