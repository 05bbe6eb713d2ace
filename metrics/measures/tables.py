"""Qrels and runs as columns: the only shape in which the measures see them.

Rows of one query are contiguous and keep the order of the file. Build them through `Qrels.build` and
`Run.build`, which check every value and name the first wrong one.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np

from metrics.measures.arrays import Floats, Ints
from metrics.measures.errors import MeasureError

HIGHEST_GRADE = 100  # far above any scale in use, far below where 2^grade leaves float64


@dataclass
class Rows:
    """Unchecked rows on their way from a file to a table; `where` names a row's place for an error."""

    source: str
    where: Callable[[int], str]
    queries: dict[str, None] = field(default_factory=dict)
    query: list[str] = field(default_factory=list)
    video: list[Any] = field(default_factory=list)
    start: list[Any] = field(default_factory=list)
    end: list[Any] = field(default_factory=list)
    value: list[Any] = field(default_factory=list)
    moment: list[str] = field(default_factory=list)
    further: list[tuple[int, Any, Any]] = field(default_factory=list)  # more annotations: row, start, end
    types: dict[str, str] = field(default_factory=dict)
    durations: dict[str, float] = field(default_factory=dict)
    saliency: dict[str, Floats] = field(default_factory=dict)

    def add(self, query: str, video: Any, start: Any, end: Any, value: Any) -> None:
        self.query.append(query)
        self.video.append(video)
        self.start.append(start)
        self.end.append(end)
        self.value.append(value)

    def fail(self, row: int, message: str) -> MeasureError:
        return MeasureError(f"{self.source}: {self.where(row)}: {message}")


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of (query, video, start, end); rows offsets[i] to offsets[i+1] belong to queries[i]. Seconds.

    durations: length of a query's video in seconds, where the file gives it. saliency: of a query's
    two-second clips, where the file gives it: judged, floats of shape (clips, annotators); predicted, of
    shape (clips,).
    """

    queries: tuple[str, ...]
    offsets: Ints
    videos: tuple[str, ...]
    start: Floats
    end: Floats
    durations: Mapping[str, float] = field(default_factory=dict, kw_only=True)
    saliency: Mapping[str, Floats] = field(default_factory=dict, kw_only=True)

    def __len__(self) -> int:
        return len(self.queries)

    def query_of_row(self) -> Ints:
        """Number of the query of every row: int64 of shape (rows,)."""
        return np.repeat(np.arange(len(self.queries), dtype=np.int64), np.diff(self.offsets))


@dataclass(frozen=True, eq=False)
class Run(Table):
    """A system's predictions, in the order in which the system ranked them, with its scores."""

    scores: Floats
    name: str = "run"

    @classmethod
    def build(cls, rows: Rows, name: str = "run") -> Self:
        """Check rows and make a run of them; raises MeasureError naming the first wrong value."""
        if not rows.queries:
            raise MeasureError(f"{rows.source}: the run is empty: it needs at least one query")
        order, common = _columns(rows)
        scores = numbers(rows, "score", rows.value)
        return cls(*common, scores=scores[order], name=name, durations=rows.durations, saliency=rows.saliency)


class Further(NamedTuple):
    """Annotations after the first: int64 row of their moment, start and end in seconds."""

    row: Ints
    start: Floats
    end: Floats


@dataclass(frozen=True, eq=False)
class Qrels(Table):
    """The judged moments of every query with their grades (0: judged and not relevant).

    moments: ids. further: where several annotators marked a moment, the annotations after the first.
    types: type of a query, where the file gives it (TVR: v, t, vt).
    """

    grades: Ints
    moments: tuple[str, ...]
    further: Further | None = None
    types: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def build(cls, rows: Rows) -> Self:
        """Check rows and make qrels of them; raises MeasureError naming the first wrong value."""
        if not rows.queries:
            raise MeasureError(f"{rows.source}: the qrels are empty: they need at least one query")
        grades = grade_column(rows)
        order, common = _columns(rows)
        start, end = common[3], common[4]
        backwards = np.flatnonzero(end < start)
        if backwards.size:
            row = int(order[backwards[0]])
            raise rows.fail(
                row,
                f"timestamp [{rows.start[row]}, {rows.end[row]}] ends before it starts; it needs start ≤ end",
            )
        ids = [rows.moment[i] for i in order] if rows.moment else moment_ids(common[0], *common[1:])
        return cls(
            *common,
            grades=grades[order],
            moments=tuple(ids),
            further=_further(rows, order),
            types=rows.types,
            durations=rows.durations,
            saliency=rows.saliency,
        )


def _further(rows: Rows, order: Ints) -> Further | None:
    """The annotations after the first, by the number of their moment's row."""
    if not rows.further:
        return None
    place = np.argsort(order)
    owner, start, end = zip(*rows.further, strict=True)
    spots = Rows(rows.source, lambda i: rows.where(owner[i]))
    starts, ends = numbers(spots, "timestamp (start)", start), numbers(spots, "timestamp (end)", end)
    if (ends < starts).any():
        row = int(np.flatnonzero(ends < starts)[0])
        raise spots.fail(
            row, f"timestamp [{start[row]}, {end[row]}] ends before it starts; it needs start ≤ end"
        )
    return Further(place[np.array(owner, dtype=np.int64)], starts, ends)


def _columns(rows: Rows) -> tuple[Ints, tuple[tuple[str, ...], Ints, tuple[str, ...], Floats, Floats]]:
    """The columns that qrels and runs share, grouped by query, and the order that groups them."""
    start, end = numbers(rows, "timestamp (start)", rows.start), numbers(rows, "timestamp (end)", rows.end)
    for row, video in enumerate(rows.video):
        if not isinstance(video, str) or not video:
            raise rows.fail(row, f"video name {show(video)} must be a text that is not empty")
    code = {query: i for i, query in enumerate(rows.queries)}
    group = np.array([code[query] for query in rows.query], dtype=np.int64)
    order = np.argsort(group, kind="stable").astype(np.int64)
    offsets = np.concatenate([[0], np.cumsum(np.bincount(group, minlength=len(code)))]).astype(np.int64)
    videos = tuple(rows.video[i] for i in order)
    return order, (tuple(code), offsets, videos, start[order], end[order])


def numbers(rows: Rows, name: str, column: Sequence[Any]) -> Floats:
    """A column as float64; the first value that is not a finite number is an error."""
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
    for row, grade in enumerate(rows.value):
        whole = type(grade) is int or (type(grade) is float and grade.is_integer())
        if not whole or not 0 <= grade <= HIGHEST_GRADE:
            raise rows.fail(row, f"grade (relevance) is {show(grade)}; it must be an integer from 0 up")
    return np.array(rows.value, dtype=np.int64)


def moment_ids(
    queries: Sequence[str], offsets: Ints, videos: Sequence[str], start: Floats, end: Floats
) -> list[str]:
    """Ids ``video@startms-endms``; a moment that a query holds twice gets ``#2``, ``#3``… behind its id."""
    ids: list[str] = []
    stamps = list(zip(videos, np.rint(start * 1000).tolist(), np.rint(end * 1000).tolist(), strict=True))
    for i in range(len(queries)):
        seen: dict[str, int] = {}
        for video, begin, finish in stamps[offsets[i] : offsets[i + 1]]:
            name = f"{'_'.join(video.split())}@{int(begin)}-{int(finish)}"
            seen[name] = seen.get(name, 0) + 1
            ids.append(name if seen[name] == 1 else f"{name}#{seen[name]}")
    return ids


def show(value: object) -> str:
    """A value as it should stand in an error: short, on one line."""
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."


def query_name(value: object, fail: Callable[[str], MeasureError]) -> str:
    """A query id as text; integers and texts are ids, nothing else is."""
    if isinstance(value, bool) or not isinstance(value, int | str) or value == "":
        raise fail(f"query_id is {show(value)}; it must be an integer or a text")
    return str(value)


def run_from_dict(
    predictions: Mapping[str, Iterable[tuple[str, float, float, float]]], name: str = "run"
) -> Run:
    """A run from ``{query: [(video, start, end, score), …]}``, in rank order."""
    rows = Rows(name, lambda i: f"query {rows.query[i]!r}, prediction {_nth(rows, i)}")
    for query, spans in predictions.items():
        rows.queries[str(query)] = None
        for video, start, end, score in spans:
            rows.add(str(query), video, start, end, score)
    return Run.build(rows, name)


def qrels_from_dict(
    moments: Mapping[str, Iterable[tuple[str, float, float, int]]], name: str = "qrels"
) -> Qrels:
    """Qrels from ``{query: [(video, start, end, grade), …]}``."""
    rows = Rows(name, lambda i: f"query {rows.query[i]!r}, moment {_nth(rows, i)}")
    for query, spans in moments.items():
        rows.queries[str(query)] = None
        for video, start, end, grade in spans:
            rows.add(str(query), video, start, end, grade)
    return Qrels.build(rows)


def _nth(rows: Rows, row: int) -> int:
    return rows.query[: row + 1].count(rows.query[row])
