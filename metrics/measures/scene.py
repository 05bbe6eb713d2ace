"""Qrels and runs laid over each other, ready for the kernels; what several measures need is computed once."""

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from ..formats.arrays import Bools, Floats, Ints
from ..formats.errors import MeasureError
from ..formats.tables import Qrels, Run
from .conventions import Options
from .matching import Pairs, Spans, best, by_two_annotators, join, match, passing

T = TypeVar("T")


@dataclass(frozen=True)
class Plan:
    """What all measures of a family need together, so that one pass serves them all.

    depth: the deepest cutoff, 0 for none. thresholds: of IoU, ascending.
    """

    depth: int
    thresholds: tuple[float, ...]


@dataclass(frozen=True)
class Pick:
    """Which moments and predictions take part, where a measure narrows them.

    lowest: lowest grade. length: moments longer than the first and at most as long as the second, in seconds.
    own_video: only predictions in a judged video of the query (TVRetrieval's SVMR).
    last: of moments with the same grade the last in the file comes first.
    """

    lowest: int
    length: tuple[float, float] | None = None
    own_video: bool = False
    last: bool = False


@dataclass(frozen=True, eq=False)
class Ground:
    """Qrels made ready once and used for many runs: coded videos, moments from the highest grade down."""

    qrels: Qrels

    @cached_property
    def position(self) -> dict[str, int]:
        return {query: i for i, query in enumerate(self.qrels.queries)}

    @cached_property
    def spans(self) -> Spans:
        qrels = self.qrels
        return Spans(qrels.query_of_row(), qrels.video, qrels.start, qrels.end)

    def moments(self, pick: Pick) -> Ints:
        """Rows of the moments that take part: by query, then grade (highest first), then file order."""
        if pick not in self._chosen:
            self._chosen[pick] = self._choose(pick)
        return self._chosen[pick]

    @cached_property
    def _chosen(self) -> dict[Pick, Ints]:
        return {}

    def _choose(self, pick: Pick) -> Ints:
        row = np.arange(self.qrels.grades.size)
        rows = np.lexsort((-row if pick.last else row, -self.qrels.grades, self.spans.unit)).astype(np.int64)
        rows = rows[self.qrels.grades[rows] >= pick.lowest]
        if pick.length:
            length = self.qrels.end[rows] - self.qrels.start[rows]
            rows = rows[(length > pick.length[0]) & (length <= pick.length[1])]
        return rows

    def annotations(self, rows: Ints) -> tuple[Spans, Ints]:
        """All annotations of those moments, one moment after the other, and each one's place in `rows`."""
        spans, owner, further = self.spans.take(rows), np.arange(rows.size), self.qrels.further
        if further is None:
            return spans, owner
        place = np.full(self.qrels.start.size, -1)
        place[rows] = owner
        kept = place[further.row] >= 0
        at = place[further.row[kept]]
        owner = np.concatenate([owner, at])
        order = np.argsort(owner, kind="stable")
        start = np.concatenate([spans.start, further.start[kept]])
        end = np.concatenate([spans.end, further.end[kept]])
        owner = owner[order]
        return Spans(spans.unit[owner], spans.video[owner], start[order], end[order]), owner


class Scene:
    """Some runs over one ground. A unit is one query of one run: unit = run × queries + query."""

    def __init__(self, ground: Ground, runs: Sequence[Run]) -> None:
        self.ground = ground
        self.runs = runs
        self.queries = len(ground.qrels)
        self.units = self.queries * len(runs)
        self._places = [self._align(run) for run in runs]
        self._kept: dict[tuple[Any, ...], Any] = {}

    def on(self, ground: Ground) -> "Scene":
        """The same runs over the same moments at other times; what does not depend on the times is kept."""
        other = copy(self)
        other.ground = ground
        other._kept = {key: value for key, value in self._kept.items() if key[0] in ("ranked", "ideal")}
        return other

    def once(self, key: tuple[Any, ...], make: Callable[[], T]) -> T:
        """What `make` returns, made at the first call with this key."""
        if key not in self._kept:
            self._kept[key] = make()
        kept: T = self._kept[key]
        return kept

    def _align(self, run: Run) -> Ints:
        """For every query of a run its number in the qrels; a query that nobody judged is an error."""
        position, durations = self.ground.position, self.ground.qrels.durations
        unknown = [query for query in run.queries if query not in position]
        if unknown:
            more = f" (and {len(unknown) - 1} more)" if len(unknown) > 1 else ""
            raise MeasureError(
                f"run {run.name}: query {unknown[0]!r}{more} is not in the qrels; "
                "a run may hold judged queries only"
            )
        for query, seconds in run.durations.items():
            if durations.get(query, seconds) != seconds:
                raise MeasureError(
                    f"run {run.name}: query {query!r}: the video lasts {seconds} s in the run "
                    f"but {durations[query]} s in the qrels; they must agree"
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
        codes = {name: number for number, name in enumerate(self.ground.qrels.names)}
        recode = [
            np.array([codes.setdefault(name, len(codes)) for name in run.names], dtype=np.int64)
            for run in self.runs
        ]
        unit = [
            self.queries * r + places[run.query_of_row()]
            for r, (run, places) in enumerate(zip(self.runs, self._places, strict=True))
        ]
        spans = Spans(
            np.concatenate(unit),
            np.concatenate([new[run.video] for new, run in zip(recode, self.runs, strict=True)]),
            np.concatenate([run.start for run in self.runs]),
            np.concatenate([run.end for run in self.runs]),
        )
        return spans, np.concatenate([run.scores for run in self.runs])

    def ranked(self, options: Options, pick: Pick, depth: int) -> tuple[Ints, Ints]:
        """Rows of the predictions of every unit in ranked order, and their ranks: 0 to depth − 1."""
        key = ("ranked", options.order, options.listed, pick.own_video and pick, depth)
        return self.once(key, lambda: self._ranked(options, pick, depth))

    def _ranked(self, options: Options, pick: Pick, depth: int) -> tuple[Ints, Ints]:
        spans, scores = self._all
        rows = np.argsort(spans.unit, kind="stable").astype(np.int64)
        if options.listed:
            rows = rows[_ranks(spans.unit[rows]) < options.listed]
        if pick.own_video:
            judged = self.ground.spans.take(self.ground.moments(pick))
            width = int(spans.video.max(initial=0)) + 1
            own = (spans.unit[rows] % self.queries) * width + spans.video[rows]
            rows = rows[np.isin(own, judged.unit * width + judged.video)]
        if options.order != "given":
            given = np.arange(rows.size)
            ties = -given if options.order == "score-reversed" else given
            rows = rows[np.lexsort((ties, -scores[rows], spans.unit[rows]))]
        rank = _ranks(spans.unit[rows])
        return (rows[rank < depth], rank[rank < depth]) if depth else (rows, rank)

    def pairs(self, options: Options, pick: Pick, depth: int, least: float, strict: bool) -> Pairs:
        """Prediction–moment pairs that pass `least`; predictions numbered as `ranked` lists them."""
        rows, rank = self.ranked(options, pick, depth)
        predictions = self._all[0].take(rows)
        chosen = self.ground.moments(pick)
        annotations, owner = self.ground.annotations(chosen)
        times = np.arange(len(self.runs), dtype=np.int64)
        spans = annotations.take(np.tile(np.arange(owner.size), times.size))
        spans = spans._replace(unit=spans.unit + np.repeat(times * self.queries, owner.size))
        if options.single:
            predictions, spans = predictions.single(), spans.single()
        if owner.size == chosen.size:
            return join(predictions, rank, spans, options.union, least, strict)
        everyone = np.tile(owner, times.size) + np.repeat(times * chosen.size, owner.size)
        merged = by_two_annotators(
            join(predictions, rank, spans, options.union), everyone, chosen.size * times.size
        )
        return passing(merged, least, strict)

    def matched(self, options: Options, pick: Pick, plan: Plan) -> Ints:
        """Row of the moment (in the qrels) that each rank matched, -1 for none.

        Shape (thresholds, units, width), width being the longest list.
        """
        key = ("matched", options, pick, plan)
        return self.once(key, lambda: self._matched(options, pick, plan))

    def _matched(self, options: Options, pick: Pick, plan: Plan) -> Ints:
        bars = np.array(plan.thresholds, dtype=np.float64)
        pairs = self.pairs(options, pick, plan.depth, float(bars.min()), options.strict)
        found = match(pairs, bars, options.strict)
        rows = np.tile(self.ground.moments(pick), len(self.runs))
        table = np.full((bars.size, self.units, self.width(options, pick, plan)), -1, dtype=np.int64)
        ranked, rank = self.ranked(options, pick, plan.depth)
        threshold, prediction = np.nonzero(found >= 0)
        unit = self._all[0].unit[ranked[prediction]]
        table[threshold, unit, rank[prediction]] = rows[found[threshold, prediction]]
        return table

    def best(self, options: Options, pick: Pick, plan: Plan) -> Floats:
        """Highest IoU of every rank with a moment that takes part, 0 for none: shape (units, width)."""
        return self.once(("best", options, pick, plan.depth), lambda: self._best(options, pick, plan))

    def _best(self, options: Options, pick: Pick, plan: Plan) -> Floats:
        pairs = self.pairs(options, pick, plan.depth, 0.0, strict=True)
        rows, rank = self.ranked(options, pick, plan.depth)
        table = np.zeros((self.units, self.width(options, pick, plan)), dtype=pairs.iou.dtype)
        table[self._all[0].unit[rows], rank] = best(pairs)
        return table

    def lengths(self, options: Options, pick: Pick, plan: Plan) -> Ints:
        """Number of predictions of every unit, as far as the plan looks: shape (units,)."""
        rows, _ = self.ranked(options, pick, plan.depth)
        return np.bincount(self._all[0].unit[rows], minlength=self.units).astype(np.int64)

    def width(self, options: Options, pick: Pick, plan: Plan) -> int:
        """Length of the longest list, at least 1."""
        _, rank = self.ranked(options, pick, plan.depth)
        return int(rank.max(initial=0)) + 1

    def held(self, pick: Pick) -> Ints:
        """Number of moments that take part, of every unit: shape (units,)."""
        held = np.bincount(self.ground.spans.unit[self.ground.moments(pick)], minlength=self.queries)
        return np.tile(held, len(self.runs)).astype(np.int64)

    def ideal(self, pick: Pick) -> Ints:
        """Grades of every query's moments, highest first, padded with 0: shape (queries, most moments)."""
        return self.once(("ideal", pick), lambda: self._ideal(pick))

    def _ideal(self, pick: Pick) -> Ints:
        rows = self.ground.moments(pick)
        unit = self.ground.spans.unit[rows]
        rank = _ranks(unit)
        ideal = np.zeros((self.queries, int(rank.max(initial=0)) + 1), dtype=np.int64)
        ideal[unit, rank] = self.ground.qrels.grades[rows]
        return ideal


def _ranks(unit: Ints) -> Ints:
    """Rank of each row within its unit, from 0; the rows of a unit stand together."""
    starts = np.flatnonzero(np.diff(unit, prepend=-1))
    ranks: Ints = np.arange(unit.size) - np.repeat(starts, np.diff(starts, append=unit.size))
    return ranks
