"""Predicted grades of candidates, as CSV or JSON lines: `query`, `video`, `start`, `end` (seconds), `grade`."""

import csv
import io
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from . import HIGHEST_GRADE
from .checks import Checks, refuse, repeats
from .columns import Columns, Kind, Rows
from .csv_tables import csv_rows
from .dicts import run_from_dict
from .errors import MeasureError, MeasureWarning
from .files import read_beginning, read_bytes, source_name, text_of
from .json_files import json_lines, looks_like_json
from .runs import as_run
from .tables import Run

FIELDS = ("query", "video", "start", "end", "grade")
PREDICTED = Kind("candidate", "grade", "grade", ("grade",))

Predicted = tuple[str, str, float, float, float]


def as_predicted(source: Any) -> Run:
    """Predicted grades from a file as `read_predicted` reads it, or from a run, whose scores they are: see `as_run`."""
    if isinstance(source, str | Path) and holds_grades(source):
        return read_predicted(source)
    return as_run(source, lenient=True)


def read_predicted(path: str | Path) -> Run:
    """Predicted grades from a file: a CSV with a line of names, or JSON lines, each an object with the same fields.

    Parameters
    ----------
    path : path
        The file; gzip is unpacked; ``-`` is standard input.

    Returns
    -------
    Run
        Its scores are the grades, numbers from 0 to 4 that need not be whole.

    Raises
    ------
    MeasureError
        Naming the file, the line, and what would be right, also for a candidate that stands twice.

    See Also
    --------
    calibration : Compares predicted grades with final ones.
    estimate : Corrects a score by them.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "grades.csv")
    ...     _ = path.write_text("query,video,start,end,grade\\n1,a,0,5,2.5\\n")
    ...     read_predicted(path).scores.tolist()
    [2.5]
    """
    source, data = source_name(path), read_bytes(path)
    columns = _columns(data, source)
    if not columns.queries:
        raise MeasureError(f"{source}: has no candidates")
    wrong = ~((columns.value >= 0) & (columns.value <= HIGHEST_GRADE))
    refuse(columns, "grade", columns.value, wrong, f"a number from 0 to {HIGHEST_GRADE}")
    again, _ = repeats(columns)
    if again.any():
        raise columns.fail(int(np.flatnonzero(again)[0]), "stands for the same candidate as a line before")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MeasureWarning)
        return Run.build(columns, source, Checks(lenient=True))


def predicted_from(rows: Iterable[Predicted], name: str) -> Run:
    """Predicted grades from rows of query, video, start, end (seconds), grade, each of which is right."""
    found: dict[str, list[tuple[str, float, float, float]]] = {}
    for query, *rest in rows:
        found.setdefault(query, []).append(tuple(rest))  # type: ignore[arg-type]
    return run_from_dict(found, name)


def predicted_csv(rows: Iterable[Predicted]) -> Iterator[str]:
    """Yield the lines of a CSV of predicted grades: query, video, start, end (seconds), grade."""
    for row in (FIELDS, *rows):
        csv.writer(out := io.StringIO(), lineterminator="\n").writerow(row)
        yield out.getvalue()


def holds_grades(path: str | Path) -> bool:
    """Whether a file's first line names the fields of predicted grades."""
    if str(path) == "-":
        return False
    first = read_beginning(path).lstrip().split(b"\n", 1)[0]
    quoted = b'"%s"' if first.startswith(b"{") else b"%s"
    return all(quoted % field.encode() in first for field in FIELDS) and not first.startswith(b"[")


def _columns(data: bytes, source: str) -> Columns:
    rows, is_json = Rows(source, PREDICTED), looks_like_json(data)
    for place, row in json_lines(data, source) if is_json else csv_rows(text_of(data, source), source, FIELDS):
        query, video, *numbers = (place.need(row, field) for field in FIELDS)
        if not is_json:
            numbers = [place.number(text, field) for text, field in zip(numbers, FIELDS[2:], strict=True)]
        rows.add(place, place.query(query), video, *numbers)
    return rows.columns()
