"""TVR: one JSON object a line with vid_name, duration, ts, desc and type."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from corpus.errors import Problem
from corpus.importers.interface import Choice, Importer, each_object
from corpus.importers.rows import BadField, Row, name, seconds, seconds_or_none, text

TYPES = ("v", "t", "vt")
ALL = "all"


def read(file: Path, choice: Choice) -> Iterator[Row | Problem]:
    """Yield the descriptions of one type; of type v, which means that they tell what is seen, by default."""
    wanted = choice.kind or TYPES[0]

    def rows(where: str, record: dict[str, Any]) -> Iterator[Row]:
        kind = _kind(record)
        if wanted in (ALL, kind):
            yield _row(where, record)

    return each_object(file, rows)


def _kind(record: dict[str, Any]) -> str:
    """Return the type of a description; one that tells none is of type v."""
    value = record.get("type", TYPES[0])
    if value not in TYPES:
        raise BadField("type", value, "v, t or vt")
    return str(value)


def _row(where: str, record: dict[str, Any]) -> Row:
    times = record.get("ts")
    if not isinstance(times, list) or len(times) != 2:
        raise BadField("ts", times, "[start, end] in seconds")
    return Row(
        where=where,
        video=name(record.get("vid_name"), "vid_name"),
        start=seconds(times[0], "ts[0]"),
        end=seconds(times[1], "ts[1]"),
        duration=seconds_or_none(record.get("duration"), "duration"),
        description=text(record.get("desc"), "desc"),
        caption=text(record["caption"], "caption") if "caption" in record else None,
    )


IMPORTER = Importer("tvr", "TVR", read, kinds=(*TYPES, ALL), times=("ts", "ts[0]", "ts[1]"))
