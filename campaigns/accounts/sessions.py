"""How long sessions last."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.http import HttpRequest


def limit(request: HttpRequest) -> None:
    """Let the session end 14 days from now, however often it is written, or soon if nobody is signed in yet."""
    signed_in = request.user.is_authenticated
    request.session.set_expiry(timedelta(seconds=settings.SESSION_COOKIE_AGE) if signed_in else None)
