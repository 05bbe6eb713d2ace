"""Where a run stands among those that a reader may see, the axis on which all are drawn, and all scores of a run."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from base.text import with_minus
from metrics import CONVENTIONS, Convention, parse_measure
from runs.board.files import caption
from runs.board.options import board_options
from runs.board.table import Board, BoardRow, Cell, board
from runs.estimates.scores import Sample, scores_of
from runs.measures import CUTOFFS, HEADLINE, NAMES, NDCG, THRESHOLDS, USUAL, hits
from runs.models import Run, RunQuerySet, Scoring, ScoringReference

HITS = (1, 5, 10, 100)  # cutoffs of R@K
TICKS = 4  # about as many steps
NICE = (1, 2, 2.5, 5, 10)


@dataclass(frozen=True)
class Axis:
    """A part of the numbers that begins and ends at a round one."""

    low: float
    high: float
    step: float

    def at(self, value: float) -> float:
        """Return where a value stands, in percent of the axis.

        >>> Axis(0, 0.5, 0.1).at(0.25)
        50.0
        """
        return 100 * min(1.0, max(0.0, (value - self.low) / (self.high - self.low)))

    @property
    def ticks(self) -> Iterator[tuple[float, str]]:
        """The round numbers, each with its place.

        >>> [words for _, words in axis_of([0.12, 0.91]).ticks]
        ['0', '0.2', '0.4', '0.6', '0.8', '1']
        """
        for n in range(round((self.high - self.low) / self.step) + 1):
            value = self.low + n * self.step
            yield self.at(value), with_minus(f"{round(value, 6):g}")


def axis_of(values: Iterable[float | None]) -> Axis:
    """Return an axis on which all values stand; those that are not known are left out."""
    known = [value for value in values if value is not None]
    low, high = min(known, default=0.0), max(known, default=1.0)
    wide = (high - low) or abs(high) or 1.0
    power = 10 ** math.floor(math.log10(wide / TICKS))
    step = next(nice * power for nice in NICE if nice * power >= wide / TICKS * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return Axis(first * step, max(last, first + 1) * step, step)


@dataclass(frozen=True)
class Standing:
    """A run on a leaderboard of the headline measure, each run in a row of its own."""

    board: Board
    row: BoardRow

    @property
    def place(self) -> int:
        return 1 + self.board.rows.index(self.row)

    @property
    def cell(self) -> Cell:
        return self.row.cells[0]

    @property
    def best(self) -> BoardRow:
        return self.board.rows[0]

    @property
    def is_best(self) -> bool:
        return self.row is self.best

    @property
    def axis(self) -> Axis:
        return axis_of([*(row.cells[0].value for row in self.board.rows), self.cell.low, self.cell.high])

    @property
    def level(self) -> int:
        """How many other runs the test does not tell apart from the best."""
        return sum(row.is_level for row in self.board.rows) - 1

    @property
    def overlapping(self) -> int:
        """How many other runs have an interval that overlaps its own."""
        low, high = self.cell.low, self.cell.high
        others = (row.cells[0] for row in self.board.rows if row is not self.row)
        return sum(
            low is not None
            and high is not None
            and each.low is not None
            and each.high is not None
            and each.low <= high
            and each.high >= low
            for each in others
        )


def standing_of(run: Run, runs: RunQuerySet, reference: ScoringReference) -> Standing | None:
    """Return where a run stands among others on a release; None if it has no score by the headline measure."""
    found = board(runs, reference, board_options(reference, m=[HEADLINE]))
    row = next((row for row in found.rows if row.run == run and row.cells[0].value is not None), None)
    return Standing(found, row) if row else None


@dataclass(frozen=True)
class ScoreTable:
    """All scores of a run on a release: a row for each measure, a column for each convention."""

    conventions: list[Convention]
    rows: list[tuple[str, list[Cell | None]]]
    refusals: dict[str, str]

    @property
    def surfaces(self) -> list[tuple[str, Sequence[int], list[tuple[float, list[Cell | None]]]]]:
        """The usual convention's NDCG and R@K by cutoff and, in rows, by IoU; none if it refuses the run."""
        names = [convention.name for convention in self.conventions]
        if USUAL not in names:
            return []
        known = {name: cells[names.index(USUAL)] for name, cells in self.rows}
        parts = (("NDCG", CUTOFFS, NDCG), ("R@K", HITS, hits(HITS, THRESHOLDS)))
        return [
            (
                title,
                cutoffs,
                [
                    (iou, [known.get(names[c * len(THRESHOLDS) + n]) for c in range(len(cutoffs))])
                    for n, iou in enumerate(THRESHOLDS)
                ],
            )
            for title, cutoffs, names in parts
        ]

    @property
    def judged(self) -> float | None:
        """The share of the first 20 predictions that somebody judged."""
        cells = dict(self.rows).get("Judged@20", [])
        return next((cell.value for cell in cells if cell), None)


def score_table(scoring: Scoring, sample: Sample) -> ScoreTable:
    """Return all scores of a run on a release."""
    found: dict[str, dict[str, Cell]] = defaultdict(dict)
    for score, estimate in scores_of(scoring, sample):
        of, plain = estimate or score, score.value if estimate else None
        definition = parse_measure(score.measure).definition
        report = CONVENTIONS[score.convention].options(definition.family).report
        unit = 100 if definition.share and report.startswith("percent") else 1
        stored = (of.value, of.low, of.high, score.spread, plain)
        value, low, high, spread, mean = (None if each is None else each / unit for each in stored)
        cell = Cell(value, low, high, spread, plain=mean, is_share=definition.share)
        found[score.measure][score.convention] = cell
    conventions = [name for name in NAMES if any(name in cells for cells in found.values())]
    rows = [(measure, [cells.get(name) for name in conventions]) for measure, cells in found.items()]
    return ScoreTable([CONVENTIONS[name] for name in conventions], rows, scoring.refusals)


def as_table(found: Board) -> dict[str, Any]:
    """Return what the table of a leaderboard shows: the measure that it is drawn by, its axis, and its rows.

    A row has its place, the cell that is drawn, and those that stand beside it as numbers.
    """
    measures = found.options.measures
    column = measures.index(found.options.sort or measures[0])
    rest = [n for n in range(len(measures)) if n != column]
    rows = [
        {"place": place, "row": row, "cell": row.cells[column], "others": [row.cells[n] for n in rest]}
        for place, row in enumerate(found.rows, 1)
    ]
    drawn = [row.cells[column] for row in found.rows]
    return {
        "board": found,
        "sort": measures[column],
        "others": [measures[n] for n in rest],
        "axis": axis_of(end for cell in drawn for end in (cell.value, cell.low, cell.high, *cell.seeds)),
        "rows": rows,
        "level": sum(row.is_level for row in found.rows) - 1,
        "caption": caption(found),
    }
