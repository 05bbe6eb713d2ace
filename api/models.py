"""What the API stores: answers to requests with a key."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models.functions import Now


class StoredAnswer(models.Model):
    """What was answered to a request with an idempotency key. It is forgotten after a day."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+", db_index=False)
    key = models.CharField(max_length=100)
    fingerprint = models.CharField(max_length=64, help_text="SHA-256 of the request")
    answer = models.TextField(help_text="status, content and headers, encrypted by SECRET_KEY")
    at = models.DateTimeField(db_default=Now(), db_index=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "key"], name="one_answer_per_key")]

    def __str__(self) -> str:
        return f"{self.user_id} {self.key}"
