"""Fields of the JSON that the workplace sends, by name: a grade, a fence, a key, and others. Types are strict."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any
from uuid import UUID

from django.http import HttpRequest

from base.errors import BadValue, TooLarge
from base.text import abbreviated, storable
from judging.consensus import GRADES
from judging.models import Flag, Revision
from judging.models.judgement import LONGEST_QUESTION
from judging.work.grading import AT_A_PLACE, LARGEST, LONGEST, LONGEST_COMMENT
from metrics import MeasureError
from metrics.formats.json_reader import read_json

LARGEST_BODY = 16 * 1024  # bytes; a judgement takes about 120


def fields_of(request: HttpRequest, *names: str) -> dict[str, Any]:
    """Return the values of fields of the request's JSON object.

    Raises
    ------
    BadValue
        Naming the body, or the first field that is wrong, what was found, and what is expected.
    TooLarge
        If the body has more than `LARGEST_BODY` bytes.
    """
    if int(request.headers.get("content-length") or 0) > LARGEST_BODY:
        raise TooLarge(f"body: more than {LARGEST_BODY:,} bytes")
    try:
        # NaN reaches the field's own check, which names the field.
        body = read_json(request.body, strict=False)
    except MeasureError as fault:
        raise BadValue("body", f"not JSON ({fault})", "a JSON object in UTF-8") from fault
    if not isinstance(body, dict):
        raise BadValue("body", f"a JSON {type(body).__name__}", "a JSON object")
    return {name: value_of(body, name) for name in names}


def value_of(body: dict[str, Any], name: str) -> Any:
    read, expected = FIELDS[name]
    value = body.get(name, "" if name in MAY_BE_MISSING else None)
    if value is None and name in MAY_BE_NULL:
        return None
    try:
        return read(value)
    except ValueError as fault:
        raise BadValue(name, abbreviated(value), expected) from fault


def _whole(numbers: Collection[int]) -> Callable[[Any], int]:
    def read(value: Any) -> int:
        if type(value) is not int or value not in numbers:  # True is an int, too
            raise ValueError
        return value

    return read


def _one_of(keys: Collection[str]) -> Callable[[Any], str]:
    def read(value: Any) -> str:
        if not isinstance(value, str) or value not in keys:
            raise ValueError
        return value

    return read


def _text(most: int) -> Callable[[Any], str]:
    def read(value: Any) -> str:
        if not isinstance(value, str) or len(value) > most or not storable(value):
            raise ValueError
        return value.strip()

    return read


def _key(value: Any) -> UUID:
    return UUID(value if isinstance(value, str) else "")


def _seconds(value: Any) -> float:
    if type(value) not in (int, float) or not 0 <= value <= LONGEST:
        raise ValueError
    return float(value)


# What reads each field, and what it expects.
FIELDS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "grade": (_whole(GRADES), "one of the integers 0, 1, 2, 3, 4"),
    "fence": (_whole(range(1, LARGEST + 1)), "the number that came with the batch"),
    "key": (_key, "a UUID, new for each press"),
    "press": (_whole(range(LARGEST + 1)), "a whole number, higher for each press, or null"),
    "seconds": (_seconds, f"a number of seconds from 0 to {LONGEST:,}, or null"),
    "input": (_one_of(("", *Revision.Input.values)), f"one of {', '.join(Revision.Input.values)}"),
    "reason": (_one_of(Flag.Reason.values), f"one of {', '.join(Flag.Reason.values)}"),
    "comment": (_text(LONGEST_COMMENT), f"a text of at most {LONGEST_COMMENT} characters"),
    "about": (_one_of(AT_A_PLACE), f"one of {', '.join(AT_A_PLACE)}"),
    "text": (_text(LONGEST_QUESTION), f"a text of at most {LONGEST_QUESTION} characters"),
}
MAY_BE_MISSING, MAY_BE_NULL = {"input", "comment", "text"}, {"press", "seconds"}
