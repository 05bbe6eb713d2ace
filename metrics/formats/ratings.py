"""Raw ratings from a file, for the agreement among annotators."""

import csv
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .arrays import Ints
from .errors import MeasureError
from .files import read_text
from .showing import show

COLUMNS = ("pair_id", "worker", "relevance")


class Ratings(NamedTuple):
    """One rating a row: int64 numbers of candidate and annotator, and the grade; each of shape (ratings,)."""

    candidate: Ints
    annotator: Ints
    grade: Ints


def read_ratings(path: str | Path) -> Ratings:
    """Ratings from a CSV with the columns pair_id, worker, relevance; all integers, relevance from 0 up."""
    rows = csv.reader(read_text(path).splitlines())
    header = next(rows)
    lacking = [name for name in COLUMNS if name not in header]
    if lacking:
        raise MeasureError(f"{path}: line 1: column {lacking[0]} is missing; it needs {', '.join(COLUMNS)}")
    places = [header.index(name) for name in COLUMNS]
    found = [_numbers(path, line, row, places) for line, row in enumerate(rows, 2) if row]
    if not found:
        raise MeasureError(f"{path}: there are no ratings")
    columns = np.array(found, dtype=np.int64).T
    return Ratings(columns[0], columns[1], columns[2])


def _numbers(path: str | Path, line: int, row: list[str], places: list[int]) -> list[int]:
    try:
        numbers = [int(row[place]) for place in places]
    except (ValueError, IndexError):
        numbers = [-1]
    if numbers[-1] < 0 or max(map(abs, numbers)) >= 2**31:
        raise MeasureError(
            f"{path}: line {line}: {show(','.join(row))} must hold integers, and a relevance from 0 up"
        )
    return numbers
