"""Qrels and runs laid over each other, ready for the kernels; what several measures need is computed once."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from metrics.measures.arrays import Bools, Floats, Ints
from metrics.measures.conventions import Options
from metrics.measures.errors import MeasureError
from metrics.measures.matching import Pairs, Spans, join, match
from metrics.measures.tables import Qrels, Run

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Ground:
    """Qrels made ready once and used for many runs: coded videos, moments from the highest grade down."""

    qrels: Qrels

    @cached_property
    def position(self) -> dict[str, int]:
        return {query: i for i, query in enumerate(self.qrels.queries)}

    @cached_property
    def codes(self) -> dict[str, int]:
        return {video: i for i, video in enumerate(dict.fromkeys(self.qrels.videos))}

    @cached_property
    def video(self) -> Ints:
        return np.array([self.codes[video] for video in self.qrels.videos], dtype=np.int64)

    @cached_property
    def unit(self) -> Ints:
        return self.qrels.query_of_row()

    @cached_property
    def spans(self) -> Spans:
        return Spans(self.unit, self.video, self.qrels.start, self.qrels.end)

    def moments(self, lowest: int) -> Ints:
        """Rows of the moments with at least that grade: by query, then grade (highest first), then file
        order.
        """
        order = np.lexsort((-self.qrels.grades, self.unit)).astype(np.int64)
        return order[self.qrels.grades[order] >= lowest]


class Scene:
    """Some runs over one ground. A unit is one query of one run: unit = run × queries + query."""

    def __init__(self, ground: Ground, runs: Sequence[Run]) -> None:
        self.ground = ground
        self.runs = runs
        self.queries = len(ground.qrels)
        self.units = self.queries * len(runs)
        self._places = [self._align(run) for run in runs]
        self._kept: dict[object, Any] = {}

    def once(self, key: object, make: Callable[[], T]) -> T:
        """What `make` returns, made at the first call with this key."""
        if key not in self._kept:
            self._kept[key] = make()
        kept: T = self._kept[key]
        return kept

    def _align(self, run: Run) -> Ints:
        """For every query of a run its number in the qrels; a query that nobody judged is an error."""
        position = self.ground.position
        unknown = [query for query in run.queries if query not in position]
        if unknown:
            more = f" (and {len(unknown) - 1} more)" if len(unknown) > 1 else ""
            raise MeasureError(
                f"run {run.name}: query {unknown[0]!r}{more} is not in the qrels; "
                "a run may hold judged queries only"
            )
        return np.array([position[query] for query in run.queries], dtype=np.int64)

    @cached_property
    def missing(self) -> Bools:
        """Whether the run lacks the query: bool of shape (units,)."""
        missing = np.ones((len(self.runs), self.queries), dtype=np.bool_)
        for r, places in enumerate(self._places):
            missing[r, places] = False
        return missing.ravel()

    @cached_property
    def _all(self) -> tuple[Spans, Floats]:
        """All predictions of all runs in file order, and their scores."""
        codes = dict(self.ground.codes)
        video = [codes.setdefault(name, len(codes)) for run in self.runs for name in run.videos]
        unit = [
            self.queries * r + places[run.query_of_row()]
            for r, (run, places) in enumerate(zip(self.runs, self._places, strict=True))
        ]
        spans = Spans(
            np.concatenate(unit),
            np.array(video, dtype=np.int64),
            np.concatenate([run.start for run in self.runs]),
            np.concatenate([run.end for run in self.runs]),
        )
        return spans, np.concatenate([run.scores for run in self.runs])

    def ranked(self, order: str, depth: int) -> tuple[Ints, Ints]:
        """Rows of the first `depth` predictions of every unit in ranked order, and their ranks from 0."""
        return self.once(("ranked", order, depth), lambda: self._ranked(order, depth))

    def _ranked(self, order: str, depth: int) -> tuple[Ints, Ints]:
        spans, scores = self._all
        given = np.arange(spans.unit.size)
        keys = {"given": (given,), "score": (given, -scores), "score-reversed": (-given, -scores)}
        rows = np.lexsort((*keys[order], spans.unit)).astype(np.int64)
        first = np.searchsorted(spans.unit[rows], np.arange(self.units))
        rank = given - first[spans.unit[rows]]
        return rows[rank < depth], rank[rank < depth]

    def pairs(self, options: Options, depth: int) -> Pairs:
        """Prediction–moment pairs under these options; predictions numbered as `ranked` lists them."""
        key = ("pairs", options.order, options.lowest, options.union, depth)
        return self.once(key, lambda: self._join(options, depth))

    def _join(self, options: Options, depth: int) -> Pairs:
        rows, rank = self.ranked(options.order, depth)
        predictions = self._all[0].take(rows)
        return join(predictions, rank, self._moments(options.lowest), options.union)

    def _moments(self, lowest: int) -> Spans:
        """The ground's moments, once for every run."""
        times = len(self.runs)
        rows = np.tile(self.ground.moments(lowest), times)
        shift = np.repeat(np.arange(times, dtype=np.int64) * self.queries, rows.size // times)
        spans = self.ground.spans.take(rows)
        return spans._replace(unit=spans.unit + shift)

    def grades(self, options: Options, depth: int, thresholds: tuple[float, ...]) -> Floats:
        """Grade of the moment that each rank matched, 0 for none: shape (thresholds, units, depth)."""
        key = ("grades", options, depth, thresholds)
        return self.once(key, lambda: self._grades(options, depth, thresholds))

    def _grades(self, options: Options, depth: int, thresholds: tuple[float, ...]) -> Floats:
        bars = np.array(thresholds, dtype=np.float64)
        matched = match(self.pairs(options, depth), bars, options.strict)
        rows, rank = self.ranked(options.order, depth)
        held = np.tile(self.ground.qrels.grades[self.ground.moments(options.lowest)], len(self.runs))
        grade = np.zeros((len(thresholds), self.units, depth))
        threshold, prediction = np.nonzero(matched >= 0)
        unit = self._all[0].unit[rows[prediction]]
        grade[threshold, unit, rank[prediction]] = held[matched[threshold, prediction]]
        return grade

    def ideal(self, options: Options, depth: int) -> Floats:
        """Grades of every unit's best moments, highest first, padded with 0: shape (units, depth)."""
        rows = self.ground.moments(options.lowest)
        unit = self.ground.unit[rows]
        rank = np.arange(rows.size) - np.searchsorted(unit, unit)
        ideal = np.zeros((self.queries, depth))
        near = rank < depth
        ideal[unit[near], rank[near]] = self.ground.qrels.grades[rows[near]]
        return np.tile(ideal, (len(self.runs), 1))
