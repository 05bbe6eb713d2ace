"""TREC qrels and runs: moments are ids ``video@startms-endms``, with a side file for the exact times."""

import csv
import re
from collections.abc import Iterator
from pathlib import Path

from .errors import MeasureError
from .files import read_text
from .rows import Rows, show
from .tables import Qrels, Run

MOMENT_ID = re.compile(r"(?P<video>.+)@(?P<start>-?\d+)-(?P<end>-?\d+)(?:[#~]\d+)?")
Times = dict[str, tuple[str, float, float]]
RUN_LINE = "query Q0 moment_id rank score tag"
SIDE_COLUMNS = ["moment_id", "video", "start", "end"]


def read_side_file(path: str | Path) -> Times:
    """Video, start and end (seconds) of every moment id, from a CSV or TSV with those four columns."""
    text = read_text(path)
    between = "\t" if "\t" in text.split("\n", 1)[0] else ","
    rows = csv.reader(text.splitlines(), delimiter=between)
    header = [name.strip() for name in next(rows)]
    if sorted(header) != sorted(SIDE_COLUMNS):
        raise MeasureError(
            f"{path}: line 1: columns are {', '.join(header)}; they must be {', '.join(SIDE_COLUMNS)}"
        )
    places = [header.index(name) for name in SIDE_COLUMNS]
    times: Times = {}
    for number, row in enumerate(rows, 2):
        if not row:
            continue
        if len(row) != len(header):
            raise MeasureError(f"{path}: line {number}: has {len(row)} columns; it needs {len(header)}")
        moment, video, start, end = (row[place] for place in places)
        if moment in times:
            raise MeasureError(f"{path}: line {number}: moment {moment!r} stands twice")
        times[moment] = (video, _number(path, number, "start", start), _number(path, number, "end", end))
    return times


def read_trec_qrels(text: str, source: str, times: Times | None = None) -> Qrels:
    """Qrels from lines ``query 0 moment_id grade``."""
    lines: list[int] = []
    rows = Rows(source, lambda i: f"line {lines[i]}")
    seen: set[tuple[str, str]] = set()
    for number, (query, _, moment, grade) in _fields(text, source, 4, "query 0 moment_id grade"):
        _once(source, number, query, moment, seen)
        lines.append(number)
        rows.queries[query] = None
        if not re.fullmatch(r"-?\d{1,9}", grade):
            raise rows.fail(len(lines) - 1, f"grade is {show(grade)}; it must be an integer from 0 up")
        rows.add(query, *_times(source, number, moment, times), int(grade))
        rows.moment.append(moment)
    return Qrels.build(rows)


def read_trec_run(text: str, source: str, times: Times | None = None) -> Run:
    """A run from lines ``query Q0 moment_id rank score tag``.

    Ordered as trec_eval orders: by score, highest first; ties by id, descending; the rank column is not
    looked at.
    """
    found: list[tuple[str, float, str, int]] = []
    seen: set[tuple[str, str]] = set()
    name = "run"
    for number, (query, _, moment, _, score, tag) in _fields(text, source, 6, RUN_LINE):
        name = tag
        _once(source, number, query, moment, seen)
        found.append((query, _number(source, number, "score", score), moment, number))
    queries = dict.fromkeys(query for query, *_ in found)
    found.sort(key=lambda line: (line[1], line[2]), reverse=True)
    rows = Rows(source, lambda i: f"line {found[i][3]}", queries)
    for query, value, moment, number in found:
        rows.add(query, *_times(source, number, moment, times), value)
    return Run.build(rows, name)


def _fields(text: str, source: str, width: int, shape: str) -> Iterator[tuple[int, list[str]]]:
    for number, line in enumerate(text.split("\n"), 1):
        parts = line.split()
        if parts and len(parts) != width:
            raise MeasureError(f"{source}: line {number}: has {len(parts)} fields; it must be: {shape}")
        if parts:
            yield number, parts


def _once(source: str, number: int, query: str, moment: str, seen: set[tuple[str, str]]) -> None:
    if (query, moment) in seen:
        raise MeasureError(f"{source}: line {number}: moment {moment!r} stands twice in query {query!r}")
    seen.add((query, moment))


def _times(source: str, number: int, moment: str, times: Times | None) -> tuple[str, float, float]:
    if times is not None:
        if moment not in times:
            raise MeasureError(f"{source}: line {number}: moment {moment!r} is not in the side file")
        return times[moment]
    return times_of_id(f"{source}: line {number}", moment)


def times_of_id(place: str, moment: str) -> tuple[str, float, float]:
    """Video, start and end (seconds) that a moment id says.

    >>> times_of_id("line 1", "clip@1500-4000")
    ('clip', 1.5, 4.0)
    """
    found = MOMENT_ID.fullmatch(moment)
    if not found:
        raise MeasureError(
            f"{place}: moment id {moment!r} is not video@startms-endms, and no side file was given"
        )
    return found["video"], int(found["start"]) / 1000, int(found["end"]) / 1000


def _number(source: str | Path, line: int, name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not abs(value) < float("inf"):
        raise MeasureError(f"{source}: line {line}: {name} is {show(text)}; it must be a finite number")
    return value
