"""The upkeep of accounts; `jobs.apps` imports this module when Django starts."""

from allauth.usersessions.models import UserSession
from django.contrib.sessions.models import Session
from django.db.models import Exists, OuterRef

from jobs.registry import each_hour


@each_hour
def forget_ended() -> None:
    """Delete the addresses and browsers of sessions that are gone."""
    alive = Session.objects.filter(session_key=OuterRef("session_key"))
    UserSession.objects.filter(~Exists(alive)).delete()
