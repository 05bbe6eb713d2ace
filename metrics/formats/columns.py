"""Columns on their way to a table, of the right types but not yet checked for sense, and rows that become columns."""

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from .arrays import Bools, Floats, Ints
from .errors import MeasureError, Place, show

START, END, FINITE, INTEGER = "timestamp (start)", "timestamp (end)", "a finite number", "an integer from 0 up"


class Sampling(NamedTuple):
    """How the judged moments were drawn from a pool, as TRECVID draws them.

    strata: the stratum of each row. unsampled: query, moment id and stratum of what was not drawn, and so not judged.
    """

    strata: tuple[str, ...]
    unsampled: tuple[tuple[str, str, str], ...]


class Flaw(NamedTuple):
    """Rows that make no sense: the error that refuses them, and the warning where they are kept."""

    error: str
    note: str


@dataclass(kw_only=True)
class QueryFacts:
    """What a file says about its queries, by their ids: see `Table`, `Run` and `Qrels`."""

    texts: dict[str, str] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)
    durations: dict[str, float] = field(default_factory=dict)
    saliency: dict[str, Floats] = field(default_factory=dict)
    existence: dict[str, float] = field(default_factory=dict)


OF_QUERIES = tuple(field.name for field in fields(QueryFacts))


@dataclass(kw_only=True)
class Columns(QueryFacts):
    """One row a moment or prediction. Times are in seconds.

    where: the place of a row, for an error. group: int64 number of each row's query in `queries`. names: the
    videos, each once; video: int64 number of each row's in `names`. value: grades or scores as float64.
    copy: int64 that tells rows apart which stand for the same times on purpose, as ``#2`` in a TREC file.
    ids: makes the moments' ids, where the file gives them. further: more annotations of a row's moment:
    its row, start, end. sampling: see `Qrels`.
    times: video, start and end of the moments that ids stand for, where the ids do not say them.
    notes: what is unusual about the file. flaws: see `Table`.
    """

    source: str
    where: Callable[[int], str]
    queries: tuple[str, ...]
    group: Ints
    names: tuple[str, ...]
    video: Ints
    start: Floats
    end: Floats
    value: Floats
    copy: Ints | None = None
    ids: Callable[[], list[str]] | None = None
    further: Sequence[tuple[int, Any, Any]] = ()
    sampling: Sampling | None = None
    times: Mapping[str, tuple[str, float, float]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    flaws: list["Flaw"] = field(default_factory=list)

    def fail(self, row: int, message: str) -> MeasureError:
        """The error of a row."""
        return Place(self.source, self.where(row)).fail(message)

    def of_rows(self, rows: Ints) -> "Columns":
        """The columns of some of their rows, in that order; annotations of a row that goes are forgotten."""
        number = np.full(self.group.size, -1)
        number[rows] = np.arange(rows.size)
        ids, where, sampling = self.ids, self.where, self.sampling
        return replace(
            self,
            **{name: getattr(self, name)[rows] for name in ("group", "video", "start", "end", "value")},
            where=lambda row: where(int(rows[row])),
            copy=None if self.copy is None else self.copy[rows],
            ids=None if ids is None else lambda: [*map(ids().__getitem__, rows.tolist())],
            further=[(int(number[row]), start, end) for row, start, end in self.further if number[row] >= 0],
            sampling=sampling and sampling._replace(strata=tuple(sampling.strata[row] for row in rows.tolist())),
        )

    def kept(self, which: Bools) -> "Columns":
        """The columns without some of their rows."""
        return self if which.all() else self.of_rows(np.flatnonzero(which))

    def in_order(self) -> "Columns":
        """The columns with the rows of each query together."""
        in_order = not (self.group[1:] < self.group[:-1]).any()
        return self if in_order else self.of_rows(np.argsort(self.group, kind="stable").astype(np.int64))

    def with_grades_from_zero(self) -> "Columns":
        """The columns with 0 for grades below 0, which trec_eval counts as not relevant; a note says how many."""
        if (below := np.flatnonzero(self.value < 0)).size:
            counted = "1 grade below 0 counts" if below.size == 1 else f"{below.size:,} grades below 0 count"
            self.notes.append(f"{counted} as 0, as in trec_eval (the first: {self.where(int(below[0]))})")
            self.value = np.maximum(self.value, 0.0)
        return self

    def of_queries(self, which: Bools) -> "Columns":
        """The columns of some of their queries: bool of shape (queries,)."""
        number = np.cumsum(which) - 1
        columns = self.kept(which[self.group])
        queries = dict.fromkeys(query for query, is_kept in zip(self.queries, which.tolist(), strict=True) if is_kept)
        known: dict[str, Any] = {
            name: {query: value for query, value in getattr(self, name).items() if query in queries}
            for name in OF_QUERIES
        }
        return replace(columns, queries=tuple(queries), group=number[columns.group], **known)


class Numbers(dict[Any, int]):
    """A number for each different item, in the order in which they first come."""

    def __missing__(self, item: Any) -> int:
        number = self[item] = len(self)
        return number

    def of(self, items: Sequence[Any]) -> Ints:
        """The numbers of items: int64 of shape (items,)."""
        return np.fromiter(map(self.__getitem__, items), dtype=np.int64, count=len(items))


class Kind(NamedTuple):
    """What the rows are.

    row: what one is called. value: what its value is called in an error, and word: as a field that is needed.
    fields: the fields that may hold the value.
    """

    row: str
    value: str
    word: str
    fields: tuple[str, ...]


QUERY, VIDEO = ("query_id", "qid", "query"), ("video_name", "video")  # names of columns, the first one first
MOMENT_ID = ("moment_id", "docno", "doc_id")
MOMENT = Kind("moment", "grade (relevance)", "relevance", ("relevance", "grade", "label"))
PREDICTION = Kind("prediction", "score", "score", ("model_scores", "score"))


@dataclass
class Rows(QueryFacts):
    """Columns that are read one row after the other: place, query, video, start, end and value. See `Columns`."""

    source: str
    kind: Kind
    queries: dict[str, None] = field(default_factory=dict)
    rows: list[tuple[str, str, str, float, float, float]] = field(default_factory=list)
    further: list[tuple[int, float, float]] = field(default_factory=list)
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
        """Add a row of a query, which may be new; a value of the wrong type is an error."""
        if type(value) is not float:
            value = real(place, self.kind.value, value, INTEGER if self.kind is MOMENT else FINITE)
        if type(start) is not float or type(end) is not float:
            start, end = real(place, START, start), real(place, END, end)
        if not video or not isinstance(video, str):
            raise place.fail(f"video name {show(video)} must be a text that is not empty")
        self.queries[query] = None
        self.rows.append((place.spot, query, video, start, end, value))

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
                self.further.append((len(self.rows) - 1, real(place, START, span[0]), real(place, END, span[1])))

    def columns(self) -> Columns:
        """The rows as columns."""
        queries, videos = Numbers(zip(self.queries, count())), Numbers()
        spots, of_query, of_video, *numbers = zip(*self.rows, strict=True) if self.rows else [()] * 6
        video = videos.of(of_video)
        start, end, value = (np.array(column, dtype=np.float64) for column in numbers)
        return Columns(
            source=self.source,
            where=spots.__getitem__,
            queries=tuple(self.queries),
            group=queries.of(of_query),
            names=tuple(videos),
            video=video,
            start=start,
            end=end,
            value=value,
            **{name: getattr(self, name) for name in ("further", "notes", *OF_QUERIES)},
        )


def real(place: Place, name: str, value: Any, right: str = FINITE) -> float:
    """A number as a float, infinite if it is too large for one; what is not a number is an error."""
    if type(value) is not int and type(value := plain(value)) not in (int, float):
        raise place.fail(f"{name} is {show(value)}; it must be {right}")
    try:
        return float(value)
    except OverflowError:
        return np.inf


def plain(value: Any) -> Any:
    """A NumPy scalar as Python's; anything else as it is."""
    return value.item() if isinstance(value, np.generic) else value


def first_of(names: Container[str], aliases: Sequence[str], otherwise: str | None = None) -> str:
    """The first of the aliases that is there; without any, the first of all, or `otherwise`."""
    return next((name for name in aliases if name in names), otherwise or aliases[0])


def columns_of_frame(source: Any, name: str, kind: Kind) -> Columns:
    """Columns of anything with named columns that become lists."""
    there = names_of(source, name)
    times = ["timestamp"] if "timestamp" in there and "start" not in there else ["start", "end"]
    needed = [first_of(there, QUERY), first_of(there, VIDEO), *times, first_of(there, kind.fields, kind.word)]
    rows, columns = Rows(name, kind), lists_of(source, name, needed)
    if times == ["timestamp"]:
        spans = [list(span) if isinstance(span, np.ndarray | tuple) else span for span in columns[2]]
        pairs = [Place(name, f"row {n}").span({"timestamp": span}) for n, span in enumerate(spans)]
        columns[2:3] = [[start for start, _ in pairs], [end for _, end in pairs]]
    for n, (query, video, start, end, value) in enumerate(zip(*columns, strict=True)):
        place = Place(name, f"row {n}")
        rows.add(place, place.query(plain(query)), video, start, end, value)
    return rows.columns()


def by_id_of_frame(source: Any, name: str, kind: Kind) -> dict[str, dict[str, Any]] | None:
    """Values by query and moment id, of a frame with a column of moment ids and none of times; None for others."""
    moment = first_of(there := names_of(source, name), MOMENT_ID)
    if moment not in there or {"start", "timestamp"} & set(there):
        return None
    needed = [first_of(there, QUERY), moment, first_of(there, kind.fields, kind.word)]
    rows = zip(*lists_of(source, name, needed), strict=True)
    return by_id(((Place(name, f"row {n}"), *row) for n, row in enumerate(rows)), moment)


def by_id(rows: Iterable[tuple[Place, Any, Any, Any]], moment: str = "doc_id") -> dict[str, dict[str, Any]]:
    """Values by query and moment id, of rows of both with the value; moment: how errors name the id."""
    found: dict[str, dict[str, Any]] = {}
    for place, query, id, value in rows:
        if not isinstance(id, str):
            raise place.fail(f"{moment} is {show(id)}; it must be a text")
        held = found.setdefault(place.query(plain(query)), {})
        if id in held:
            raise place.fail(f"moment {show(id)} stands twice in its query")
        held[id] = value
    return found


def names_of(source: Any, name: str) -> list[str]:
    """The names of a frame's columns, also of an Arrow table; anything else is an error."""
    try:
        return list(source.column_names if hasattr(source, "column_names") else source.columns)
    except (AttributeError, TypeError):
        raise MeasureError(f"{name}: {type(source).__name__} is no path, dict, or data frame") from None


def lists_of(source: Any, name: str, needed: Sequence[str]) -> list[list[Any]]:
    """Columns of a frame as lists of Python's values; one that is missing is an error."""
    if lacking := [column for column in needed if column not in names_of(source, name)]:
        raise MeasureError(f"{name}: column {lacking[0]} is missing; it needs {', '.join(needed)}")
    columns = [source[column] for column in needed]
    return [list(c.to_pylist() if hasattr(c, "to_pylist") else c.to_list()) for c in columns]
