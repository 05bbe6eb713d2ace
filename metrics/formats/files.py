"""Reading files so that whatever is wrong with one is said in a sentence, with its place."""

import gc
import gzip
import json
import re
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import Any

from .errors import MeasureError
from .rows import query_name
from .showing import show

try:
    import orjson
except ImportError:  # the extra `fast`
    orjson = None

STANDARD_INPUT = "-"
GZIP = b"\x1f\x8b"
BOM = b"\xef\xbb\xbf"
MANY = 1000
BEGINNING = 65_536  # bytes
LINE = re.compile(rb"\s*(\S[^\n]*)")
KEY, SPACED_KEY = re.compile(rb'"\s*:'), re.compile(rb'"\s+:')


def read_bytes(path: str | Path) -> bytes:
    """Bytes of a file of text, unpacked if it is gzip; ``-`` is standard input.

    Raises
    ------
    MeasureError
        If the file cannot be read, is empty, or is not UTF-8 text.
    """
    source = source_name(path)
    with _readable(source):
        data = sys.stdin.buffer.read() if str(path) == STANDARD_INPUT else Path(path).read_bytes()
        if data.startswith(GZIP):
            data = gzip.decompress(data)
    data = data.removeprefix(BOM)
    if not data.isascii():
        text_of(data, source)
    _check_text(data, source)
    return data


def read_beginning(path: str | Path) -> bytes:
    """The first bytes of a file, with the checks of `read_bytes` that they allow."""
    source = source_name(path)
    with _readable(source), Path(path).open("rb") as file:
        packed = file.read(2) == GZIP
        file.seek(0)
        data = gzip.GzipFile(fileobj=file).read(BEGINNING) if packed else file.read(BEGINNING)
    data = data.removeprefix(BOM)
    _check_text(data, source)
    return data


@contextmanager
def _readable(source: str) -> Iterator[None]:
    """One sentence for whatever keeps a file from being read."""
    try:
        yield
    except FileNotFoundError:
        raise MeasureError(f"{source}: there is no such file") from None
    except IsADirectoryError:
        raise MeasureError(f"{source}: is a directory; a file is needed") from None
    except (OSError, EOFError, zlib.error) as problem:
        raise MeasureError(f"{source}: cannot be read: {problem}") from None


def _check_text(data: bytes, source: str) -> None:
    if b"\0" in data:
        raise MeasureError(f"{source}: is not text (it holds NUL bytes); is it a binary file?")
    if not data or data.isspace():
        raise MeasureError(f"{source}: is empty")


def source_name(path: str | Path) -> str:
    """How messages name a file."""
    return "standard input" if str(path) == STANDARD_INPUT else str(path)


def text_of(data: bytes, source: str) -> str:
    """The bytes as text; raises MeasureError where they are not UTF-8."""
    try:
        return data.decode()
    except UnicodeDecodeError as problem:
        raise MeasureError(
            f"{source}: is not UTF-8 text (byte {problem.start}); is it a binary file?"
        ) from None


def read_text(path: str | Path) -> str:
    """Text of a file; as `read_bytes`."""
    return text_of(read_bytes(path), source_name(path))


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
        return json.loads(text_of(data, source), object_pairs_hook=_no_key_twice)
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


def _no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
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


def json_lines(data: bytes, source: str) -> "Records":
    """The objects of JSON Lines; blank lines are passed over."""
    body = data.rstrip()
    records = _loads(b"[%b]" % body.replace(b"\n", b","))  # a text holds no bare line break
    plain = records is not None and len(records) == body.count(b"\n") + 1
    if plain and set(map(type, records)) == {dict} and number_of_keys(records) in _written_keys(data):
        return Records(source, records, lambda row: f"line {row + 1}")
    lines = list(_careful_lines(data.split(b"\n"), source))
    return Records(source, [record for _, record in lines], lambda row: f"line {lines[row][0]}")


def _careful_lines(lines: list[bytes], source: str) -> Iterator[tuple[int, Any]]:
    for number, line in enumerate(lines, 1):
        if line.strip():
            record = _parse_carefully(line, source, number)
            if not isinstance(record, dict):
                raise MeasureError(
                    f"{source}: line {number}: is {show(record)}; each line must be a JSON object"
                )
            yield number, record


class Place:
    """Where in a file something stands, so that an error can say so."""

    __slots__ = ("source", "spot")

    def __init__(self, source: str, spot: str) -> None:
        self.source = source
        self.spot = spot

    def fail(self, message: str) -> MeasureError:
        return MeasureError(f"{self.source}: {self.spot}: {message}")

    def need(self, record: Any, *fields: str) -> Any:
        """The first of the fields that the record has; a record without any is an error."""
        if not isinstance(record, dict):
            raise self.fail(f"is {show(record)}; it must be an object")
        for name in fields:
            if name in record:
                return record[name]
        raise self.fail(f"field {' or '.join(fields)} is missing; there are: {', '.join(record) or 'none'}")

    def query(self, value: Any) -> str:
        return query_name(value, self.fail)

    def span(self, record: Any) -> tuple[Any, Any]:
        """Start and end of a record's timestamp."""
        value = self.need(record, "timestamp")
        if not isinstance(value, list) or len(value) != 2:
            raise self.fail(f"timestamp is {show(value)}; it must be [start, end] in seconds")
        return value[0], value[1]

    def many(self, value: Any, name: str) -> list[Any]:
        if not isinstance(value, list):
            raise self.fail(f"{name} is {show(value)}; it must be a list")
        return value

    def number(self, text: str, name: str, read: Callable[[str], float] = float) -> float:
        """A finite number that is written as text."""
        try:
            value = read(text)
        except ValueError:
            value = float("nan")
        if not abs(value) < float("inf"):
            raise self.fail(f"{name} is {show(text)}; it must be a finite number")
        return value


@dataclass(frozen=True)
class Records:
    """The records of a file; `spot` says where one of them stands."""

    source: str
    items: list[Any]
    spot: Callable[[int], str]

    def __iter__(self) -> Iterator[tuple[Place, Any]]:
        """Each record with its place."""
        for number, record in enumerate(self.items):
            yield Place(self.source, self.spot(number)), record


Record = tuple[Place, Any]
