"""Raw ratings from a file: who gave which pair which grade."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np

from .arrays import Ints
from .csv_tables import csv_rows
from .errors import MeasureError, Place, show
from .files import read_text, source_name
from .names import HIGHEST_GRADE

COLUMNS = ("pair_id", "worker", "relevance")
ROUNDS = {"1": 1, "2": 2}


class Rating(NamedTuple):
    """One line of a file of ratings."""

    pair: str
    worker: str
    grade: int
    round: int | None = None  # 1 or 2; None if the file does not say it


class Ratings(NamedTuple):
    """One rating a row: int64 numbers of candidate and annotator, and the grade; each of shape (ratings,)."""

    candidate: Ints
    annotator: Ints
    grade: Ints

    @classmethod
    def of(cls, ratings: Iterable[Rating]) -> Self:
        """Number pairs and workers from 0, in the order in which they come."""
        pairs: dict[str, int] = {}
        workers: dict[str, int] = {}
        rows = [
            (pairs.setdefault(pair, len(pairs)), workers.setdefault(worker, len(workers)), grade)
            for pair, worker, grade, _ in ratings
        ]
        return cls(*np.array(rows, dtype=np.int64).reshape(-1, 3).T)


def read_ratings(path: str | Path, highest: int = HIGHEST_GRADE) -> Ratings:
    """Ratings from a file as arrays; the file and the errors are those of `rating_rows`."""
    return Ratings.of(rating for _, rating in rating_rows(path, highest))


def rating_rows(path: str | Path, highest: int = HIGHEST_GRADE) -> Iterator[tuple[Place, Rating]]:
    """Ratings with their places, in the order of a CSV with the columns pair_id, worker and relevance.

    Pairs and workers are texts that are not blank; a relevance is an integer from 0 to `highest`. A column round, if
    there is one, holds 1 or 2. The columns are found by their names; further columns and blank lines are passed over.

    Raises
    ------
    MeasureError
        If the file cannot be read, a column is missing, there are no ratings, or one is wrong; it names the line
        and the field.
    """
    source = source_name(path)
    grades = {str(grade): grade for grade in range(highest + 1)}
    place = None
    for place, row in csv_rows(read_text(path), source, COLUMNS):
        grade = grades.get(row["relevance"])
        if grade is None:
            raise _wrong(place, row, "relevance", f"an integer from 0 to {highest}")
        for name in COLUMNS[:2]:
            if not row[name].strip():
                raise _wrong(place, row, name, "an id")
        if row.get("round", "1") not in ROUNDS:
            raise _wrong(place, row, "round", "1 or 2")
        yield place, Rating(row["pair_id"], row["worker"], grade, ROUNDS.get(row.get("round", "")))
    if place is None:
        raise MeasureError(f"{source}: holds no ratings; expected lines of {','.join(COLUMNS)}")


def _wrong(place: Place, row: dict[str, str], name: str, right: str) -> MeasureError:
    return place.fail(f"field {name}: {show(row[name])}; expected {right}")
