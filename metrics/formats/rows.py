"""Rows that are read one by one: slower than `bulk`, and able to say which value of which row is wrong."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .arrays import Floats, Ints
from .columns import Columns, Numbers
from .errors import MeasureError
from .showing import show

GRADE, SCORE = "grade (relevance)", "score"


@dataclass
class Rows:
    """Columns as they were read, of any types; `where` names a row's place for an error.

    value_name: what the values are, for an error. The rest as in `Columns`.
    """

    source: str
    where: Callable[[int], str]
    value_name: str = SCORE
    queries: dict[str, None] = field(default_factory=dict)
    query: list[str] = field(default_factory=list)
    video: list[Any] = field(default_factory=list)
    start: list[Any] = field(default_factory=list)
    end: list[Any] = field(default_factory=list)
    value: list[Any] = field(default_factory=list)
    further: list[tuple[int, Any, Any]] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)
    durations: dict[str, float] = field(default_factory=dict)
    saliency: dict[str, Floats] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

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

    def columns(self) -> Columns:
        """The rows as columns; the first value of the wrong type is an error."""
        numbered = {query: i for i, query in enumerate(self.queries)}
        value = self._grades() if self.value_name == GRADE else numbers(self.fail, SCORE, self.value)
        start = numbers(self.fail, "timestamp (start)", self.start)
        end = numbers(self.fail, "timestamp (end)", self.end)
        names, video = self._videos()
        return Columns(
            source=self.source,
            where=self.where,
            queries=tuple(self.queries),
            group=np.array([numbered[query] for query in self.query], dtype=np.int64),
            names=names,
            video=video,
            start=start,
            end=end,
            value=value,
            further=self.further,
            texts=self.texts,
            types=self.types,
            durations=self.durations,
            saliency=self.saliency,
            notes=self.notes,
        )

    def _videos(self) -> tuple[tuple[str, ...], Ints]:
        for row, video in enumerate(self.video):
            if not isinstance(video, str) or not video:
                raise self.fail(row, f"video name {show(video)} must be a text that is not empty")
        codes = Numbers()
        video = codes.of(self.video)
        return tuple(codes), video

    def _grades(self) -> Floats:
        grades = plain(self.value)
        for row, grade in enumerate(grades):
            if type(grade) not in (int, float) or abs(grade) > 1e300:
                raise self.fail(row, f"{GRADE} is {show(grade)}; it must be an integer from 0 up")
        return np.array(grades, dtype=np.float64)


def numbers(fail: Callable[[int, str], MeasureError], name: str, column: Sequence[Any]) -> Floats:
    """A column as float64; the first value that is not a number is an error."""
    column = plain(column)
    row = next((i for i, x in enumerate(column) if type(x) not in (int, float)), None)
    if row is not None:
        raise fail(row, f"{name} is {show(column[row])}; it must be a finite number")
    try:
        return np.array(column, dtype=np.float64)
    except OverflowError:
        return np.array([np.inf if abs(x) > 1e300 else x for x in column], dtype=np.float64)


def plain(column: Sequence[Any]) -> Sequence[Any]:
    """NumPy's scalars as Python's; everything else as it is."""
    if set(map(type, column)) <= {int, float}:
        return column
    return [value.item() if isinstance(value, np.generic) else value for value in column]


def query_name(value: object, fail: Callable[[str], MeasureError]) -> str:
    """A query id as text; integers and texts are ids, nothing else is."""
    if isinstance(value, bool) or not isinstance(value, int | str) or value == "":
        raise fail(f"query_id is {show(value)}; it must be an integer or a text")
    return str(value)
