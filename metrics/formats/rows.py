"""Unchecked rows on their way from a file to a table, and the checks on their columns."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .arrays import Floats, Ints
from .errors import MeasureError

HIGHEST_GRADE = 100  # far above any scale in use, far below where 2^grade leaves float64


@dataclass
class Rows:
    """Columns as they were read; `where` names a row's place for an error.

    further: more annotations of a row's moment: its row, start, end.
    """

    source: str
    where: Callable[[int], str]
    queries: dict[str, None] = field(default_factory=dict)
    query: list[str] = field(default_factory=list)
    video: list[Any] = field(default_factory=list)
    start: list[Any] = field(default_factory=list)
    end: list[Any] = field(default_factory=list)
    value: list[Any] = field(default_factory=list)
    moment: list[str] = field(default_factory=list)
    further: list[tuple[int, Any, Any]] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)
    durations: dict[str, float] = field(default_factory=dict)
    saliency: dict[str, Floats] = field(default_factory=dict)

    def add(self, query: str, video: Any, start: Any, end: Any, value: Any) -> None:
        self.query.append(query)
        self.video.append(video)
        self.start.append(start)
        self.end.append(end)
        self.value.append(value)

    def tell(self, query: str, text: object) -> None:
        """Keep a query's text, if there is one."""
        if isinstance(text, str) and text:
            self.texts[query] = text

    def fail(self, row: int, message: str) -> MeasureError:
        return MeasureError(f"{self.source}: {self.where(row)}: {message}")


def grouping(rows: Rows) -> tuple[Ints, Ints]:
    """The order that brings rows of one query together, and where each query's rows begin and the
    last end.
    """
    code = {query: i for i, query in enumerate(rows.queries)}
    group = np.array([code[query] for query in rows.query], dtype=np.int64)
    order = np.argsort(group, kind="stable").astype(np.int64)
    offsets = np.concatenate([[0], np.cumsum(np.bincount(group, minlength=len(code)))]).astype(np.int64)
    return order, offsets


def video_column(rows: Rows) -> tuple[tuple[str, ...], Ints]:
    """The videos, each once, and the number of every row's; the first that is no name is an error."""
    codes: dict[str, int] = {}
    for row, video in enumerate(rows.video):
        if not isinstance(video, str) or not video:
            raise rows.fail(row, f"video name {show(video)} must be a text that is not empty")
        codes.setdefault(video, len(codes))
    return tuple(codes), np.array([codes[video] for video in rows.video], dtype=np.int64)


def time_columns(rows: Rows) -> tuple[Floats, Floats]:
    return numbers(rows, "timestamp (start)", rows.start), numbers(rows, "timestamp (end)", rows.end)


def numbers(rows: Rows, name: str, column: Sequence[Any]) -> Floats:
    """A column as float64; the first value that is not a finite number is an error."""
    column = plain(column)
    if set(map(type, column)) <= {int, float}:
        try:
            values = np.array(column, dtype=np.float64)
        except OverflowError:
            values = np.array([np.inf if abs(x) > 1e300 else x for x in column], dtype=np.float64)
        if np.isfinite(values).all():
            return values
        row = int(np.flatnonzero(~np.isfinite(values))[0])
    else:
        row = next(i for i, x in enumerate(column) if type(x) not in (int, float))
    raise rows.fail(row, f"{name} is {show(column[row])}; it must be a finite number")


def grade_column(rows: Rows) -> Ints:
    """Grades as int64; the first that is not an integer from 0 up is an error."""
    grades = plain(rows.value)
    for row, grade in enumerate(grades):
        whole = type(grade) is int or (type(grade) is float and grade.is_integer())
        if not whole or not 0 <= grade <= HIGHEST_GRADE:
            raise rows.fail(row, f"grade (relevance) is {show(grade)}; it must be an integer from 0 up")
    return np.array(grades, dtype=np.int64)


def plain(column: Sequence[Any]) -> Sequence[Any]:
    """NumPy's scalars as Python's; everything else as it is."""
    if set(map(type, column)) <= {int, float}:
        return column
    return [value.item() if isinstance(value, np.generic) else value for value in column]


def forwards(rows: Rows, row_of: Sequence[int], start: Floats, end: Floats) -> None:
    """Refuse the first span that ends before it starts."""
    wrong = np.flatnonzero(end < start)
    if wrong.size:
        i = int(wrong[0])
        span = f"[{start[i]:.10g}, {end[i]:.10g}]"
        raise rows.fail(row_of[i], f"timestamp {span} ends before it starts; it needs start ≤ end")


def show(value: object) -> str:
    """A value as it should stand in an error: short, on one line."""
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."


def query_name(value: object, fail: Callable[[str], MeasureError]) -> str:
    """A query id as text; integers and texts are ids, nothing else is."""
    if isinstance(value, bool) or not isinstance(value, int | str) or value == "":
        raise fail(f"query_id is {show(value)}; it must be an integer or a text")
    return str(value)
