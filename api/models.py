"""What the API stores: answers to requests with an idempotency key. One that arrives twice is done once."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models.functions import Now
from rest_framework.request import Request
from rest_framework.response import Response

from base.database import decrypt, encrypt
from base.errors import BadValue, KeyReused
from base.text import abbreviated
from base.transactions import all_or_nothing
from jobs.registry import each_hour

HEADER = "Idempotency-Key"
LONGEST = 100  # characters
PATTERN = "^[!-~]+$"
KEPT = timedelta(days=1)
KEPT_HEADERS = ("Location", "ETag")  # headers that are kept with an answer


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


def once(request: Request, act: Callable[[], Response]) -> Response:
    """Do what a request asks for; if its key came before, return what was answered then.

    A request that was refused may be sent again with its key: nothing was done. Raises BadValue if the key is no usable
    text; KeyReused if the key came before with another request.
    """
    key = request.headers.get(HEADER)
    if key is None:
        return act()
    if len(key) > LONGEST or not re.fullmatch(PATTERN, key):
        right = f"1 to {LONGEST} letters, digits and signs of ASCII, new for each request"
        raise BadValue(HEADER, abbreviated(key), right)
    return _once(request, key, act)


@all_or_nothing
def _once(request: Request, key: str, act: Callable[[], Response]) -> Response:
    # Of two requests at once the second waits here until the first is stored.
    fields = {"fingerprint": _fingerprint(request)}
    row, is_new = StoredAnswer.objects.get_or_create(user=request.user, key=key, defaults=fields)
    if not is_new:
        return _stored(row, fields["fingerprint"])
    answer = act()
    headers = {name: answer[name] for name in KEPT_HEADERS if name in answer}
    # It may hold a link or another secret, which no table holds as it is.
    row.answer = encrypt(json.dumps([answer.status_code, answer.data, headers], default=str))
    row.save(update_fields=["answer"])
    return answer


def _fingerprint(request: Request) -> str:
    parts = [request.method, request.path, request.data]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _stored(row: StoredAnswer, fingerprint: str) -> Response:
    if row.fingerprint != fingerprint:
        raise KeyReused(f"{HEADER}: came before with another request; expected a new key for each")
    known: list[Any] = json.loads(decrypt(row.answer))
    status, data, headers = known
    return Response(data, status, headers=headers)


@each_hour
def forget_answers() -> None:
    StoredAnswer.objects.filter(at__lt=Now() - KEPT).delete()
