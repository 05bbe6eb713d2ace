"""What has to be done from time to time, whatever jobs there are."""

from importlib import import_module

from django.conf import settings

SECONDS_BETWEEN = 3600.0


def clear_sessions() -> None:
    """Delete the sessions that have expired. Nothing else does, and every sign-in makes one."""
    import_module(settings.SESSION_ENGINE).SessionStore.clear_expired()
