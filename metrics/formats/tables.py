"""Qrels and runs as columns: the only shape in which the measures see them.

Rows of one query stand together and keep the order of the file. Build them through `Qrels.build` and
`Run.build`, which check every value and name the first wrong one, or from dicts.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np

from .arrays import Floats, Ints
from .errors import MeasureError
from .rows import Rows, forwards, grade_column, grouping, numbers, time_columns, video_column


@dataclass(frozen=True, eq=False, kw_only=True)
class Table:
    """Rows of (query, video, start, end); rows offsets[i] to offsets[i+1] belong to queries[i]. Seconds.

    names: the videos, each once; video: int64 number of each row's video in `names`.
    texts: wording of a query, where the file gives it.
    durations: length of a query's video in seconds, where the file gives it.
    saliency: of a query's two-second clips, where the file gives it: judged, floats of shape (clips,
    annotators); predicted, of shape (clips,).
    """

    queries: tuple[str, ...]
    offsets: Ints
    names: tuple[str, ...]
    video: Ints
    start: Floats
    end: Floats
    texts: Mapping[str, str] = field(default_factory=dict)
    durations: Mapping[str, float] = field(default_factory=dict)
    saliency: Mapping[str, Floats] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.queries)

    @property
    def videos(self) -> list[str]:
        """Name of every row's video."""
        return [self.names[number] for number in self.video.tolist()]

    def query_of_row(self) -> Ints:
        """Number of the query of every row: int64 of shape (rows,)."""
        return np.repeat(np.arange(len(self.queries), dtype=np.int64), np.diff(self.offsets))

    @cached_property
    def stamps(self) -> list[str]:
        """Every row as ``video@startms-endms``; what a query holds twice gets ``#2``, ``#3``… behind it."""
        start, end = (np.rint(times * 1000).astype(np.int64).tolist() for times in (self.start, self.end))
        plain = ["_".join(name.split()) for name in self.names]
        columns = zip(self.query_of_row().tolist(), self.video.tolist(), start, end, strict=True)
        seen: dict[tuple[int, str], int] = {}
        stamps = []
        for query, video, begin, finish in columns:
            key = (query, f"{plain[video]}@{begin}-{finish}")
            seen[key] = seen.get(key, 0) + 1
            stamps.append(key[1] if seen[key] == 1 else f"{key[1]}#{seen[key]}")
        return stamps


@dataclass(frozen=True, eq=False, kw_only=True)
class Run(Table):
    """A system's predictions, in the order in which the system ranked them, with its scores."""

    scores: Floats
    name: str = "run"

    @classmethod
    def build(cls, rows: Rows, name: str = "run") -> Self:
        """Check rows and make a run of them; raises MeasureError naming the first wrong value."""
        if not rows.queries:
            raise MeasureError(f"{rows.source}: the run is empty: it needs at least one query")
        start, end = time_columns(rows)
        names, video = video_column(rows)
        scores = numbers(rows, "score", rows.value)
        order, offsets = grouping(rows)
        return cls(
            queries=tuple(rows.queries),
            offsets=offsets,
            names=names,
            video=video[order],
            start=start[order],
            end=end[order],
            texts=rows.texts,
            durations=rows.durations,
            saliency=rows.saliency,
            scores=scores[order],
            name=name,
        )


class Further(NamedTuple):
    """Annotations after the first: int64 row of their moment, start and end in seconds."""

    row: Ints
    start: Floats
    end: Floats


@dataclass(frozen=True, eq=False, kw_only=True)
class Qrels(Table):
    """The judged moments of every query with their grades (0: judged and not relevant).

    ids: ids of the moments, where the file gives them. further: where several annotators marked a moment, the
    annotations after the first. types: type of a query, where the file gives it (TVR: v, t, vt).
    """

    grades: Ints
    ids: tuple[str, ...] | None = None
    further: Further | None = None
    types: Mapping[str, str] = field(default_factory=dict)

    @property
    def moments(self) -> list[str]:
        """Id of every moment."""
        return self.stamps if self.ids is None else list(self.ids)

    @classmethod
    def build(cls, rows: Rows) -> Self:
        """Check rows and make qrels of them; raises MeasureError naming the first wrong value."""
        if not rows.queries:
            raise MeasureError(f"{rows.source}: the qrels are empty: they need at least one query")
        grades = grade_column(rows)
        start, end = time_columns(rows)
        forwards(rows, range(start.size), start, end)
        names, video = video_column(rows)
        order, offsets = grouping(rows)
        return cls(
            queries=tuple(rows.queries),
            offsets=offsets,
            names=names,
            video=video[order],
            start=start[order],
            end=end[order],
            texts=rows.texts,
            durations=rows.durations,
            saliency=rows.saliency,
            grades=grades[order],
            ids=tuple(rows.moment[i] for i in order) if rows.moment else None,
            further=_further(rows, order),
            types=rows.types,
        )


def _further(rows: Rows, order: Ints) -> Further | None:
    """The annotations after the first, by the number of their moment's row."""
    if not rows.further:
        return None
    owner, start, end = zip(*rows.further, strict=True)
    spots = Rows(rows.source, lambda i: rows.where(owner[i]), start=list(start), end=list(end))
    starts, ends = time_columns(spots)
    forwards(rows, owner, starts, ends)
    return Further(np.argsort(order)[np.array(owner, dtype=np.int64)], starts, ends)


def run_from_dict(
    predictions: Mapping[str, Iterable[tuple[str, float, float, float]]], name: str = "run"
) -> Run:
    """A run from ``{query: [(video, start, end, score), …]}``, in rank order."""
    rows = Rows(name, lambda i: f"query {rows.query[i]!r}, prediction {_nth(rows, i)}")
    _add_all(rows, predictions)
    return Run.build(rows, name)


def qrels_from_dict(
    moments: Mapping[str, Iterable[tuple[str, float, float, int]]], name: str = "qrels"
) -> Qrels:
    """Qrels from ``{query: [(video, start, end, grade), …]}``."""
    rows = Rows(name, lambda i: f"query {rows.query[i]!r}, moment {_nth(rows, i)}")
    _add_all(rows, moments)
    return Qrels.build(rows)


def _add_all(rows: Rows, found: Mapping[str, Iterable[tuple[str, float, float, float]]]) -> None:
    for query, spans in found.items():
        rows.queries[str(query)] = None
        for video, start, end, value in spans:
            rows.add(str(query), video, start, end, value)


def _nth(rows: Rows, row: int) -> int:
    return rows.query[: row + 1].count(rows.query[row])
