"""Reading finished ratings (`pair_id,worker,relevance`), settling them, and counting the defects of their process."""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from base.errors import ReeljudgeError
from base.text import storable
from campaigns.models.campaign import TOLERANCE
from judging.consensus import GRADES, Outcome, Status, consensus

COLUMNS = ["pair_id", "worker", "relevance"]
GRADE = {str(grade): grade for grade in GRADES}
Ratings = dict[str, list[tuple[str, int]]]


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
        _one_worker_twice(pair, given, result)
    return result


def _one_worker_twice(pair: str, given: list[tuple[str, int]], result: Settled) -> None:
    if len({worker for worker, _ in given}) == len(given):
        return
    result.one_worker_twice.append(pair)
    if len(set(given)) > len({worker for worker, _ in given}):
        result.one_worker_twice_and_differing.append(pair)


def read(file: Path) -> Ratings:
    """Return the ratings of each pair, in the order of the file.

    Raises
    ------
    ReeljudgeError
        If the file or a rating is wrong; it names the line and the field.
    """
    ratings: Ratings = defaultdict(list)
    try:
        # Bytes that are not UTF-8 become halves of surrogate pairs, so that the error can name their line.
        with file.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as source:
            for where, row in _rows(source, file):
                _take(row, ratings, where)
    except OSError as fault:
        raise ReeljudgeError(f"{file}: cannot be read ({fault.strerror}); expected a CSV file") from fault
    if not ratings:
        raise ReeljudgeError(f"{file}: holds no ratings; expected lines of {','.join(COLUMNS)}")
    return ratings


def _rows(source: TextIO, file: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield the rows below the header, each with its place in the file."""
    rows = csv.reader(source)
    try:
        if (header := next(rows, [])) != COLUMNS:
            raise ReeljudgeError(f"{file}: line 1: {','.join(header)[:80]!r}; expected {','.join(COLUMNS)}")
        for row in rows:
            if row:
                yield f"{file}: line {rows.line_num}", row
    except csv.Error as fault:
        raise ReeljudgeError(f"{file}: line {rows.line_num}: not CSV ({fault})") from fault


def _take(row: list[str], ratings: Ratings, where: str) -> None:
    if len(row) != len(COLUMNS):
        raise ReeljudgeError(f"{where}: {len(row)} fields; expected {','.join(COLUMNS)}")
    pair, worker, relevance = row
    for name, value in (("pair_id", pair), ("worker", worker)):
        if not value.strip() or not storable(value):
            raise ReeljudgeError(f"{where}: field {name}: {value[:40]!r}; expected an id in UTF-8")
    grade = GRADE.get(relevance)
    if grade is None:
        raise ReeljudgeError(f"{where}: field relevance: {relevance[:40]!r}; expected an integer from 0 to 4")
    given = ratings[pair]
    if len(given) == 4:
        raise ReeljudgeError(f"{where}: a fifth rating of pair {pair}; expected at most four")
    given.append((worker, grade))
