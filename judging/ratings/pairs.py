"""Reading the pair file of finished ratings, which says which query and which moment each pair is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from base.errors import ReeljudgeError
from corpus.errors import CorpusError
from corpus.importers.rows import LONGEST_NAME, LONGEST_TEXT, BadField, json_object, lines, number, text
from metrics import MeasureError
from metrics.formats.csv_tables import csv_rows
from metrics.formats.errors import Place
from metrics.formats.files import read_beginning, read_text
from metrics.formats.json_files import looks_like_json

NEEDED = ("pair_id", "query_id", "query", "video", "start", "end")
LONGEST_ID, LONGEST_SPLIT = 100, 20  # bytes of UTF-8


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
        for place, row in _rows(file):
            with _faults_at(place):
                pair = _pair(row)
            if pairs.setdefault(pair.pair_id, pair) != pair:
                raise place.fail(f"field pair_id: {pair.pair_id} stands for another pair already")
    except (CorpusError, MeasureError) as fault:
        raise ReeljudgeError(str(fault)) from fault
    if not pairs:
        raise ReeljudgeError(f"{file}: holds no pairs; expected the columns {','.join(NEEDED)}")
    return pairs


def _rows(file: Path) -> Iterator[tuple[Place, dict[str, Any]]]:
    """Yield each row's fields by name, with the row's place in the file."""
    if not looks_like_json(read_beginning(file)):
        yield from csv_rows(read_text(file), str(file), NEEDED)
        return
    for number_of_line, line in lines(file):
        place = Place(str(file), f"line {number_of_line}")
        with _faults_at(place):
            record = _of_tvr_ranking(line)
        yield place, record


@contextmanager
def _faults_at(place: Place) -> Iterator[None]:
    """Add the place to what is wrong with a field."""
    try:
        yield
    except CorpusError as fault:
        raise place.fail(str(fault)) from fault


def _of_tvr_ranking(line: bytes) -> dict[str, Any]:
    record = json_object(line)
    times = record.get("timestamp")
    if not isinstance(times, list) or len(times) != 2:
        raise BadField("timestamp", times, "[start, end] in seconds")
    return {**record, "video": record.get("video_name"), "start": times[0], "end": times[1]}


def _pair(row: dict[str, Any]) -> Pair:
    start, end = _number(row, "start"), _number(row, "end")
    if not 0 <= start < end:
        raise CorpusError(f"fields start, end: {start:g} to {end:g}; expected 0 ≤ start < end")
    return Pair(
        pair_id=_id(row, "pair_id"),
        query_id=_id(row, "query_id"),
        query=text(row.get("query"), "query"),
        split=_text_if_any(row, "split", LONGEST_SPLIT),
        video=text(row.get("video"), "video", LONGEST_NAME),
        start=start,
        end=end,
        duration=max(end, _number(row, "duration", end)),
        caption=_text_if_any(row, "caption", LONGEST_TEXT),
        similarity=_number(row, "similarity", 0.0),
    )


def _id(row: dict[str, Any], name: str) -> str:
    value = row.get(name)
    return text(str(value) if type(value) is int else value, name, LONGEST_ID)


def _text_if_any(row: dict[str, Any], name: str, longest: int) -> str:
    value = row.get(name)
    return "" if value is None or not str(value).strip() else text(value, name, longest)


def _number(row: dict[str, Any], name: str, default: float | None = None) -> float:
    """Return a number, which a CSV file holds as a text."""
    value = row.get(name)
    if value in (None, "") and default is not None:
        return default
    with suppress(ValueError):
        value = float(value) if isinstance(value, str) else value
    return number(value, name)
