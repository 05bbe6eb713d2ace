"""Qrels and runs laid over each other, ready for the kernels; what several measures need is computed once."""

import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from copy import copy
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ..formats.arrays import Bools, Floats, Ints
from ..formats.columns import Sampling
from ..formats.dicts import IdQrels, IdRun
from ..formats.errors import MATCH_VIDEOS, MeasureError, MeasureWarning, setting
from ..formats.plausibility import doubts_about_queries, doubts_about_times, doubts_about_videos
from ..formats.tables import Run
from .conventions import Convention, Family, Options, Unjudged
from .ground import Ground, Pick, Plan, grades_of_ids
from .matching import Pairs, Spans, best, by_two_annotators, join, match, passing, ranks

if TYPE_CHECKING:
    from .measure import Measure

EFFECTS = {  # of a missing query, and of several
    "zero": ("count 0", "counts 0"),
    "skip": ("are left out of the mean", "is left out of the mean"),
    "error": ("", ""),
}
T = TypeVar("T")
R = TypeVar("R", bound=Run | IdRun)


def in_order(runs: Sequence[R], convention: Convention, families: Collection[Family]) -> list[R]:
    """The runs with their lists in the order that measures of these families look at.

    Raises MeasureError for a run with a flaw, unless the convention keeps such. Warns of a list whose scores rise, if
    the convention takes it as given and nobody has confirmed that. A run by moment id has no order but that of its
    scores.
    """
    for run in runs:
        if isinstance(run, Run):
            run.sound(convention.lenient)
    if convention.order == "score":
        return [run.by_score() for run in runs]  # type: ignore[misc]
    if convention.order is None and any(convention.options(family).order == "given" for family in families):
        for run in runs:
            if run.rising:
                _warn_of_rising(run, convention)
    return list(runs)


def _warn_of_rising(run: Run | IdRun, convention: Convention) -> None:
    message = (
        f"{run.name}: scores of {len(run.rising)} queries rise along the list (the first: query {run.rising[0]!r}); "
        f"the convention {convention.name} takes a list as it is given: {setting('order', 'score')} sorts it by its "
        f"scores, and {setting('order', 'given')} confirms its order"
    )
    warnings.warn(message, MeasureWarning, stacklevel=5)


class Scene:
    """Some runs over one ground. A unit is one query of one run: unit = run × queries + query.

    sources: the runs; those given by moment id are read as spans only when a measure asks for spans.
    unjudged: whether a query of a run that nobody judged is an `error`, or is left out (`skip`).
    Raises MeasureError for a query that nobody judged, if `unjudged` is `error`; for a run without any judged query;
    and where run and qrels disagree about the length of a video.
    """

    def __init__(self, ground: Ground, sources: Sequence[Run | IdRun], unjudged: Unjudged) -> None:
        self.ground = ground
        self.sources = sources
        self.queries = len(ground.queries)
        self.units = self.queries * len(sources)
        self.unjudged = [self._not_judged(source, unjudged) for source in sources]
        self._numbers = [self._number(source) for source in sources]
        self._kept: dict[tuple[Any, ...], Any] = {}

    def _not_judged(self, run: Run | IdRun, unjudged: Unjudged) -> tuple[str, ...]:
        """The run's queries that nobody judged."""
        unknown = tuple(query for query in run.queries if query not in self.ground.position)
        if unknown and (unjudged == "error" or len(unknown) == len(run.queries)):
            more = f" (and {len(unknown) - 1} more)" if len(unknown) > 1 else ""
            right = (
                f"this convention needs judged queries only ({setting('unjudged', 'skip')} leaves the others out)"
                if unjudged == "error"
                else "no query of the run is; do both files use the same query ids?"
            )
            raise MeasureError(f"run {run.name}: query {unknown[0]!r}{more} is not in the qrels; {right}")
        return unknown

    def doubts(self, r: int, measures: "Sequence[Measure]", convention: Convention) -> Iterator[str]:
        """Yield what makes one doubt that a run is right, by its number, as far as these measures look at it."""
        run, ground = self.sources[r], self.ground
        yield from doubts_about_queries(run.queries)
        if any(measure.definition.needs == "times" for measure in measures):
            times, qrels = self.runs[r], ground.qrels
            yield from doubts_about_videos(times.names, ground.videos, "qrels", f"{MATCH_VIDEOS} renames")
            yield from doubts_about_times(times.start, times.end, qrels.end, "judged moments")
            yield from ground.doubts_about_lengths()
        by_id = [measure for measure in measures if measure.definition.needs == "ids"]
        if by_id and not self._has_judged_ids(r):
            yield (
                f"no prediction has the id of a judged moment, and {by_id[0]} compares nothing else; measures such as "
                "nDCG_IoU, Recall_IoU and Success_IoU compare times"
            )
        yield from self._doubts_about_missing(r, measures, convention)

    def _has_judged_ids(self, r: int) -> bool:
        """Whether a run has a prediction that is a judged moment by its id, of any grade."""
        run, source = self.sources[r], self.ground.source
        if isinstance(run, IdRun) and isinstance(source, IdQrels):
            return any(found.keys() & source.grades.get(query, {}).keys() for query, found in run.lists.items())
        spans, here = self._all[0], slice(r * self.queries, (r + 1) * self.queries)
        rows = np.flatnonzero((spans.unit >= here.start) & (spans.unit < here.stop))
        return self.ground.known.has_any(spans.take(rows), self.queries)

    def _doubts_about_missing(self, r: int, measures: "Sequence[Measure]", convention: Convention) -> Iterator[str]:
        families = dict.fromkeys(m.definition.family for m in measures if m.definition.family != "set")
        missing = self.missing.reshape(len(self.sources), -1)[r] & self.ground.has_relevant
        effects = dict.fromkeys(EFFECTS[convention.options(family).missing] for family in families)
        if missing.any() and effects and EFFECTS["error"] not in effects:
            count, first = int(missing.sum()), self.ground.queries[int(np.flatnonzero(missing)[0])]
            one = count == 1
            effect = " or, by other measures, ".join(each[one] for each in effects)
            ids = f"query {first!r}" if one else f"the first: query {first!r}"
            yield f"{count:,} of {self.queries:,} judged queries {'is' if one else 'are'} missing and {effect} ({ids})"

    def _number(self, run: Run | IdRun) -> Ints:
        """For every query of a run its number in the qrels, -1 for one that nobody judged."""
        for query, seconds in run.durations.items():
            judged = self.ground.qrels.durations.get(query, seconds)
            if judged != seconds:
                raise MeasureError(
                    f"run {run.name}: query {query!r}: the video lasts {seconds} s in the run "
                    f"but {judged} s in the qrels; they must agree"
                )
        position = self.ground.position
        return np.array([position.get(query, -1) for query in run.queries], dtype=np.int64)

    def on(self, ground: Ground) -> "Scene":
        """The same runs over the same moments at other times; what does not depend on times is not computed again."""
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

    @cached_property
    def runs(self) -> list[Run]:
        """The runs as spans."""
        return [source if isinstance(source, Run) else source.table for source in self.sources]

    @cached_property
    def missing(self) -> Bools:
        """Whether the query is missing from the run: bool of shape (units,)."""
        missing = np.ones((len(self.sources), self.queries), dtype=np.bool_)
        for r, numbers in enumerate(self._numbers):
            missing[r, numbers[numbers >= 0]] = False
        return missing.ravel()

    @cached_property
    def _all(self) -> tuple[Spans, Floats]:
        """All predictions for judged queries of all runs in file order, and their scores."""
        codes = {name: number for number, name in enumerate(self.ground.qrels.names)}
        parts = []
        for r, (run, numbers) in enumerate(zip(self.runs, self._numbers, strict=True)):
            recode = np.array([codes.setdefault(name, len(codes)) for name in run.names], dtype=np.int64)
            query = numbers[run.query_of_row()]
            columns = (self.queries * r + query, recode[run.video], run.start, run.end, run.scores)
            judged = query >= 0
            parts.append(columns if judged.all() else tuple(column[judged] for column in columns))
        unit, video, start, end, scores = (np.concatenate(column) for column in zip(*parts, strict=True))
        return Spans(unit, video, start, end), scores

    @cached_property
    def sizes(self) -> Ints:
        """Number of predictions of every unit: int64 of shape (units,)."""
        return np.bincount(self._all[0].unit, minlength=self.units).astype(np.int64)

    def existence(self, silence: float) -> Floats:
        """How sure a run is that a query has something to find: what it says itself, or the highest score of its list;
        `silence` for an empty list. Floats of shape (units,).
        """
        spans, scores = self._all
        found = np.full(self.units, -np.inf)
        np.maximum.at(found, spans.unit, scores)
        found[self.sizes == 0] = silence
        for r, run in enumerate(self.runs):
            for query, score in run.existence.items():
                if query in self.ground.position:
                    found[r * self.queries + self.ground.position[query]] = score
        return found

    def ranked(self, options: Options, pick: Pick, depth: int) -> tuple[Ints, Ints]:
        """Rows of the predictions of every unit in ranked order, and their ranks: 0 to depth − 1."""
        key = ("ranked", options.order, options.listed, pick.own_video and pick, depth)
        return self.once(key, lambda: self._ranked(options, pick, depth))

    def _ranked(self, options: Options, pick: Pick, depth: int) -> tuple[Ints, Ints]:
        spans, scores = self._all
        rows = np.argsort(spans.unit, kind="stable").astype(np.int64)
        if options.listed:
            rows = rows[ranks(spans.unit[rows]) < options.listed]
        if pick.own_video:
            judged = self.ground.spans.take(self.ground.moments(pick))
            width = int(spans.video.max(initial=0)) + 1
            own = (spans.unit[rows] % self.queries) * width + spans.video[rows]
            rows = rows[np.isin(own, judged.unit * width + judged.video)]
        if options.order != "given":
            given = np.arange(rows.size)
            ties = -given if options.order == "score-reversed" else given
            rows = rows[np.lexsort((ties, -scores[rows], spans.unit[rows]))]
        rank = ranks(spans.unit[rows])
        return (rows[rank < depth], rank[rank < depth]) if depth else (rows, rank)

    def predictions(self, options: Options, pick: Pick, depth: int) -> tuple[Spans, Ints]:
        """The predictions that `ranked` lists, and their ranks."""
        rows, rank = self.ranked(options, pick, depth)
        return self._all[0].take(rows), rank

    def pairs(self, options: Options, pick: Pick, depth: int, least: float, strict: bool) -> Pairs:
        """Prediction–moment pairs that pass `least`; predictions numbered as `ranked` lists them."""
        predictions, rank = self.predictions(options, pick, depth)
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
        merged = by_two_annotators(join(predictions, rank, spans, options.union), everyone, chosen.size * times.size)
        return passing(merged, least, strict)

    def matched(self, options: Options, pick: Pick, plan: Plan) -> Ints:
        """Row of the moment (in the qrels) that each rank matched, -1 for none. Shape (thresholds, units, width), width
        being the longest list.
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
        predictions, rank = self.predictions(options, pick, plan.depth)
        table = np.zeros((self.units, self.width(options, pick, plan)), dtype=pairs.iou.dtype)
        table[predictions.unit, rank] = best(pairs)
        return table

    def identical(self, options: Options, plan: Plan) -> Ints:
        """Grade of the moment at each rank by its id alone, 0 where nobody judged it: shape (units, width)."""
        return self.once(("identical", options, plan.depth), lambda: self._identical(options, plan.depth))

    def _identical(self, options: Options, depth: int) -> Ints:
        if isinstance(self.ground.source, IdQrels) and all(isinstance(s, IdRun) for s in self.sources):
            runs = [source for source in self.sources if isinstance(source, IdRun)]
            return grades_of_ids(self.ground.source, runs, self._numbers, depth)
        predictions, rank = self.predictions(options, Pick(0), depth)
        return self.ground.known.grades_of(predictions, rank, self.queries, self.units)

    @cached_property
    def pools(self) -> list[dict[str, tuple[str, int]]]:
        """Of each query the moments of its pool by their ids, with stratum and grade, -1 for one that is not judged.

        Without a sampling all of it is judged.
        """
        qrels = self.ground.qrels
        sampling = qrels.sampling or Sampling(("",) * qrels.grades.size, ())
        pools: list[dict[str, tuple[str, int]]] = [{} for _ in qrels.queries]
        rows = zip(qrels.query_of_row().tolist(), qrels.stamps, sampling.strata, qrels.grades.tolist(), strict=True)
        for query, moment, stratum, grade in rows:
            pools[query][moment] = (stratum, grade)
        for name, moment, stratum in sampling.unsampled:
            pools[self.ground.position[name]][moment] = (stratum, -1)
        return pools

    def listed(self, run: int, query: int) -> list[str]:
        """The ids of the moments that a run lists for a judged query, in the run's order; both by their numbers."""
        places = np.flatnonzero(self._numbers[run] == query)
        found = self.runs[run]
        return [moment for n in places for moment in found.stamps[found.offsets[n] : found.offsets[n + 1]]]

    def lengths(self, options: Options, pick: Pick, plan: Plan) -> Ints:
        """Number of predictions of every unit, down to the plan's depth: shape (units,)."""
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

    def ideal(self, lowest: int) -> Ints:
        """Grades of every query's moments from `lowest` up, highest first, padded with 0: shape (queries,
        most moments).
        """
        return self.once(("ideal", lowest), lambda: self.ground.grades(lowest))
