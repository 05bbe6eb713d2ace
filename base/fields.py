"""Fields of requests: read, checked, and refused with what was found and what would be right."""

from collections.abc import Collection, Mapping
from typing import Any

from base import text
from base.errors import BadValue

KEY = 18  # digits that a key of a row may have


def is_whole(value: str, digits: int = 9) -> bool:
    """Whether an address or a form says a whole number of at most so many digits."""
    return value.isascii() and value.isdecimal() and len(value) <= digits


def whole(field: str, value: str, right: str = "a whole number", digits: int = 9) -> int:
    """The whole number that an address or a form says; anything else is refused."""
    if not is_whole(value, digits):
        raise BadValue(field, shown(value), right)
    return int(value)


def whole_in(body: Mapping[str, Any], field: str, default: str = "") -> int:
    """The whole number that a field of a form holds."""
    return whole(field, str(body.get(field, default)))


def one_of(field: str, value: object, allowed: Collection[str]) -> str:
    """The value, if it is one of those allowed; anything else is refused."""
    if not isinstance(value, str) or value not in allowed:
        raise BadValue(field, shown(value), f"one of {', '.join(allowed)}")
    return value


def text_in(body: Mapping[str, Any], field: str, most: int) -> str:
    value = body.get(field, "")
    if not isinstance(value, str) or len(value) > most or not text.storable(value):
        raise BadValue(field, shown(value), f"a text of at most {most} characters")
    return value.strip()


def reason_in(body: Mapping[str, Any], most: int = 500) -> str:
    """Why something is done that stays on record: a few words, not none."""
    if reason := text_in(body, "reason", most):
        return reason
    raise BadValue("reason", "empty", "a few words; they are kept on record")


def shown(value: object) -> str:
    """The value as JSON writes it, cut to a length that fits a message."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 10**30:
        return "a very large integer"
    return text.shown(value)[:60]
