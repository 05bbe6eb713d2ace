"""What is taken away from a server, as middleware, for the controls: the same fault must then do harm."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from django.db import connection, connections, models
from django.http import HttpRequest, HttpResponse, JsonResponse

Respond = Callable[[HttpRequest], HttpResponse]
SECONDS_LATER = 1.0


class NoLocks:
    """No row is locked; on SQLite, where the transaction is the lock, there are no transactions."""

    def __init__(self, get_response: Respond) -> None:
        from base import transactions

        self.get_response = get_response
        models.QuerySet.select_for_update = _unlocked  # type: ignore[method-assign,assignment]
        if connection.vendor == "sqlite":
            none = SimpleNamespace(atomic=contextlib.nullcontext, get_connection=lambda: connection)
            setattr(transactions, "transaction", none)  # noqa: B010 - a module does not export what it imports

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)


def _unlocked(rows: models.QuerySet[Any], **options: Any) -> models.QuerySet[Any]:
    return rows


class AcknowledgesFirst:
    """A grade is acknowledged at once, and stored a second later."""

    def __init__(self, get_response: Respond) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if "/judgements/" not in request.path:
            return self.get_response(request)
        assert request.body  # it is read while somebody listens
        threading.Timer(SECONDS_LATER, self._store, [request]).start()
        return JsonResponse({})

    def _store(self, request: HttpRequest) -> None:
        self.get_response(request)
        connections.close_all()
