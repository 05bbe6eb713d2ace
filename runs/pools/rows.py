"""What the pages about pools list: runs by their scores with each pool, and how far an enlargement is."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from campaigns.models import Membership
from judging.models import Batch, Candidate
from metrics import moment_id
from metrics.analysis.tau import signs, tau_b
from releases.models import Release
from runs.measures import NDCG, USUAL
from runs.models import Enlargement, PoolScore, Run, Source

HEADLINE = NDCG[1]  # NDCG@10 at IoU 0.5
COLUMNS = ("place_first", "place_whole", "first", "whole", "gain", "without", "bias", "reused")  # of a file


@dataclass
class Row:
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

    rows: list[Row]

    @property
    def tau(self) -> float | None:
        """Kendall's τ-b of the order of the runs before and after; None if a pool ties all."""
        first, whole = (np.array([getattr(row, name) for row in self.rows]) for name in ("first", "whole"))
        found = float(tau_b(signs(first), signs(whole))) if len(self.rows) > 1 else float("nan")
        return None if np.isnan(found) else found

    @property
    def leaders(self) -> tuple[Row, Row]:
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
        Row(each.run, each.first, each.whole, each.without, each.reused)
        for each in scores.select_related("run")
        if each.first is not None and each.whole is not None
    ]
    for row in rows:
        row.place_first = 1 + sum(other.first > row.first for other in rows)
        row.place_whole = 1 + sum(other.whole > row.whole for other in rows)
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
        for each in Candidate.objects.filter(pk__in=_candidates(enlargement)).select_related(
            "query", "moment__video", "batch"
        )
    }
    return [
        FoundMoment(
            place,
            each,
            texts.get(each["query"], ""),
            [(runs.get(number), rank) for number, rank in each["ranks"].items()],
            opened.get((each["query"], _key(each))),
        )
        for place, each in enumerate(moments, 1)
    ]


def _key(moment: dict[str, Any]) -> str:
    return moment_id(moment["video"], moment["start"], moment["end"])
