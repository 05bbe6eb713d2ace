"""Rows that are read one by one: slower than `bulk`, and able to say which value of which row is wrong."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from .arrays import Floats, Ints
from .columns import Columns, Numbers
from .errors import Faults, MeasureError
from .place import Place
from .showing import show


class Kind(NamedTuple):
    """What the rows are.

    row: what one is called. value: what its value is called in an error, and word: as a field that is needed.
    fields: the fields that may hold the value.
    """

    row: str
    value: str
    word: str
    fields: tuple[str, ...]


MOMENT = Kind("moment", "grade (relevance)", "relevance", ("relevance", "grade"))
PREDICTION = Kind("prediction", "score", "score", ("model_scores", "score"))


@dataclass
class Rows:
    """Columns as they were read, of any types, with the place of every row. The rest as in `Columns`."""

    source: str
    kind: Kind
    queries: dict[str, None] = field(default_factory=dict)
    spots: list[str] = field(default_factory=list)
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

    def new_query(self, place: Place, record: Any, *fields: str) -> str:
        """The query id in the first of the fields that the record has; one that was there before is an error."""
        query = place.query(place.need(record, *fields))
        if query in self.queries:
            raise place.fail(f"query {query!r} stands twice")
        self.queries[query] = None
        return query

    def tell(self, query: str, text: object) -> None:
        """Keep a query's text, if there is one."""
        if isinstance(text, str) and text:
            self.texts[query] = text

    def add(self, place: Place, query: str, video: Any, start: Any, end: Any, value: Any) -> None:
        self.spots.append(place.spot)
        self.query.append(query)
        self.video.append(video)
        self.start.append(start)
        self.end.append(end)
        self.value.append(value)

    def add_span(self, place: Place, query: str, video: Any, span: Any, value: Any) -> None:
        """Add a row whose times are a list that begins with start and end."""
        if not isinstance(span, list) or len(span) < 2:
            raise place.fail(f"{show(span)} must be [start, end]")
        self.add(place, query, video, span[0], span[1], value)

    def add_annotations(self, place: Place, query: str, video: Any, spans: list[Any]) -> None:
        """Add one moment, as several annotators marked it."""
        for n, span in enumerate(spans):
            if n == 0 or not isinstance(span, list) or len(span) != 2:
                self.add_span(place, query, video, span, 1)
            else:
                self.further.append((len(self.spots) - 1, span[0], span[1]))

    def fail(self, row: int, message: str) -> MeasureError:
        return Place(self.source, self.spots[row]).fail(message)

    def columns(self) -> Columns:
        """The rows as columns; the first value of the wrong type is an error."""
        numbered = {query: i for i, query in enumerate(self.queries)}
        value = self._grades() if self.kind is MOMENT else numbers(self.fail, self.kind.value, self.value)
        start = numbers(self.fail, "timestamp (start)", self.start)
        end = numbers(self.fail, "timestamp (end)", self.end)
        names, video = self._videos()
        return Columns(
            source=self.source,
            where=self.spots.__getitem__,
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
                raise self.fail(row, f"{self.kind.value} is {show(grade)}; it must be an integer from 0 up")
        return np.array(grades, dtype=np.float64)


def one_by_one(
    found: Mapping[Any, Iterable[Any]],
    source: str,
    kind: Kind,
    read: Callable[[Place, Any], tuple[Any, Any, Any, Any]],
    faults: Faults | None = None,
) -> Columns:
    """Columns of lists by query; `read` gives video, start, end and value of an item.

    With `faults`, items that cannot be read are added to them and left out; without, the first is an error.
    """
    rows = Rows(source, kind, dict.fromkeys(map(str, found)))
    for query, items in found.items():
        for n, item in enumerate(items, 1):
            place = Place(source, f"query {str(query)!r}, {kind.row} {n}")
            if faults is None:
                rows.add(place, str(query), *read(place, item))
                continue
            try:
                rows.add(place, str(query), *_of_right_types(place, kind, read(place, item)))
            except MeasureError as fault:
                faults.add(fault)
    return rows.columns()


def _of_right_types(place: Place, kind: Kind, item: tuple[Any, Any, Any, Any]) -> tuple[Any, Any, Any, Any]:
    """The video, start, end and value of an item; one that is no text or no number is an error."""
    video, *values = item
    if not isinstance(video, str) or not video:
        raise place.fail(f"video name {show(video)} must be a text that is not empty")
    for name, value in zip(("timestamp (start)", "timestamp (end)", kind.value), values, strict=True):
        if type(value) not in (int, float):
            raise place.fail(f"{name} is {show(value)}; it must be a finite number")
    return item


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
