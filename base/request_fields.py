"""Reading fields of requests. A wrong field is refused with what was found and what would be right."""

from collections.abc import Collection, Mapping
from typing import Any

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
