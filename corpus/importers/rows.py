"""What readers of corpus files yield, the fields of a line or an entry, and the columns that hold them; and the file of
the lengths of videos, which is JSON of several shapes or a CSV.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from base.text import abbreviated, printable, storable
from corpus.errors import CorpusError
from metrics import MeasureError
from metrics.formats.annotations import DURATION, without_split
from metrics.formats.annotations import read_durations as durations_of_records
from metrics.formats.files import BOM, numbered_lines
from metrics.formats.json_files import looks_like_json_lines
from metrics.formats.json_reader import read_json

LONGEST_LINE = 1_000_000  # bytes
# Bytes of UTF-8: what an index of PostgreSQL holds in a row, with room for its other columns.
LONGEST_TEXT = 2500
LONGEST_NAME = 300  # bytes of UTF-8
# Each field with what it holds. Without the first four there is no moment.
FIELDS = {
    "video": "the name of the video",
    "start": "where the moment begins, in seconds or as h:mm:ss",
    "end": "where it ends",
    "description": "what the moment shows",
    "duration": "the length of the video",
    "caption": "the text that is compared with queries; by default the description",
}
NEEDED = ("video", "start", "end", "description")
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
LIST_OF_OBJECTS = re.compile(rb"\s*\[\s*\{")
LARGEST_OF_DURATIONS = 64 * 2**20  # bytes
CLOCK = re.compile(r"(?:(\d+):)?([0-5]?\d):([0-5]?\d(?:\.\d+)?)")


class MomentRow(NamedTuple):
    """One described moment, with times in seconds, and where the file tells it ("line 3"). `duration` is None if the
    file does not tell the video's, and `caption` if it gives no text beside the description.
    """

    where: str
    video: str
    start: float
    end: float
    duration: float | None
    description: str
    caption: str | None = None


class BadField(CorpusError):
    """A field of one line: its name, what was found, what would be right."""

    def __init__(self, field: str, found: object, right: str) -> None:
        super().__init__(f"field {printable(field)}: {abbreviated(found)}; expected {right}")


def lines(file: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the file's lines with their numbers, counted from 1, without blank lines. Raises CorpusError if the file
    cannot be read, or a line is longer than `LONGEST_LINE`.
    """
    with opened(file) as source:
        yield from numbered_lines(source, str(file), LONGEST_LINE)


@contextmanager
def opened(file: Path) -> Iterator[BinaryIO]:
    """Open a file; whatever is wrong with it as a whole becomes a CorpusError."""
    try:
        with file.open("rb") as content:
            yield content
    except MeasureError as fault:
        raise CorpusError(str(fault)) from fault
    except OSError as fault:
        raise CorpusError(f"{file}: cannot be read ({fault.strerror}); expected a file") from fault


def json_object(line: bytes) -> dict[str, Any]:
    try:
        value = read_json(line, strict=False, line=0)  # the field with a wrong number is named below
    except MeasureError as fault:
        raise CorpusError(f"not JSON ({fault}); expected one JSON object a line") from fault
    return must_be_object(value)


def must_be_object(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise CorpusError(f"a JSON {type(value).__name__}; expected a JSON object")
    return value


def text(value: object, field: str, longest: int = LONGEST_TEXT) -> str:
    """Return the text that a field holds, without white space at its ends. Raises BadField if it is empty, no text,
    longer than so many bytes of UTF-8, or nothing that a database can store.
    """
    if not isinstance(value, str) or not value.strip():
        raise BadField(field, value, "a text that is not empty")
    if not storable(value):
        raise BadField(field, value, "a text without NUL characters and halves of surrogate pairs")
    if len(value) * 4 > longest and len(value.encode()) > longest:
        raise BadField(field, value, f"at most {longest:,} bytes of UTF-8")
    return value.strip()


def name(value: object, field: str) -> str:
    """Return the name of a video; as `text`."""
    return text(value, field, LONGEST_NAME)


def seconds(value: object, field: str) -> float:
    """Return a finite number of seconds; as `number`."""
    return number(value, field, "number of seconds")


def seconds_of_cell(cell: str, field: str, separator: str) -> float:
    """Return the seconds of a cell such as 3723.5 or 1:02:03.5; with a decimal comma where commas do not separate."""
    written = cell.replace(",", ".") if separator != "," and cell.count(",") == 1 else cell
    if NUMBER.fullmatch(written):
        return seconds(float(written), field)
    if clock := CLOCK.fullmatch(written):
        return int(clock[1] or 0) * 3600.0 + int(clock[2]) * 60 + float(clock[3])
    raise BadField(field, cell, "a number of seconds, or a time as 1:02:03.5")


def seconds_or_none(value: object, field: str) -> float | None:
    """Return a finite number of seconds, or None for None, which stands for a field that is not there."""
    return None if value is None else seconds(value, field)


def number(value: object, field: str, kind: str = "number") -> float:
    """Return a finite number. Raises BadField for anything else, such as a text, a truth value or NaN."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadField(field, value, f"a {kind}")
    try:
        found = float(value)
    except OverflowError:
        found = math.inf
    if not math.isfinite(found):
        raise BadField(field, str(value)[:20], f"a finite {kind}")
    return found


def keys_of(columns: Mapping[str, str]) -> dict[str, str]:
    """Return for each field the column or key that holds it: its own name, unless `columns` tells another. Raises
    CorpusError if `columns` names a field that there is not.
    """
    for field in columns:
        if field not in FIELDS:
            raise CorpusError(f"field {printable(field)}: unknown; expected one of {', '.join(FIELDS)}")
    return {field: columns.get(field, field) for field in FIELDS}


def places_of(header: Sequence[str], columns: Mapping[str, str], file: Path) -> dict[str, int]:
    """Return where in a line of the CSV each field stands; fields that need not be there may be missing. Raises
    CorpusError if the file lacks a column that is needed, or one that `columns` names.
    """
    places = {}
    lower = [name.lower() for name in header]
    for field, column in keys_of(columns).items():
        if column in header:
            places[field] = header.index(column)
        elif field not in columns and column in lower:
            places[field] = lower.index(column)
        elif field in columns or field in NEEDED:
            there = printable(", ".join(header)[:300])
            raise CorpusError(
                f"line 1: no column {printable(column)}, for the field {field}; there are: {there}. "
                f"--columns {field}=NAME tells another"
            )
    return places


def read_durations(file: Path) -> dict[str, float]:
    """Return the seconds of each video that a file tells.

    JSON is an object from video to seconds, to a list that begins with them, or to an object with a field `duration`;
    it may be divided into splits. Objects in lines or in a list have a field for the video and one for the duration.
    A CSV has a column `video` or `id`, and a column `duration` or `length`. Raises CorpusError naming the file, and the
    video or the line that is wrong.
    """
    try:
        if file.stat().st_size > LARGEST_OF_DURATIONS:
            raise CorpusError(f"over {LARGEST_OF_DURATIONS:,} bytes; expected the seconds of each video")
        content = file.read_bytes()
        is_of_records = looks_like_json_lines(content) or LIST_OF_OBJECTS.match(content.removeprefix(BOM))
        return _of_records(file) if is_of_records or _is_csv(content) else dict(_of_videos(content))
    except OSError as fault:
        raise CorpusError(f"--durations {file}: cannot be read ({fault.strerror})") from fault
    except CorpusError as fault:
        raise CorpusError(f"--durations {file}: {fault}") from fault
    except ValueError as fault:
        raise CorpusError(f"--durations {file}: not JSON ({fault}), and no CSV") from fault


def durations_of_file(file: Path) -> Iterator[tuple[str, float]]:
    """Yield what `read_durations` returns, as a confined process does."""
    yield from read_durations(file).items()


def _of_records(file: Path) -> dict[str, float]:
    try:
        return durations_of_records(file)
    except MeasureError as fault:
        raise CorpusError(str(fault).removeprefix(f"{file}: ")) from fault


def _is_csv(content: bytes) -> bool:
    first = content.removeprefix(b"\xef\xbb\xbf").lstrip()[:2000].partition(b"\n")[0].lower()
    return first[:1] not in (b"{", b"[") and any(name.encode() in first for name in DURATION)


def _of_videos(content: bytes) -> Iterator[tuple[str, float]]:
    found = read_json(content, strict=False)
    if not isinstance(found, dict):
        raise CorpusError(f"a JSON {type(found).__name__}; expected an object by video")
    for video, value in without_split(found, "").items():
        if isinstance(value, dict):
            value = value.get("duration")
        elif isinstance(value, list) and value:
            value = value[0]
        length = seconds(value, video)
        if length <= 0:
            raise CorpusError(f"field {printable(video)}: {length:g}; expected more than 0 seconds")
        yield video, length
