"""Reading TVR's annotations: one JSON object a line with vid_name, duration, ts, desc and type."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from corpus.errors import CorpusError
from corpus.importers.rows import LONGEST_NAME, BadField, Row, json_object, lines, seconds, text

TYPES = ("v", "t", "vt")


def read(file: Path, kind: str) -> Iterator[Row | CorpusError]:
    """Yield the described moments of type `kind` (of all types if it is empty), or the error of a wrong line."""
    for number, line in lines(file):
        try:
            record = json_object(line)
            if not kind or _kind(record) == kind:
                yield _row(number, record)
        except CorpusError as fault:
            yield CorpusError(f"line {number}: {fault}")


def _kind(record: dict[str, Any]) -> str:
    value = record.get("type")
    if value not in TYPES:
        raise BadField("type", value, "v, t or vt")
    return str(value)


def _row(number: int, record: dict[str, Any]) -> Row:
    times = record.get("ts")
    if not isinstance(times, list) or len(times) != 2:
        raise BadField("ts", times, "[start, end] in seconds")
    duration = record.get("duration")
    description = text(record.get("desc"), "desc")
    return Row(
        line=number,
        video=text(record.get("vid_name"), "vid_name", LONGEST_NAME),
        start=seconds(times[0], "ts[0]"),
        end=seconds(times[1], "ts[1]"),
        duration=None if duration is None else seconds(duration, "duration"),
        description=description,
        caption=text(record["caption"], "caption") if "caption" in record else description,
    )
