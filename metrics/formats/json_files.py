"""JSON and JSON Lines, read as fast as they can be, and carefully where something is wrong with them."""

import gc
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import BytesIO
from itertools import chain
from operator import itemgetter
from typing import Any

from .errors import MeasureError
from .files import numbered_lines, text_of
from .place import Place
from .showing import show

orjson: Any
try:
    import orjson
except ImportError:  # the extra `fast`
    orjson = None

MANY = 1000
LINE = re.compile(rb"\s*(\S[^\n]*)")
KEY, SPACED_KEY = re.compile(rb'"\s*:'), re.compile(rb'"\s+:')


@dataclass(frozen=True)
class Records:
    """The records of a file; `spot` says where one of them stands."""

    source: str
    items: list[Any]
    spot: Callable[[int], str]

    @classmethod
    def numbered(cls, items: list[Any], source: str) -> "Records":
        """The items of a list, each of which is a record."""
        return cls(source, items, lambda row: f"record {row + 1}")

    def __iter__(self) -> Iterator[tuple[Place, Any]]:
        """Each record with its place."""
        for number, record in enumerate(self.items):
            yield Place(self.source, self.spot(number)), record


def parse_json(data: bytes, source: str) -> Any:
    """JSON, with the line of a mistake; a key that stands twice in an object is a mistake too."""
    found = parse_unchecked(data, source)
    refuse_repeated_keys(data, source, number_of_keys(found))
    return found


def parse_unchecked(data: bytes, source: str) -> Any:
    """JSON whose keys somebody has to give to `refuse_repeated_keys`."""
    found = _loads(data)
    return _parse_carefully(data, source) if found is None else found


def refuse_repeated_keys(data: bytes, source: str, keys: int) -> None:
    """Refuse a key that stands twice in an object; keys: how many were found in the parsed objects."""
    if keys not in _written_keys(data):
        _parse_carefully(data, source)


def _loads(data: bytes) -> Any:
    """JSON by the fastest parser there is; None for what is broken or unusual, such as NaN."""
    try:
        return orjson.loads(data) if orjson else json.loads(data.decode())
    except (ValueError, RecursionError):
        return None


@contextmanager
def no_collecting() -> Iterator[None]:
    """Pause Python's search for cycles: what is read has none, and looking for them takes a third of the time."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def _written_keys(data: bytes) -> Iterator[int]:
    """Upper bounds for the number of keys that JSON writes, in objects with repeated keys too.

    There are at least as many colons as keys. Where texts hold colons, quotes before colons are counted.
    """
    yield data.count(b":")
    yield len(KEY.findall(data)) if SPACED_KEY.search(data) else data.count(b'":')


def number_of_keys(found: Any) -> int:
    """Number of keys of all objects in parsed JSON: fewer than were written where a key stands twice."""
    keys, level = 0, [found]
    while level:
        kinds = set(map(type, level))
        objects = _only(dict, level, kinds)
        keys += sum(map(len, objects))
        level = _containers(_only(list, level, kinds))
        level += _containers(_fields(objects))
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


def _parse_carefully(data: bytes, source: str, line: int | None = None) -> Any:
    try:
        return json.loads(text_of(data, source), object_pairs_hook=no_key_twice)
    except json.JSONDecodeError as problem:
        at = line or problem.lineno
        raise MeasureError(
            f"{source}: line {at}, column {problem.colno}: broken JSON: {problem.msg}"
        ) from None
    except RecursionError:
        raise MeasureError(f"{source}: JSON is nested too deeply") from None
    except ValueError as problem:
        spot = f" line {line}:" if line else ""
        raise MeasureError(f"{source}:{spot} broken JSON: {problem}") from None


def no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"key {show(twice)} stands twice in one object")
    return found


def looks_like_json(data: bytes) -> bool:
    return bool(re.match(rb"\s*[{\[]", data))


def looks_like_json_lines(data: bytes) -> bool:
    """Whether this is JSON Lines: its first or its second line is a whole object, and there are two."""
    found = LINE.match(data)
    if not found or data[found.start(1) : found.start(1) + 1] != b"{":
        return False
    second = LINE.match(data, found.end())
    if not second:
        return False
    return data[found.start(1) : found.end(1)].rstrip().endswith(b"}") or _is_object(second[1])


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


def json_lines(data: bytes, source: str) -> Records:
    """The objects of JSON Lines; blank lines are passed over."""
    body = data.rstrip()
    records = _loads(b"[%b]" % body.replace(b"\n", b","))  # a text holds no bare line break
    plain = records is not None and len(records) == body.count(b"\n") + 1
    if plain and set(map(type, records)) == {dict} and number_of_keys(records) in _written_keys(data):
        return Records(source, records, lambda row: f"line {row + 1}")
    lines = list(_careful_lines(data, source))
    return Records(source, [record for _, record in lines], lambda row: f"line {lines[row][0]}")


def _careful_lines(data: bytes, source: str) -> Iterator[tuple[int, Any]]:
    for number, line in numbered_lines(BytesIO(data), source):
        record = _parse_carefully(line.rstrip(b"\n"), source, number)
        if not isinstance(record, dict):
            place = Place(source, f"line {number}")
            raise place.fail(f"is {show(record)}; each line must be a JSON object")
        yield number, record
