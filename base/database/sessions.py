"""Django's sessions in the database, read by a statement that is written once and not anew at each request."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.backends import db
from django.db import connection
from django.utils import timezone

SELECT = "SELECT session_data FROM django_session WHERE session_key = %s AND expire_date > %s"


OF_STRANGERS = 10 * 60  # seconds after it was last written: how long the session of a stranger lasts


class SessionStore(db.SessionStore):
    def get_session_cookie_age(self) -> int:
        """Return how long the session lasts if nothing else is said of it, so that strangers leave few rows."""
        return settings.SESSION_COOKIE_AGE if SESSION_KEY in self else OF_STRANGERS

    def load(self) -> dict[str, Any]:
        now = connection.ops.adapt_datetimefield_value(timezone.now())
        with connection.cursor() as cursor:
            cursor.execute(SELECT, [self.session_key, now])
            row = cursor.fetchone()
        if row is None:
            self._session_key = None
            return {}
        data: dict[str, Any] = self.decode(row[0])
        return data
