"""JSON and JSON Lines, read as fast as they can be, and carefully where something is wrong with them."""

import gc
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from typing import Any

from .errors import MeasureError, Place, show
from .files import numbered_lines
from .json_reader import SURROGATE_IN_BYTES, number_of_keys, read_json, refuse_half_pairs

orjson: Any
try:
    import orjson
except ImportError:  # the extra `fast`
    orjson = None

LINE = re.compile(rb"\s*(\S[^\n]*)")
KEY, SPACED_KEY = re.compile(rb'"\s*:'), re.compile(rb'"\s+:')
MOST_CONTAINERS = 2**25  # lists and objects of a document; 14 million predictions have fewer


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
    refuse_repeated_keys(data, source, keys_in(found, source))
    return found


def parse_unchecked(data: bytes, source: str) -> Any:
    """JSON whose keys somebody has to give to `refuse_repeated_keys`."""
    # A list or an object takes some two bytes here, and dozens in memory.
    if len(data) > 2 * MOST_CONTAINERS and (number := data.count(b"[") + data.count(b"{")) > MOST_CONTAINERS:
        right = f"expected at most {MOST_CONTAINERS:,}"
        raise MeasureError(f"{source}: holds {number:,} lists and objects of JSON; {right}")
    found = _loads(data)
    return _parse_carefully(data, source) if found is None else found


def refuse_repeated_keys(data: bytes, source: str, keys: int) -> None:
    """Refuse a key that stands twice in an object; keys: how many were found in the parsed objects."""
    if keys not in _written_keys(data):
        _parse_carefully(data, source)


def _loads(data: bytes) -> Any:
    """JSON by the fastest parser there is; None for what is broken or unusual, such as NaN."""
    try:
        if orjson:
            return orjson.loads(data)
        return None if SURROGATE_IN_BYTES.search(data) else json.loads(data.decode())
    except (ValueError, RecursionError):
        return None


def keys_in(found: Any, source: str) -> int:
    """Number of keys of all objects in parsed JSON; raises MeasureError if it is nested too deeply."""
    try:
        return number_of_keys(found)
    except MeasureError as fault:
        raise MeasureError(f"{source}: {fault}") from None


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
    """Upper bounds for the number of keys that JSON writes, in objects with repeated keys too. There are at least as
    many colons as keys. Where texts hold colons, quotes before colons are counted.
    """
    yield data.count(b":")
    yield len(KEY.findall(data)) if SPACED_KEY.search(data) else data.count(b'":')


def _parse_carefully(data: bytes, source: str, line: int | None = None) -> Any:
    try:
        found = read_json(data, strict=False, line=line)
        refuse_half_pairs(found, data.decode())
        return found
    except MeasureError as fault:
        raise MeasureError(f"{source}: {fault}") from None


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
        return isinstance(read_json(line, strict=False), dict)
    except MeasureError:
        return False


def json_lines(data: bytes, source: str) -> Records:
    """The objects of JSON Lines; blank lines are passed over."""
    body = data.rstrip()
    records = _loads(b"[%b]" % body.replace(b"\n", b","))  # a text holds no bare line break
    plain = records is not None and len(records) == body.count(b"\n") + 1
    if plain and set(map(type, records)) == {dict} and keys_in(records, source) in _written_keys(data):
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


def write_json(data: object) -> str:
    """Return a document of JSON, with a line's end."""
    return json.dumps(data, ensure_ascii=False, allow_nan=False) + "\n"


def query_number(query: str) -> int | str:
    """Return a query's id as the files of the field write it: as a number, if it is one."""
    return int(query) if query.isascii() and query.isdigit() and str(int(query)) == query else query
