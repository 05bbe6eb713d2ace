"""QVHighlights: one JSON object a line with query, vid, duration and relevant_windows, each of them a moment."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from corpus.errors import Problem
from corpus.importers.interface import Choice, Importer, each_object
from corpus.importers.rows import BadField, Row, name, seconds, seconds_or_none, text


def read(file: Path, choice: Choice) -> Iterator[Row | Problem]:
    return each_object(file, _rows)


def _rows(where: str, record: dict[str, Any]) -> list[Row]:
    windows = record.get("relevant_windows")
    if not isinstance(windows, list) or not windows:
        raise BadField("relevant_windows", windows, "a list of [start, end] in seconds that is not empty")
    video, sentence = name(record.get("vid"), "vid"), text(record.get("query"), "query")
    duration = seconds_or_none(record.get("duration"), "duration")
    rows = []
    for number, window in enumerate(windows):
        field = f"relevant_windows[{number}]"
        if not isinstance(window, list) or len(window) != 2:
            raise BadField(field, window, "[start, end] in seconds")
        start, end = seconds(window[0], f"{field}[0]"), seconds(window[1], f"{field}[1]")
        rows.append(Row(where, video, start, end, duration, sentence))
    return rows


IMPORTER = Importer("qvhighlights", "QVHighlights", read)
