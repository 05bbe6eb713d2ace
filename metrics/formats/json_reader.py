"""The one reader of JSON that comes from outside: its limits, and what it says where something is wrong."""

import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import chain
from math import isfinite
from operator import itemgetter
from typing import Any

from .errors import MeasureError, show

DEEPEST = 64  # lists and objects inside each other
DIGITS = 300  # of a whole number that has to be finite as a float, too
MANY = 1000
BOM = "\ufeff"
SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
SURROGATE_IN_BYTES = re.compile(SURROGATE.pattern.encode())


def read_json(text: bytes | str, strict: bool = True, line: int | None = None) -> Any:
    """Return the value that JSON writes.

    Parameters
    ----------
    text
        JSON in UTF-8.
    strict
        Whether NaN, infinities, numbers that a float cannot hold, and halves of surrogate pairs are refused. A caller
        that checks its fields itself takes them from here, and then names the field.
    line
        The number of this line in its file, if the text is one; 0 if the caller names the line.

    Raises
    ------
    MeasureError
        With line and column, if this is no JSON in UTF-8; if a key stands twice in an object, a number has too many
        digits, or lists and objects are more than 64 levels deep.
    """
    try:
        written = (text.decode() if isinstance(text, bytes) else text).removeprefix(BOM)
        found = (STRICT if strict else DECODER).decode(written)
        refuse_depth(found, written)
        if strict:
            refuse_half_pairs(found, written)
        return found
    except UnicodeDecodeError as fault:
        at = fault.object.count(b"\n", 0, fault.start) + 1 if line is None else line
        spots, what = [f"line {at}"] if at else [], f"is not UTF-8 text (byte {fault.start})"
    except json.JSONDecodeError as fault:
        at = fault.lineno if line is None else line
        spots, what = [f"line {at}"] * bool(at) + [f"column {fault.colno}"], fault_of(fault)
    except (ValueError, RecursionError) as fault:
        spots, what = [f"line {line}"] if line else [], fault_of(fault)
    raise MeasureError(": ".join(filter(None, (", ".join(spots), what))))


def fault_of(fault: ValueError | RecursionError) -> str:
    """Return what is wrong with JSON that a decoder has refused."""
    if isinstance(fault, json.JSONDecodeError):
        return f"broken JSON: {fault.msg}"
    if isinstance(fault, RecursionError):
        return "JSON is nested too deeply"
    return str(fault) if isinstance(fault, MeasureError) else "broken JSON: a number has too many digits"


def refuse_depth(found: Any, text: str, start: int = 0, end: int = sys.maxsize) -> None:
    """Refuse parsed JSON that is nested too deeply; its text is text[start:end]."""
    if text.count("[", start, end) + text.count("{", start, end) > DEEPEST:
        number_of_keys(found)


def refuse_half_pairs(found: Any, text: str, start: int = 0, end: int = sys.maxsize) -> None:
    """Refuse parsed JSON with half of a surrogate pair, which no file and no database can store."""
    if SURROGATE.search(text, start, end):
        try:
            json.dumps(found, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise MeasureError("broken JSON: a text has half of a surrogate pair") from None


def number_of_keys(found: Any) -> int:
    """Number of keys of all objects in parsed JSON: fewer than were written where a key stands twice.

    Raises
    ------
    MeasureError
        If lists and objects are too deep inside each other.
    """
    keys, depth, level = 0, 0, [found]
    while level:
        if depth > DEEPEST:
            raise MeasureError("JSON is nested too deeply")
        kinds = set(map(type, level))
        objects = _only(dict, level, kinds)
        keys += sum(map(len, objects))
        level = _containers(_only(list, level, kinds))
        level += _containers(_fields(objects))
        depth += 1
    return keys


def _fields(objects: list[dict[str, Any]]) -> Sequence[Iterable[Any]]:
    """The values of objects: by field, if all have the same few, and else by object."""
    if len(objects) > MANY and len(objects[0]) > 1 and set(map(len, objects)) == {len(objects[0])}:
        with suppress(KeyError):
            return list(zip(*map(itemgetter(*objects[0]), objects), strict=True))
    return [item.values() for item in objects]


def _only(kind: type, items: list[Any], kinds: set[type]) -> list[Any]:
    """The items of one type; kinds: the types of all."""
    if kind not in kinds:
        return []
    return items if len(kinds) == 1 else [item for item in items if type(item) is kind]


def _containers(groups: Sequence[Iterable[Any]]) -> list[Any]:
    """The lists and objects in groups of items; a group of nothing else is the usual case, and goes fastest."""
    if len(groups) > MANY:
        if set(map(type, chain.from_iterable(groups))).isdisjoint((dict, list)):
            return []
        groups = [list(chain.from_iterable(groups))]
    found: list[Any] = []
    for group in groups:
        kinds = set(map(type, group))
        if kinds <= {dict, list}:
            found += group
        elif kinds & {dict, list}:
            found += [item for item in group if type(item) is list or type(item) is dict]
    return found


def _no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        twice = next(key for key, times in Counter(key for key, _ in pairs).items() if times > 1)
        raise MeasureError(f"broken JSON: key {show(twice)} stands twice in one object")
    return found


def _whole(digits: str) -> int:
    if len(digits) > DIGITS:
        raise MeasureError("broken JSON: a number has too many digits")
    return int(digits)


def _number(digits: str) -> float:
    if not isfinite(found := float(digits)):
        raise MeasureError(f"broken JSON: {show(digits)} is larger than any number that is stored")
    return found


def _no_constant(name: str) -> float:
    raise MeasureError(f"broken JSON: {name} is no number in JSON")


DECODER = json.JSONDecoder(object_pairs_hook=_no_key_twice)
STRICT = json.JSONDecoder(
    object_pairs_hook=_no_key_twice, parse_int=_whole, parse_float=_number, parse_constant=_no_constant
)
