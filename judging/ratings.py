"""Finished ratings (`pair_id,worker,relevance`) and the file of their pairs: reading and settling them, and counting
the defects of their process.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from base.errors import ReeljudgeError
from base.text import wording
from campaigns.models.campaign import TOLERANCE
from corpus.errors import CorpusError
from corpus.importers.rows import LONGEST_NAME, LONGEST_TEXT, BadField, json_object, lines, number, text
from judging.consensus import Outcome, Status, consensus
from judging.models.pool import ANNOTATORS
from metrics import MeasureError
from metrics.formats.csv_tables import csv_rows, rating_rows
from metrics.formats.errors import Place
from metrics.formats.files import read_beginning, read_text
from metrics.formats.json_files import looks_like_json

MOST_RATINGS = 4  # of a pair
NEEDED = ("pair_id", "query_id", "query", "video", "start", "end")
LONGEST_ID, LONGEST_SPLIT = 100, 20  # bytes of UTF-8


class Ratings(dict[str, list[tuple[str, int]]]):
    """The workers and grades of each pair: by rounds if the file says them, or else in the order of the file."""

    rounds_known = False


@dataclass
class Settled:
    """The number of ratings and the outcome of each pair, and the pairs with a defect of the rating process."""

    pairs: dict[str, tuple[int, Outcome]] = field(default_factory=dict)
    one_worker_twice: list[str] = field(default_factory=list)
    one_worker_twice_and_differing: list[str] = field(default_factory=list)
    escalated_without_need: list[str] = field(default_factory=list)
    stopped_while_contested: list[str] = field(default_factory=list)
    odd_number: list[str] = field(default_factory=list)

    @property
    def settled(self) -> int:
        return sum(outcome.status == Status.SETTLED for _, outcome in self.pairs.values())

    @property
    def defects(self) -> dict[str, list[str]]:
        """The pairs with each defect, by a description of the defect."""
        return {
            "one worker twice": self.one_worker_twice,
            "one worker twice, with different grades": self.one_worker_twice_and_differing,
            "escalated although all within one": self.escalated_without_need,
            "stopped while still contested": self.stopped_while_contested,
            "neither two nor four ratings": self.odd_number,
        }


def settle(ratings: Ratings) -> Settled:
    """Settle every pair that has two or four ratings, and list the defects.

    A pair is not settled if its rating stopped while it was contested, or after one or three ratings.
    """
    result = Settled()
    for pair, given in ratings.items():
        grades = [grade for _, grade in given]
        outcome = consensus(grades)
        result.pairs[pair] = (len(given), outcome)
        if outcome.status == Status.CONTESTED:
            result.stopped_while_contested.append(pair)
        if outcome.status == Status.OPEN:
            result.odd_number.append(pair)
        if len(given) == 4 and max(grades) - min(grades) <= TOLERANCE:
            result.escalated_without_need.append(pair)
        workers = {worker for worker, _ in given}
        if len(workers) < len(given):
            result.one_worker_twice.append(pair)
        if len(workers) < len(set(given)):
            result.one_worker_twice_and_differing.append(pair)
    return result


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
            if len(given) == MOST_RATINGS:
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
