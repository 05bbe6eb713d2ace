"""Asking the API as a program does: with a token, and JSON."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.test import Client

from accounts.models import Token
from campaigns.models import Membership

ALL = Token.Scope.values


class Program:
    """Asks the API with a token of somebody; without a person, as a stranger."""

    def __init__(self, who: Membership | User | None, *scopes: str) -> None:
        self.client, self.headers = Client(), dict[str, str]()
        if who:
            user = who.user if isinstance(who, Membership) else who
            _, secret = Token.objects.make(user, "a program", scopes or ALL, days=1)
            self.headers["Authorization"] = f"Bearer {secret}"

    def ask(self, method: str, address: str, body: Any = None, **headers: str) -> Any:
        """Ask below /api/v1; header names have underscores in place of hyphens."""
        address = address if address.startswith("/") else f"/api/v1/{address}"
        sent = self.headers | {name.replace("_", "-"): value for name, value in headers.items()}
        if method in ("GET", "HEAD"):
            return getattr(self.client, method.lower())(address, body, headers=sent)
        content = {} if body is None else {"data": body, "content_type": "application/json"}
        return getattr(self.client, method.lower())(address, headers=sent, **content)

    def get(self, address: str, **query: Any) -> Any:
        return self.ask("GET", address, query or None)

    def post(self, address: str, body: Any = None, **headers: str) -> Any:
        return self.ask("POST", address, body, **headers)


def problem_in(answer: Any, status: int) -> dict[str, Any]:
    """The problem document of an answer with that status."""
    assert answer.status_code == status, answer.content
    assert answer["Content-Type"] == "application/problem+json"
    document: dict[str, Any] = answer.json()
    assert document["status"] == status
    return document
