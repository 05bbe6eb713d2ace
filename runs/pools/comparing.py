"""Scores with the first pool, with the enlarged one, and with one that a system added nothing to, side by side; and
what the pages about pools list.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db import transaction
from numpy.typing import NDArray

from campaigns.models import Membership
from jobs.registry import Report, kind
from judging.models import Batch, Candidate
from metrics import MeasureError, Qrels, qrels_from_dict
from metrics import Run as Predictions
from metrics.analysis.meta import signs, tau_b
from metrics.analysis.pooling import means_of_part, means_without_own
from metrics.formats.moment_ids import moment_id
from releases.archive import ReleaseArchive
from releases.contents import FURTHER
from releases.models import Release
from runs.measures import NDCG, USUAL
from runs.models import Enlargement, PoolScore, Run, Scoring, Source
from runs.references import reference_of
from runs.tables import read_table

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
HEADLINE = NDCG[1]  # NDCG@10 at IoU 0.5
COLUMNS = ("place_first", "place_whole", "first", "whole", "gain", "without", "bias", "reused")  # of a file


def ask_to_compare(release: Release) -> None:
    """Ask for the job that compares the pools of a release, if its campaign has enlarged one."""
    if Enlargement.objects.filter(campaign=release.campaign_id, opened__isnull=False).exists():
        compare_pools.ask(release)


@kind(
    "compare-pools",
    "Compare pools",
    of=Release,
    owner="campaign",
    subject="release {0.version}",
    page=("unjudged", "campaign.name"),
    refusals=(MeasureError,),
)
def compare_pools(release: Release, report: Report) -> None:
    """Store the scores of all runs by pools, in place of those that are stored. There are none without two pools.

    Raise MeasureError if the runs cannot be scored with the first pool alone.
    """
    report(0, 4, "reading the release")
    qrels = read_table(Qrels, reference_of(release).table)
    further, reused = _further(release, qrels), _with_reused(release, qrels)
    scorings = Scoring.objects.filter(release=release).select_related("run").order_by("run__number")
    runs = [scoring.run for scoring in scorings if USUAL not in scoring.refusals]
    if not runs or not (further.any() or reused):
        return
    read = [read_table(Predictions, run.table, name=run.name) for run in runs]
    groups = _groups(runs)
    everything = np.ones_like(further)
    report(1, 4, "scoring with each pool")
    first, whole = (means_of_part(qrels, kept, read, NDCG) for kept in (~further, everything))
    report(2, 4, "scoring without what only one system found")
    finders = _finders(release, qrels, runs, groups)
    without = means_without_own(qrels, finders, read, groups, NDCG)
    report(3, 4, "scoring with reused grades")
    more = None
    if reused:
        more = means_of_part(reused, np.ones(reused.grades.size, np.bool_), read, NDCG)
    _store(release, runs, [first, whole, without, more])
    report(4, 4)


def _groups(runs: Sequence[Run]) -> list[int]:
    """Return a number for each run; runs of one system that differ by their seed have the same."""
    names = [run.group or f"run {run.number}" for run in runs]
    numbers = {name: n for n, name in enumerate(dict.fromkeys(names))}
    return [numbers[name] for name in names]


def _rows(qrels: Qrels) -> dict[tuple[str, str], int]:
    """Return the row of each query's judged moment."""
    queries = [qrels.queries[number] for number in qrels.query_of_row().tolist()]
    return {pair: row for row, pair in enumerate(zip(queries, qrels.stamps, strict=True))}


def _further(release: Release, qrels: Qrels) -> Bools:
    """Return which rows of the qrels were judged because runs found them."""
    rows, found = _rows(qrels), np.zeros(qrels.grades.size, dtype=np.bool_)
    with release.file.open("rb") as file:
        for pair in ReleaseArchive(file).rows("pairs.csv"):
            row = rows.get((pair["query_id"], pair["moment_id"]))
            if pair.get("pool") == FURTHER and row is not None:
                found[row] = True
    return found


def _finders(release: Release, qrels: Qrels, runs: Sequence[Run], groups: Sequence[int]) -> Bools:
    """Return which systems found each row of the qrels: bool of shape (rows, systems), none for the first pool."""
    rows, found = _rows(qrels), np.zeros((qrels.grades.size, max(groups) + 1), dtype=np.bool_)
    group = {run.pk: number for run, number in zip(runs, groups, strict=True)}
    sources = Source.objects.filter(enlargement__campaign=release.campaign_id)
    moment = [f"candidate__moment__{field}" for field in ("video__name", "start", "end")]
    for run, query, *span in sources.values_list("run", "candidate__query__query_id", *moment):
        row = rows.get((query, moment_id(*span)))
        if row is not None and run in group:
            found[row, group[run]] = True
    return found


def _with_reused(release: Release, qrels: Qrels) -> Qrels | None:
    """Return the qrels with the moments that have a judged one's grade on a lead's word; None if there are none."""
    rows = _rows(qrels)
    reused = [
        each
        for enlargement in Enlargement.objects.filter(campaign=release.campaign_id, opened__isnull=False)
        for each in enlargement.reused
    ]
    grades = _grades_of({each["near"]["candidate"] for each in reused}, rows, qrels)
    spans = {query: {(*span,): grade for *span, grade in held} for query, held in qrels.rows(qrels.grades)}
    more = 0
    for each in reused:
        span, grade = (each["video"], each["start"], each["end"]), grades.get(each["near"]["candidate"])
        if grade is not None and span not in spans[each["query"]]:
            spans[each["query"]][span] = grade
            more += 1
    if not more:
        return None
    lists = {query: [(*span, grade) for span, grade in found.items()] for query, found in spans.items()}
    return qrels_from_dict(lists, lenient=True)


def _grades_of(candidates: set[int], rows: dict[tuple[str, str], int], qrels: Qrels) -> dict[int, int]:
    """Return the grades that the release has of some candidates."""
    found = {}
    listed = Candidate.objects.filter(pk__in=candidates).select_related("query", "moment__video")
    for each in listed:
        row = rows.get((each.query.query_id, str(each.moment)))
        if row is not None:
            found[each.pk] = int(qrels.grades[row])
    return found


def _store(release: Release, runs: Sequence[Run], columns: Sequence[Floats | None]) -> None:
    """Store a row for each run and measure, of means of shape (runs, measures)."""

    def value(column: Floats | None, run: int, measure: int) -> float | None:
        return None if column is None or np.isnan(column[run, measure]) else float(column[run, measure])

    names = ("first", "whole", "without", "reused")
    made = [
        PoolScore(
            release=release,
            run=run,
            measure=measure,
            **{name: value(column, r, m) for name, column in zip(names, columns, strict=True)},
        )
        for r, run in enumerate(runs)
        for m, measure in enumerate(NDCG)
    ]
    with transaction.atomic():
        PoolScore.objects.filter(release=release).delete()
        PoolScore.objects.bulk_create(made)


def agreement(first: Sequence[float | None], second: Sequence[float | None]) -> float | None:
    """Return Kendall's τ-b of two orders of the same runs; None if one ties all, or fewer than two have both scores."""
    both = [pair for pair in zip(first, second, strict=True) if None not in pair]
    if len(both) < 2:
        return None
    found = float(tau_b(*(signs(np.array(column, dtype=np.float64)) for column in zip(*both, strict=True))))
    return None if np.isnan(found) else found


def place(value: float | None, values: Sequence[float | None]) -> int | None:
    """Return the place of a score from 1, the highest first; equal scores share the better place."""
    return None if value is None else 1 + sum(other is not None and other > value for other in values)


@dataclass
class ComparedRow:
    """A run with its scores by pools, and its places among the runs that the reader may see."""

    run: Run
    first: float
    whole: float
    without: float | None
    reused: float | None
    place_first: int = 0
    place_whole: int = 0

    @property
    def gain(self) -> float:
        return self.whole - self.first

    @property
    def bias(self) -> float | None:
        """How much higher the run scores because its own system took part in the pool."""
        return None if self.without is None else self.whole - self.without

    @property
    def moved(self) -> int:
        """Places that it has risen by the enlarged pool."""
        return self.place_first - self.place_whole


@dataclass
class Comparison:
    """All rows, the best run with the enlarged pool first."""

    rows: list[ComparedRow]

    @property
    def tau(self) -> float | None:
        """Kendall's τ-b of the order of the runs before and after; None if a pool ties all."""
        return agreement([row.first for row in self.rows], [row.whole for row in self.rows])

    @property
    def leaders(self) -> tuple[ComparedRow, ComparedRow]:
        """The best run with the first pool, and the best with the enlarged one."""
        return min(self.rows, key=lambda row: row.place_first), self.rows[0]

    @property
    def bias(self) -> float | None:
        """The mean bias of all rows that have one."""
        known = [row.bias for row in self.rows if row.bias is not None]
        return sum(known) / len(known) if known else None

    @property
    def has_reused(self) -> bool:
        return any(row.reused is not None for row in self.rows)

    def lines(self, release: Release, measure: str) -> list[dict[str, Any]]:
        """Return the lines of its file."""
        return [
            {"release": release.version, "convention": USUAL, "measure": measure}
            | {"run": row.run.number, "name": row.run.name}
            | {name: getattr(row, name) for name in COLUMNS}
            for row in self.rows
        ]


def comparison(member: Membership, release: Release, measure: str) -> Comparison | None:
    """Return the runs that the member may see, by pools of a release; None if nobody compared these."""
    scores = PoolScore.objects.filter(
        release=release, measure=measure, run__in=Run.objects.seen_by(member), first__isnull=False
    )
    rows = [
        ComparedRow(score.run, score.first, score.whole, score.without, score.reused)
        for score in scores.select_related("run")
        if score.first is not None and score.whole is not None
    ]
    for row in rows:
        row.place_first = place(row.first, [other.first for other in rows]) or 0
        row.place_whole = place(row.whole, [other.whole for other in rows]) or 0
    rows.sort(key=lambda row: (-row.whole, row.run.number))
    return Comparison(rows) if rows else None


STATES = {
    Batch.State.PREPARING: "being prepared",
    Batch.State.OPEN: "open",
    Batch.State.SETTLED: "to review",
    Batch.State.REVIEWED: "reviewed",
    Batch.State.REPLACED: "reopened",
}


def batches_of(enlargement: Enlargement) -> list[tuple[str, int]]:
    """Return how many batches of an enlargement are in each state, in the order in which these follow each other."""
    candidates = Candidate.objects.filter(pk__in=_candidates(enlargement))
    batches = Batch.objects.filter(candidates__in=candidates).distinct().values_list("pk", "state")
    counts = Counter(state for _, state in batches)
    return [(words, counts[state]) for state, words in STATES.items() if counts[state]]


def _candidates(enlargement: Enlargement) -> Any:
    return Source.objects.filter(enlargement=enlargement).values("candidate")


@dataclass
class FoundMoment:
    """A moment of an enlargement, as its page lists it."""

    place: int
    moment: dict[str, Any]
    text: str  # of its query
    sources: list[tuple[Run | None, int]]  # with ranks; no run where the reader may not see it
    candidate: Candidate | None  # once it is opened

    @property
    def grade(self) -> str:
        """Its final grade in words, empty as long as it has none."""
        known = self.candidate is not None and self.candidate.grade is not None
        return f"grade {self.candidate.grade}" if known and self.candidate else ""


def found_moments(enlargement: Enlargement, member: Membership, most: int) -> list[FoundMoment]:
    """Return the first moments of an enlargement, with the runs that the member may see."""
    runs = {str(run.number): run for run in Run.objects.seen_by(member).filter(number__in=enlargement.runs)}
    moments = enlargement.moments[:most]
    texts = dict(enlargement.campaign.queries.pool().values_list("query_id", "text"))
    opened = {
        (each.query.query_id, str(each.moment)): each
        for each in Candidate.objects.filter(pk__in=_candidates(enlargement), batch__isnull=False).select_related(
            "query", "moment__video", "batch"
        )
    }
    return [
        FoundMoment(
            place,
            each,
            texts.get(each["query"], ""),
            [(runs.get(number), rank) for number, rank in each["ranks"].items()],
            opened.get((each["query"], moment_id(each["video"], each["start"], each["end"]))),
        )
        for place, each in enumerate(moments, 1)
    ]
