"""Reading the files that a campaign is made of: its queries, finished ratings (`pair_id,worker,relevance`), and the
file of their pairs. Confined processes do it, which have no models.
"""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

from base.errors import ReeljudgeError
from base.text import storable, wording
from corpus.errors import CorpusError
from corpus.importers.rows import LONGEST_NAME, LONGEST_TEXT, BadField, json_object, lines, number, text
from judging.consensus import ANNOTATORS
from metrics import MeasureError
from metrics.formats.csv_tables import csv_rows, rating_rows
from metrics.formats.errors import Place
from metrics.formats.files import read_beginning, read_text
from metrics.formats.json_files import looks_like_json
from metrics.formats.json_reader import read_json

NEEDED_OF_QUERIES = ("query_id", "query")  # the columns of a CSV
LARGEST_LIST = 64 * 2**20  # bytes of one JSON list, or of a CSV; lines of JSON have no such limit
NEEDED = ("pair_id", "query_id", "query", "video", "start", "end")
LONGEST_ID, LONGEST_SPLIT = 100, 20  # bytes of UTF-8


class Ratings(dict[str, list[tuple[str, int]]]):
    """The workers and grades of each pair: by rounds if the file says them, or else in the order of the file."""

    rounds_known = False


def read(file: Path) -> Ratings:
    """Return the ratings of each pair.

    Raise ReeljudgeError if the file or a rating is wrong, a pair has more than four ratings, or more than two in a
    round; it names the line and the field. Raise it, too, if a pair has ratings in round two, but not two in round one.
    """
    ratings, second = Ratings(), dict[str, list[tuple[str, int]]]()
    try:
        for place, (pair, worker, grade, number, _) in rating_rows(file):
            ratings.rounds_known = number is not None
            given = ratings.setdefault(pair, [])
            if number == 2:
                given = second.setdefault(pair, [])
            if number and len(given) == ANNOTATORS:
                raise place.fail(f"a third rating of pair {pair} in round {number}; expected at most two")
            if len(given) == 2 * ANNOTATORS:
                raise place.fail(f"a fifth rating of pair {pair}; expected at most four")
            given.append((worker, grade))
    except MeasureError as fault:
        raise ReeljudgeError(str(fault)) from fault
    for pair, given in second.items():
        if len(ratings[pair]) < ANNOTATORS:
            raise ReeljudgeError(f"{file}: pair {pair} has ratings of round 2, and not two of round 1")
        ratings[pair] += given
    return ratings


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

    Raise ReeljudgeError if the file or a pair is wrong; it names the line and the field.
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
        query=wording(text(row.get("query"), "query")),
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


def queries_of_file(file: Path) -> Iterator[tuple[str, str | None, str]]:
    """Yield for each line or entry of a file of queries where it is, its id and its text; or None and what is wrong.

    Raise ReeljudgeError if the file as a whole cannot be read.
    """
    for where, content in _lines_of_queries(file):
        try:
            yield where, *_fields(_object(content))
        except CorpusError as fault:
            yield where, None, str(fault)


def ratings_of_file(file: Path) -> Iterator[Any]:
    """Yield whether the rounds are known, then each pair with its ratings, as `read` reads them."""
    ratings = read(file)
    yield ratings.rounds_known
    yield from ratings.items()


def pairs_of_file(file: Path) -> Iterator[tuple[Any, ...]]:
    """Yield the values of each pair, as `read_pairs` reads them."""
    yield from map(astuple, read_pairs(file).values())


def _lines_of_queries(file: Path) -> Iterator[tuple[str, object]]:
    """Yield where each line or entry of the file is, and its content as bytes, or parsed."""
    try:
        if _first_byte(file) == b"[":
            yield from _listed(file)
        elif file.suffix.lower() == ".csv":
            _must_fit(file)
            yield from ((place.spot, row) for place, row in csv_rows(read_text(file), str(file), NEEDED_OF_QUERIES))
        else:
            yield from ((f"line {number}", line) for number, line in lines(file))
    except OSError as fault:
        raise ReeljudgeError(f"{file}: cannot be read ({fault.strerror}); expected a file") from fault
    except (CorpusError, MeasureError) as fault:
        raise ReeljudgeError(str(fault)) from fault


def _first_byte(file: Path) -> bytes:
    with file.open("rb") as source:
        return source.read(1024).removeprefix(BOM_UTF8).lstrip()[:1]


def _must_fit(file: Path) -> None:
    if file.stat().st_size > LARGEST_LIST:
        raise ReeljudgeError(f"{file}: over {LARGEST_LIST:,} bytes; write one JSON object a line instead")


def _listed(file: Path) -> Iterator[tuple[str, object]]:
    _must_fit(file)
    try:
        records = read_json(file.read_bytes(), strict=False)
    except MeasureError as fault:
        raise ReeljudgeError(f"{file}: not JSON ({fault})") from fault
    yield from ((f"entry {place}", record) for place, record in enumerate(records, 1))


def _object(content: object) -> dict[str, Any]:
    if isinstance(content, bytes):
        return json_object(content)
    if not isinstance(content, dict):
        raise CorpusError(f"a JSON {type(content).__name__}; expected a JSON object with query_id and query")
    return content


def _fields(record: dict[str, Any]) -> tuple[str, str]:
    query_id = record.get("query_id", record.get("desc_id"))
    if isinstance(query_id, bool) or not isinstance(query_id, int | str) or not str(query_id).strip():
        raise BadField("query_id", query_id, "a number or a text")
    query_id = str(query_id)
    if len(query_id) > 100 or not storable(query_id) or any(character.isspace() for character in query_id):
        raise BadField("query_id", query_id, "at most 100 characters, no white space")
    return query_id, wording(text(record.get("query", record.get("desc")), "query"))
