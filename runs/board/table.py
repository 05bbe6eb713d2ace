"""Making a leaderboard: a row for each run or system, a column for each measure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from django.db.models import Q
from numpy.typing import NDArray

from base.errors import BadValue
from metrics import Measure
from metrics.analysis.compare import bootstrap_columns, holm, p_value
from metrics.analysis.predictions import highest
from metrics.analysis.sampling import Values as SampleValues
from metrics.analysis.sampling import mean_of
from metrics.measures.results import AGGREGATES
from releases.models import Release
from runs.board.options import BoardOptions, Queries
from runs.estimates.scores import Sample
from runs.models import Run, RunQuerySet, Score, Scoring, ScoringReference
from runs.tables import unpacked_values

LEVEL = 0.05  # of significance
Values = NDArray[np.float32]
Found = dict[str, Score]
Mask = NDArray[np.bool_]
PairedTest = Callable[["BoardRow", "BoardRow"], float | None]  # its p-value; None if one of them has no values


@dataclass
class Cell:
    """A measure of a run: the score with its interval over queries, half the width of that over annotators, and how
    it compares with the baseline's. If the score is estimated, `plain` is the mean of the judged queries.
    """

    value: float | None = None
    low: float | None = None
    high: float | None = None
    spread: float | None = None
    p: float | None = None  # corrected by Holm's method
    difference: float | None = None
    deviation: float | None = None  # of several seeds
    seeds: list[float] = field(default_factory=list)  # the score of each of them
    plain: float | None = None
    is_best: bool = False
    is_share: bool = False  # whether it can be written in percent

    @property
    def is_significant(self) -> bool:
        return self.p is not None and self.p < LEVEL


@dataclass
class BoardRow:
    """A run with its cells, or the runs of one system that differ by their seed."""

    name: str
    runs: list[Run]
    cells: list[Cell]
    judged: float | None = None
    is_baseline: bool = False
    is_level: bool = False  # whether the measure that sorts does not tell it apart from the best run
    is_apart: bool | None = None  # whether that measure tells it apart from the next row; None if nobody knows

    @property
    def run(self) -> Run:
        return self.runs[0]

    @property
    def unjudged(self) -> float | None:
        return None if self.judged is None else 1 - self.judged


@dataclass
class Board:
    """A leaderboard, as it is shown and written into files."""

    release: Release
    options: BoardOptions
    rows: list[BoardRow]
    queries: int
    is_part: bool
    sample: Sample
    refused: list[tuple[Run, str]] = field(default_factory=list)
    held_back: str = ""  # the split whose queries it leaves out
    values: dict[int, Values] = field(default_factory=dict)  # of each query by the measure that sorts, by the run's key

    @property
    def is_estimated(self) -> bool:
        """Whether a score of it is an estimate."""
        return any(cell.plain is not None for row in self.rows for cell in row.cells)

    @property
    def has_one_rating(self) -> bool:
        """Whether no pair has more than one rating, so that no interval tells what others would have changed."""
        counts = self.release.counts
        return bool(0 < counts.get("judgements", 0) <= sum(counts.get("pairs", {}).values()))

    @property
    def baseline(self) -> Run | None:
        return next((row.run for row in self.rows if row.is_baseline), None)


def board(runs: RunQuerySet, reference: ScoringReference, options: BoardOptions) -> Board:
    """Return the leaderboard of some runs. Raise BadValue for queries or a baseline that do not exist."""
    release, convention = reference.release, options.convention.name
    mask = Queries(reference).chosen(options)
    scorings = Scoring.objects.filter(release=release, run__in=runs).select_related("run")
    refused = [(scoring.run, scoring.refusals[convention]) for scoring in scorings if convention in scoring.refusals]
    sample = Sample(reference)
    estimates = sample.is_part and mask is None and not options.plain
    found = _found(list(scorings), options)
    rows = [BoardRow(run.name, [run], [_cell(scores.get(str(m))) for m in options.measures]) for run, scores in found]
    _count_judged(rows, found, options, mask)
    if mask is not None:
        _score_part(rows, found, options, mask)
    values = _values_of_sample(found, options, sample) if estimates else []
    if estimates:
        _estimate(rows, sample, values)
    if options.baseline is not None:
        _compare(rows, found, options, mask)
        if estimates:
            _compare_estimates(rows, sample, values)
    test = _paired_test(found, options, mask, sample if estimates else None) if found and _is_tested(options) else None
    if test:
        _mark_level(rows, options, test)
    if options.seeds:
        rows = list(_by_system(rows))
    _mark_best(rows, options)
    rows = _sorted(rows, options)
    if test:
        _mark_apart(rows, options, test)
    queries = int(mask.sum()) if mask is not None else len(reference.queries)
    columns: Iterable[Values] = _values(found, options.sort, mask).T if found and options.sort else ()
    by_run = {run.pk: column for (run, _), column in zip(found, columns, strict=False)}
    return Board(release, options, rows, queries, mask is not None, sample, refused, reference.held_back, by_run)


def _found(scorings: list[Scoring], options: BoardOptions) -> list[tuple[Run, Found]]:
    """Return the scores that the leaderboard shows, by the run and the name of the measure."""
    convention, names = options.convention.name, [str(m) for m in options.measures]
    wanted = Q(convention=convention, measure__in=names) | Q(convention=options.judged_under, measure=options.judged)
    rows = Score.objects.filter(wanted, scoring__in=[scoring.pk for scoring in scorings])
    by_scoring: dict[int, Found] = defaultdict(dict)
    for score in rows:
        by_scoring[score.scoring_id][score.measure] = score
    return [(scoring.run, by_scoring[scoring.pk]) for scoring in scorings if set(names) & by_scoring[scoring.pk].keys()]


def _cell(score: Score | None) -> Cell:
    return Cell(score.value, score.low, score.high, score.spread) if score else Cell()


def _count_judged(
    rows: list[BoardRow], found: list[tuple[Run, Found]], options: BoardOptions, mask: Mask | None
) -> None:
    for row, (_, scores) in zip(rows, found, strict=True):
        if (score := scores.get(options.judged)) and score.value is not None:
            values = None if mask is None else unpacked_values(score.values)[mask]
            row.judged = score.value if values is None else _mean(values)


def _mean(values: Values) -> float | None:
    counted = values[~np.isnan(values)]
    return float(counted.mean(dtype=np.float64)) if counted.size else None


def _values(found: list[tuple[Run, Found]], measure: Measure, mask: Mask | None) -> Values:
    """Return the values of a measure: floats of shape (queries, runs)."""
    stored = [scores.get(str(measure)) for _, scores in found]
    size = next(len(unpacked_values(score.values)) for score in stored if score)
    columns = [unpacked_values(score.values) if score else np.full(size, np.nan, np.float32) for score in stored]
    values = np.stack(columns, axis=1)
    return values if mask is None else values[mask]


def _score_part(rows: list[BoardRow], found: list[tuple[Run, Found]], options: BoardOptions, mask: Mask) -> None:
    """Fill the cells anew from the values of some queries. Nobody has resampled the annotators of these alone."""
    if not rows:
        return
    blocks = [_values(found, measure, mask) for measure in options.measures]
    most = np.repeat([highest(measure, options.convention) for measure in options.measures], len(rows)).tolist()
    found_ends = bootstrap_columns(np.concatenate(blocks, axis=1), most=most)
    low, high = (ends.reshape(len(blocks), -1) for ends in found_ends)
    for n, (measure, block) in enumerate(zip(options.measures, blocks, strict=True)):
        kind = measure.definition.aggregate
        for r, row in enumerate(rows):
            counted = block[:, r][~np.isnan(block[:, r])].astype(np.float64)
            row.cells[n] = Cell(float(AGGREGATES[kind](counted[:, None])[0])) if counted.size else Cell()
            if kind == "mean" and counted.size:
                row.cells[n].low, row.cells[n].high = float(low[n, r]), float(high[n, r])


def _values_of_sample(
    found: list[tuple[Run, Found]], options: BoardOptions, sample: Sample
) -> list[list[SampleValues | None]]:
    """Return what estimates are made of, by measure and run; None where a run has none."""
    scores = [[of.get(str(measure)) for _, of in found] for measure in options.measures]
    return [[sample.values(score) if score else None for score in column] for column in scores]


def _estimate(rows: list[BoardRow], sample: Sample, values: list[list[SampleValues | None]]) -> None:
    """Put estimates over all ranked queries into the cells of runs that rank moments for these."""
    for n, column in enumerate(values):
        for row, each in zip(rows, column, strict=True):
            if each:
                mean, cell = sample.estimate(each), row.cells[n]
                row.cells[n] = Cell(mean.value, mean.low, mean.high, cell.spread, plain=cell.value)


def _compare_estimates(rows: list[BoardRow], sample: Sample, values: list[list[SampleValues | None]]) -> None:
    """Test estimated differences to the baseline where both are estimated; other cells stay as they are."""
    place = next(n for n, row in enumerate(rows) if row.is_baseline)
    for n, column in enumerate(values):
        base = column[place]
        pairs = [
            (row, each.less(base))
            for row, each in zip(rows, column, strict=True)
            if base and each and not row.is_baseline
        ]
        differences = [sample.estimate(each) for _, each in pairs]
        p = holm(np.array([sample.design.p_value(each) for _, each in pairs]))
        for (row, _), difference, corrected in zip(pairs, differences, p.tolist(), strict=True):
            row.cells[n].p, row.cells[n].difference = corrected, difference.value


def _is_tested(options: BoardOptions) -> bool:
    return options.sort is not None and options.sort.definition.aggregate == "mean"


def _paired_test(
    found: list[tuple[Run, Found]], options: BoardOptions, mask: Mask | None, sample: Sample | None
) -> PairedTest:
    """Return a paired test of two rows by the measure that sorts, each by the mean over its seeds."""
    assert options.sort
    place = {run.pk: n for n, (run, _) in enumerate(found)}
    if sample:
        column = _values_of_sample(found, options, sample)[options.measures.index(options.sort)]

        def of_sample(one: BoardRow, other: BoardRow) -> float | None:
            first, second = ([column[place[run.pk]] for run in row.runs] for row in (one, other))
            known = [mean_of([each for each in part if each]) for part in (first, second) if all(part)]
            if len(known) < 2:
                return None
            difference = known[0].less(known[1])
            interval = sample.design.estimate(difference, future=True, confidence=1 - LEVEL)
            # The p-value is found by halving. Above the level, which is seen at once, its size changes nothing.
            return 1.0 if interval.low <= 0 <= interval.high else sample.design.p_value(difference)

        return of_sample
    values = _values(found, options.sort, mask).astype(np.float64)

    def of_queries(one: BoardRow, other: BoardRow) -> float | None:
        first, second = (values[:, [place[run.pk] for run in row.runs]].mean(axis=1) for row in (one, other))
        return p_value(first - second, "t", 0, 0)

    return of_queries


def _mark_level(rows: list[BoardRow], options: BoardOptions, test: PairedTest) -> None:
    """Mark the best run, and each that a paired test of the measure that sorts does not tell apart from it."""
    scored = _sorted([row for row in rows if _score(row, options) is not None], options)
    found = {id(row): test(row, scored[0]) for row in scored[1:]}
    corrected = _corrected(found)
    for row in scored:
        row.is_level = row is scored[0] or not corrected.get(id(row), 0.0) < LEVEL


def _mark_apart(rows: list[BoardRow], options: BoardOptions, test: PairedTest) -> None:
    """Mark whether each row is told apart from the next one; the rows are in the order of their scores."""
    scored = [row for row in rows if _score(row, options) is not None]
    corrected = _corrected({id(one): test(one, other) for one, other in pairwise(scored)})
    for row in scored:
        row.is_apart = corrected[id(row)] < LEVEL if id(row) in corrected else None


def _corrected(found: dict[int, float | None]) -> dict[int, float]:
    """Return the p-values that are known, corrected by Holm's method."""
    known = {key: p for key, p in found.items() if p is not None}
    return dict(zip(known, holm(np.array([*known.values()])).tolist(), strict=True))


def _score(row: BoardRow, options: BoardOptions) -> float | None:
    return row.cells[options.measures.index(options.sort)].value if options.sort else None


def _compare(rows: list[BoardRow], found: list[tuple[Run, Found]], options: BoardOptions, mask: Mask | None) -> None:
    """Test each run against the baseline, on the queries that count for both, and correct by Holm's method."""
    place = next((n for n, row in enumerate(rows) if row.run.number == options.baseline), None)
    if place is None:
        raise BadValue("baseline", f"run {options.baseline}", "a run of this leaderboard")
    rows[place].is_baseline = True
    others = [row for row in rows if not row.is_baseline]
    for n, measure in enumerate(options.measures):
        if measure.definition.aggregate != "mean":
            continue
        values = _values(found, measure, mask).astype(np.float64)
        differences = np.delete(values - values[:, place : place + 1], place, axis=1)
        p = holm(np.array([p_value(each, "t", 0, 0) for each in differences.T]))
        for row, one, each in zip(others, p.tolist(), differences.T, strict=True):
            row.cells[n].p, row.cells[n].difference = one, _mean(each)


def _by_system(rows: list[BoardRow]) -> Iterator[BoardRow]:
    """Yield one row for the runs of a system that differ by their seed, with means and deviations."""
    systems: dict[str, list[BoardRow]] = defaultdict(list)
    for row in rows:
        systems[row.run.group or f"run {row.run.number}"].append(row)
    for members in systems.values():
        if len(members) == 1:
            yield members[0]
            continue
        columns = list(zip(*(row.cells for row in members), strict=True))
        spreads = [_spread([cell.value for cell in cells]) for cells in columns]
        values = [[cell.value for cell in cells if cell.value is not None] for cells in columns]
        cells = [Cell(value, deviation=each, seeds=seeds) for (value, each), seeds in zip(spreads, values, strict=True)]
        judged = _spread([row.judged for row in members])[0]
        is_level = any(row.is_level for row in members)
        yield BoardRow(members[0].run.group, [row.run for row in members], cells, judged, is_level=is_level)


def _spread(values: list[float | None]) -> tuple[float | None, float | None]:
    """Return the mean, and the sample standard deviation of several values."""
    there = [value for value in values if value is not None]
    if not there:
        return None, None
    return float(np.mean(there)), float(np.std(there, ddof=1)) if len(there) > 1 else None


def falls(measure: Measure) -> bool:
    """Return whether the best score is the highest; of ranks it is the lowest."""
    return not measure.definition.is_of_ranks


def _mark_best(rows: list[BoardRow], options: BoardOptions) -> None:
    for n, measure in enumerate(options.measures):
        values = [value for row in rows if (value := row.cells[n].value) is not None]
        best = (max if falls(measure) else min)(values, default=None)
        for row in rows:
            row.cells[n].is_best = best is not None and row.cells[n].value == best


def _sorted(rows: list[BoardRow], options: BoardOptions) -> list[BoardRow]:
    """Return the rows, the best first, and those without a score at the end; without a measure, by name."""
    if options.sort is None:
        return sorted(rows, key=lambda row: row.name.casefold())
    n, sign = options.measures.index(options.sort), -1 if falls(options.sort) else 1

    def place(row: BoardRow) -> tuple[bool, float, str]:
        value = row.cells[n].value
        return value is None, sign * (value or 0), row.name.casefold()

    return sorted(rows, key=place)
