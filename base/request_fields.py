"""Reading fields of requests. A wrong field is refused with what was found and what would be right."""

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest
from django.utils import timezone

from base.errors import BadValue
from base.text import abbreviated, storable

KEY = 18  # digits that a primary key may have


def is_whole(value: str, digits: int = 9) -> bool:
    """Return whether a text from an address or a form is a whole number of at most so many digits."""
    return value.isascii() and value.isdecimal() and len(value) <= digits


def whole(field: str, value: str, right: str = "a whole number", digits: int = 9) -> int:
    """Return the whole number that a text from an address or a form says.

    Raises
    ------
    BadValue
        If the text is no whole number, or has too many digits.
    """
    if not is_whole(value, digits):
        raise BadValue(field, abbreviated(value), right)
    return int(value)


def whole_in(body: Mapping[str, Any], field: str, default: str = "") -> int:
    """Return the whole number that a field of a form holds."""
    return whole(field, str(body.get(field, default)))


def one_of(field: str, value: object, allowed: Collection[str]) -> str:
    """Return the value if it is one of those allowed.

    Raises
    ------
    BadValue
        If it is none of them; the message names them all.
    """
    if not isinstance(value, str) or value not in allowed:
        raise BadValue(field, abbreviated(value), f"one of {', '.join(allowed)}")
    return value


def text_in(body: Mapping[str, Any], field: str, most: int) -> str:
    """Return a text field without white space around it; empty if the field is missing.

    Raises
    ------
    BadValue
        If it is no text, is longer than `most` characters, or has characters that cannot be stored.
    """
    value = body.get(field, "")
    if not isinstance(value, str) or len(value) > most or not storable(value):
        raise BadValue(field, abbreviated(value), f"a text of at most {most} characters")
    return value.strip()


def reason_in(body: Mapping[str, Any], most: int = 500) -> str:
    """Return the field `reason`, which must not be empty, because it is kept on record."""
    if reason := text_in(body, "reason", most):
        return reason
    raise BadValue("reason", "empty", "a few words; they are kept on record")


def days_of_week(value: str) -> tuple[datetime, datetime]:
    """Return the beginning and the end of a week that is written as 2026-W05.

    Raises
    ------
    BadValue
        If the text is no week.
    """
    try:
        monday = datetime.strptime(f"{value}-1", "%G-W%V-%u")
    except ValueError as fault:
        raise BadValue("week", repr(value[:20]), "a week as 2026-W05") from fault
    if not 2000 <= monday.year <= 2200:
        raise BadValue("week", value, "a week of the years 2000 to 2200")
    return timezone.make_aware(monday), timezone.make_aware(monday + timedelta(days=7))


def site_of(request: HttpRequest) -> str:
    """Return the address of this site, to which links lead that others get: without a slash at its end.

    It is the setting SITE_URL. Without that it is the host of the request, which is one of ALLOWED_HOSTS. Its port is
    what the browser sent, so it is left out unless this server listens there or CSRF_TRUSTED_ORIGINS names it.
    """
    if settings.SITE_URL:
        return str(settings.SITE_URL)
    own = f"{request.scheme}://{request.get_host()}"
    port = urlsplit(own).port
    listens = not settings.TRUSTED_PROXIES and str(port) == request.get_port()
    return own if port is None or listens or own in settings.CSRF_TRUSTED_ORIGINS else own.rpartition(":")[0]
