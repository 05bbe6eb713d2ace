"""Files of JSON and JSON Lines, parsed by orjson if it is installed; mistakes are named by `read_json`."""

import gc
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import BytesIO
from itertools import islice
from typing import Any

from .errors import MeasureError, Place, show
from .files import numbered_lines
from .json_reader import read_json, refuse_half_pairs

orjson: Any
try:
    import orjson
except ImportError:  # the extra `fast`
    orjson = None

ESCAPED_COLON = b"\\u003"  # also other signs, which are rare
MOST_CONTAINERS = 2**25  # lists and objects of a document; 14 million predictions have fewer


@dataclass(frozen=True)
class Records:
    """The records of a file, and the place of each. is_object: whether the file is one object, the only record."""

    source: str
    items: list[Any]
    spot: Callable[[int], str] = lambda row: f"record {row + 1}"
    is_object: bool = False

    def __iter__(self) -> Iterator[tuple[Place, Any]]:
        """Each record with its place."""
        for number, record in enumerate(self.items):
            yield Place(self.source, self.spot(number)), record

    def only(self) -> dict[str, Any]:
        """The one object that the file is; anything else is an error."""
        if not self.is_object:
            raise MeasureError(f"{self.source}: is a list or JSON Lines; this format is one object")
        return dict(self.items[0])


def read_records(data: bytes, source: str) -> Records:
    """The records of JSON Lines or of a list; an object is the only record."""
    if looks_like_json_lines(data):
        return json_lines(data, source)
    found = parse_json(data, source)
    if not isinstance(found, list | dict):
        raise MeasureError(f"{source}: is {show(found)}; expected a list or an object of JSON")
    return Records(source, [found], is_object=True) if isinstance(found, dict) else Records(source, found)


def parse_json(data: bytes, source: str, line: int | None = None) -> Any:
    """The value that JSON writes. NaN and infinities are left to the checks of fields, which name the field.

    line: the number of this line in its file, if the data is one.
    Raises MeasureError with the line of a mistake, as `read_json`, and for JSON that would fill the memory.
    """
    # A list or an object takes some two bytes here, and dozens in memory.
    if len(data) > 2 * MOST_CONTAINERS and (number := data.count(b"[") + data.count(b"{")) > MOST_CONTAINERS:
        right = f"expected at most {MOST_CONTAINERS:,}"
        raise MeasureError(f"{source}: holds {number:,} lists and objects of JSON; {right}")
    try:
        found = orjson.loads(data)
        # An object with a key that stands twice keeps one of the values. Written again, it has fewer colons.
        if orjson.dumps(found).count(b":") == data.count(b":") and ESCAPED_COLON not in data:
            return found
    except (ValueError, TypeError, AttributeError):  # broken, nested too deeply, or there is no orjson
        pass
    try:
        found = read_json(data, strict=False, line=line)
        refuse_half_pairs(found, data.decode())
        return found
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


def looks_like_json(data: bytes) -> bool:
    return bool(re.match(rb"\s*[{\[]", data))


def looks_like_json_lines(data: bytes) -> bool:
    """Whether this is JSON Lines: its first or its second line is a whole object, and there are two."""
    lines = [line for _, line in islice(numbered_lines(BytesIO(data), ""), 2)]
    if len(lines) < 2 or not lines[0].lstrip().startswith(b"{"):
        return False
    with suppress(MeasureError):
        return lines[0].rstrip().endswith(b"}") or isinstance(read_json(lines[1], strict=False), dict)
    return False


def json_lines(data: bytes, source: str) -> Records:
    """The objects of JSON Lines; blank lines are passed over."""
    numbers, records = list[int](), list[Any]()
    for number, line in numbered_lines(BytesIO(data), source):
        record = parse_json(line.rstrip(b"\n"), source, number)
        if not isinstance(record, dict):
            raise Place(source, f"line {number}").fail(f"is {show(record)}; each line must be a JSON object")
        numbers.append(number)
        records.append(record)
    return Records(source, records, lambda row: f"line {numbers[row]}")


def write_json(data: object) -> str:
    """Return a document of JSON, with a line's end."""
    return json.dumps(data, ensure_ascii=False, allow_nan=False) + "\n"


def query_number(query: str) -> int | str:
    """Return a query's id as the files of the field write it: as a number, if it is one."""
    return int(query) if query.isascii() and query.isdigit() and str(int(query)) == query else query
