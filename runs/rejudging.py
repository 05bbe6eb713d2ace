"""A leaderboard that is judged again: its benchmark and runs are kept, and the order of the systems is compared.

The scores on the benchmark are of the same queries as those in grades, of which the release tells: so what differs is
how they were judged, and not which they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from base.errors import BadValue
from campaigns.models import Campaign, Membership
from campaigns.models.draft import token
from drafts.builder import keeps
from drafts.leaderboard import Given, Leaderboard
from metrics import Evaluator, MeasureError, Qrels, parse_measures
from metrics import Run as Predictions
from metrics.measures.ground import Ground
from releases.models import Release
from runs.measures import THRESHOLDS, USUAL, hits, numbers_of
from runs.models import ANONYMOUS, Benchmark, Run, Score, Scoring
from runs.pools.comparing import agreement, place
from runs.references import names_of, qrels_of
from runs.tables import read_table, renamed, store_run, store_table

# By which published leaderboards order their systems, and what is scored in grades.
OF_BENCHMARK = [*hits((1, 5), THRESHOLDS), "mAP_IoU(iou=0.5)", "mIoU"]
HEADLINE = OF_BENCHMARK[1]  # R@1 at IoU 0.5
IN_GRADES = ["nDCG_IoU(iou=0.5)@10", *hits((1, 5), (0.5,))]
COLUMNS = ("value", "low", "high", "place")  # of a file


@keeps
def keep_leaderboard(campaign: Campaign, board: Leaderboard, lead: Membership | None) -> None:
    """Keep the benchmark of a new campaign, and the runs as those of its lead, which researchers see."""
    table = store_table(f"runs/{campaign.name}/benchmark.npz", board.qrels)
    Benchmark.objects.create(campaign=campaign, name=board.benchmark, table=table, depth=board.depth)
    if lead:
        names, called = names_of(campaign), _names(board.runs)
        for number, (name, given) in enumerate(zip(called, board.runs, strict=True), 1):
            run = Run(campaign=campaign, by=lead, number=number, name=name, filename=given.filename)
            store_run(run, token(), given.path, renamed(given.run, names))
            run.save()


def _names(runs: Sequence[Given]) -> list[str]:
    """Return a name for each run: that of its file, with what sets it apart from another of the same name."""
    found: dict[str, None] = {}
    for given in runs:
        stem = Path(given.filename.removesuffix(".gz")).stem[:90] or "run"
        stem = f"run {stem}" if stem.startswith(ANONYMOUS) else stem
        taken = [f"{stem}-{number}" for number in range(2, len(runs) + 1)]
        found[next(name for name in (stem, *taken) if name not in found)] = None
    return list(found)


def scores_on_benchmark(run: Predictions, campaign: Campaign, ground: Ground) -> dict[str, Any]:
    """Return score and interval by each measure of the benchmark, on those of its queries that a release judges.

    Without a benchmark, or without one query that all three have, there is none.
    """
    benchmark = Benchmark.objects.filter(campaign=campaign).first()
    if benchmark is None:
        return {}
    qrels, judged = read_table(Qrels, benchmark.table), set(ground.queries)
    both = qrels_of(qrels, [query for query in qrels.queries if query in judged])
    try:
        scores = Evaluator(parse_measures(OF_BENCHMARK), both, USUAL).calc(run)
    except MeasureError:  # no query is common
        return {}
    return {each.measure: [each.value, each.low, each.high] for each in numbers_of(scores)}


@dataclass
class Placed:
    """A score by one measure with its interval, and the place among the runs that the reader may see."""

    value: float | None
    low: float | None
    high: float | None
    place: int | None = None
    moved: int = 0  # places that the run has risen since the benchmark's own order


@dataclass
class RejudgedRow:
    """A run: on the benchmark, and by each measure in grades."""

    run: Run
    before: Placed
    after: list[Placed]


@dataclass
class NewOrder:
    """The runs on the benchmark and in grades, the best by the first graded measure first."""

    release: Release
    measure: str  # of the benchmark
    queries: int  # that are judged in both ways
    rows: list[RejudgedRow]

    @property
    def taus(self) -> list[float | None]:
        """Kendall's τ-b of the benchmark's order with that of each measure in grades; None if all runs are tied."""
        return [agreement([row.before.value for row in self.rows], after) for after in self._columns()]

    @property
    def leaders(self) -> tuple[Run, Run]:
        """The best run on the benchmark, and the best in grades."""
        return min(self.rows, key=lambda row: row.before.place or len(self.rows)).run, self.rows[0].run

    def _columns(self) -> list[list[float | None]]:
        return [[row.after[n].value for row in self.rows] for n in range(len(IN_GRADES))]

    def lines(self) -> list[dict[str, Any]]:
        """Return the lines of its file."""
        measures = [("benchmark", self.measure), *(("grades", measure) for measure in IN_GRADES)]
        return [
            {"release": self.release.version, "convention": USUAL, "queries": self.queries}
            | {"run": row.run.number, "name": row.run.name, "judged": judged, "measure": measure}
            | {name: getattr(each, name) for name in COLUMNS}
            for row in self.rows
            for (judged, measure), each in zip(measures, [row.before, *row.after], strict=True)
        ]


def new_order(member: Membership, measure: str) -> NewOrder | None:
    """Return the order of the runs that the member may see, on the newest release on which they are scored.

    There is none before a release is scored.
    """
    if measure not in OF_BENCHMARK:
        raise BadValue("measure", measure, f"one of {', '.join(OF_BENCHMARK)}")
    scored = Scoring.objects.filter(run__in=Run.objects.seen_by(member)).exclude(on_benchmark={})
    newest = scored.select_related("release__scoring_reference").order_by("release__version").last()
    if newest is None:
        return None
    rows = [_row(each, measure) for each in scored.filter(release=newest.release).select_related("run")]
    for n in range(-1, len(IN_GRADES)):
        column = [row.before if n < 0 else row.after[n] for row in rows]
        for row, each in zip(rows, column, strict=True):
            each.place = place(each.value, [other.value for other in column])
            each.moved = (row.before.place or 0) - each.place if n >= 0 and row.before.place and each.place else 0
    rows.sort(key=lambda row: (row.after[0].place or len(rows) + 1, row.run.number))
    return NewOrder(newest.release, measure, len(newest.release.scoring_reference.queries), rows)


def _row(scoring: Scoring, measure: str) -> RejudgedRow:
    scores = Score.objects.filter(scoring=scoring, convention=USUAL, measure__in=IN_GRADES)
    after = {score.measure: Placed(score.value, score.low, score.high) for score in scores.defer("values", "predicted")}
    nothing = (None, None, None)
    return RejudgedRow(
        scoring.run,
        Placed(*scoring.on_benchmark.get(measure, nothing)),
        [after.get(name, Placed(*nothing)) for name in IN_GRADES],
    )
