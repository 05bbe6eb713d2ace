"""Exported files as tables."""

import csv
import io
from collections.abc import Callable
from pathlib import PurePath
from typing import Any

from ..formats.errors import MeasureError
from ..formats.json_reader import read_json

Rows = list[dict[str, Any]]
NUMBERS: dict[str, Callable[[str], float]] = {
    "start": float,
    "end": float,
    "worker": int,
    "relevance": int,
    "iteration": int,
}
TREC = ("query_id", "iteration", "moment_id", "relevance")


def rows_in(file: str, content: bytes) -> Rows:
    """Return the records of an exported file; ids stay as the file has them, and times are seconds.

    Raises
    ------
    MeasureError
        If this kind of file holds no records.
    """
    text, kind = content.decode(), PurePath(file).suffix
    if kind == ".txt":
        return [_with_numbers(dict(zip(TREC, line.split(), strict=True))) for line in text.splitlines()]
    if kind == ".csv":
        return [_with_numbers(row) for row in csv.DictReader(io.StringIO(text, newline=""))]
    if kind == ".jsonl":
        return [read_json(line) for line in text.split("\n") if line]
    if kind == ".json":
        return [read_json(text)]
    raise MeasureError(f"{file}: not a table; expected a file that ends in .txt, .csv, .jsonl or .json")


def _with_numbers(row: dict[str, str]) -> dict[str, Any]:
    return {name: NUMBERS[name](value) if name in NUMBERS else value for name, value in row.items()}


def frame_of(rows: Rows) -> Any:
    """Return a pandas data frame of the rows, or the rows themselves where pandas is not installed."""
    try:
        import pandas  # type: ignore[import-untyped]
    except ImportError:
        return rows
    return pandas.DataFrame(rows)
