"""How long sessions last, and what is known of those that have ended."""

from __future__ import annotations

from datetime import timedelta

from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib.sessions.models import Session
from django.db.models import Exists, OuterRef
from django.http import HttpRequest

from jobs.registry import each_hour


def wait(request: HttpRequest, seconds: int) -> None:
    """Give somebody who is not signed in that much time, where ten minutes are too few."""
    if not request.user.is_authenticated:
        request.session.set_expiry(seconds)


def limit(request: HttpRequest) -> None:
    """Let the session end 14 days from now, however often it is written, or soon if nobody is signed in yet."""
    signed_in = request.user.is_authenticated
    request.session.set_expiry(timedelta(seconds=settings.SESSION_COOKIE_AGE) if signed_in else None)


@each_hour
def forget_ended() -> None:
    """Delete the addresses and browsers of sessions that are gone."""
    alive = Session.objects.filter(session_key=OuterRef("session_key"))
    UserSession.objects.filter(~Exists(alive)).delete()
