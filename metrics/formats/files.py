"""Reading files so that whatever is wrong with one is said in a sentence, with its place."""

import gzip
import json
import zlib
from pathlib import Path
from typing import Any

from .errors import MeasureError
from .rows import query_name, show

GZIP = b"\x1f\x8b"


def read_text(path: str | Path) -> str:
    """Text of a file, unpacked if it is gzip; raises MeasureError for what cannot be read as text."""
    try:
        data = Path(path).read_bytes()
        if data.startswith(GZIP):
            data = gzip.decompress(data)
        text = data.decode("utf-8-sig")
    except FileNotFoundError:
        raise MeasureError(f"{path}: there is no such file") from None
    except IsADirectoryError:
        raise MeasureError(f"{path}: is a directory; a file is needed") from None
    except UnicodeDecodeError as problem:
        raise MeasureError(
            f"{path}: is not UTF-8 text (byte {problem.start}); is it a binary file?"
        ) from None
    except (OSError, EOFError, zlib.error) as problem:
        raise MeasureError(f"{path}: cannot be read: {problem}") from None
    if "\0" in text:
        raise MeasureError(f"{path}: is not text (it holds NUL bytes); is it a binary file?")
    if not text.strip():
        raise MeasureError(f"{path}: is empty")
    return text


def parse_json(text: str, source: str, line: int | None = None) -> Any:
    """JSON, with the line of a mistake; a key that stands twice in an object is a mistake too."""
    try:
        return json.loads(text, object_pairs_hook=_no_key_twice)
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


def looks_like_json(text: str) -> bool:
    return text.lstrip()[:1] in ("{", "[")


def looks_like_json_lines(text: str) -> bool:
    """Whether the text is JSON Lines: its first or its second line is a whole object, and there are two."""
    first, _, rest = text.strip().partition("\n")
    if not first.startswith("{") or not rest:
        return False
    return first.rstrip().endswith("}") or _is_object(rest.partition("\n")[0])


def _is_object(line: str) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


def json_lines(text: str, source: str) -> list[tuple[int, dict[str, Any]]]:
    """Objects of a JSON Lines text with their line numbers; blank lines are passed over."""
    records = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            record = parse_json(line, source, number)
            if not isinstance(record, dict):
                raise MeasureError(
                    f"{source}: line {number}: is {show(record)}; each line must be a JSON object"
                )
            records.append((number, record))
    return records


class Place:
    """Where in a file something stands, so that an error can say so."""

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


Record = tuple[Place, Any]
