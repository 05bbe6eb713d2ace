"""Reading the pair file of finished ratings, which says which query and which moment each pair is."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from base.errors import ReeljudgeError
from base.text import abbreviated, storable

NEEDED = ("pair_id", "query_id", "query", "video", "start", "end")


@dataclass(frozen=True)
class Pair:
    """A query and a moment. Times are in seconds; the similarity is 0 if the file has none."""

    pair_id: str
    query_id: str
    query: str
    split: str
    video: str
    start: float
    end: float
    duration: float
    caption: str
    similarity: float


def read_pairs(file: Path) -> dict[str, Pair]:
    """Return the pairs by id, from a CSV file or from TVR-Ranking's JSON lines.

    Raises
    ------
    ReeljudgeError
        If the file or a pair is wrong; it names the line and the field.
    """
    pairs: dict[str, Pair] = {}
    try:
        for where, row in _rows(file):
            pair = _pair(row, where)
            if pairs.setdefault(pair.pair_id, pair) != pair:
                raise ReeljudgeError(
                    f"{where}: field pair_id: {pair.pair_id} stands for another pair already"
                )
    except OSError as fault:
        raise ReeljudgeError(f"{file}: cannot be read ({fault.strerror}); expected a pair file") from fault
    except UnicodeDecodeError as fault:
        raise ReeljudgeError(f"{file}: not UTF-8 at byte {fault.start}") from fault
    if not pairs:
        raise ReeljudgeError(f"{file}: holds no pairs; expected the columns {','.join(NEEDED)}")
    return pairs


def _rows(file: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each row's fields by name, with the row's place in the file."""
    with file.open(encoding="utf-8-sig", newline="") as source:
        first = source.read(1)
        source.seek(0)
        if first == "{":
            for number, line in enumerate(source, 1):
                yield f"{file}: line {number}", _of_tvr_ranking(line, f"{file}: line {number}")
            return
        rows = csv.DictReader(source)
        if lacking := [name for name in NEEDED if name not in (rows.fieldnames or [])]:
            raise ReeljudgeError(
                f"{file}: line 1: column {lacking[0]} is missing; needed: {', '.join(NEEDED)}"
            )
        try:
            for row in rows:
                yield f"{file}: line {rows.line_num}", row
        except csv.Error as fault:
            raise ReeljudgeError(f"{file}: line {rows.line_num}: not CSV ({fault})") from fault


def _of_tvr_ranking(line: str, where: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
        start, end = record["timestamp"]
        return {**record, "video": record["video_name"], "start": start, "end": end}
    except (ValueError, KeyError, TypeError, RecursionError) as fault:
        raise ReeljudgeError(f"{where}: not an object with video_name and timestamp ({fault!r})") from fault


def _pair(row: dict[str, Any], where: str) -> Pair:
    start, end = (_number(row, name, where) for name in ("start", "end"))
    if not 0 <= start < end:
        raise ReeljudgeError(f"{where}: fields start, end: {start:g} to {end:g}; expected 0 ≤ start < end")
    return Pair(
        **{name: _text(row, name, where, 100) for name in ("pair_id", "query_id")},
        query=_text(row, "query", where, 2000),
        split=_text(row, "split", where, 20, needed=False),
        video=_text(row, "video", where, 300),
        start=start,
        end=end,
        duration=max(end, _number(row, "duration", where, end)),
        caption=_text(row, "caption", where, 5000, needed=False),
        similarity=_number(row, "similarity", where, 0.0),
    )


def _text(row: dict[str, Any], name: str, where: str, most: int, needed: bool = True) -> str:
    value = row.get(name)
    text = str(value).strip() if isinstance(value, str | int) else ""
    if (needed and not text) or len(text) > most or not storable(text):
        raise ReeljudgeError(
            f"{where}: field {name}: {abbreviated(value)}; expected a text of at most {most} characters"
        )
    return text


def _number(row: dict[str, Any], name: str, where: str, default: float | None = None) -> float:
    value = row.get(name)
    if value in (None, "") and default is not None:
        return default
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        number = float("nan")
    if not abs(number) < 1e9:
        raise ReeljudgeError(f"{where}: field {name}: {abbreviated(value)}; expected a number")
    return number
