"""Exports: a campaign's qrels, its raw ratings, and what is needed to read them; and which part of it they hold.

Qrels hold pairs on which annotators reached a consensus, in this campaign or in one whose grades it reuses, and nothing
else; ratings are of this campaign alone. Grades that a lead gave, and pairs without a final grade, have files of their
own. All files are ordered by query and rank, and have no dates, names or keys of the database, so the same judgements
give the same bytes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

from django.db.models import Case, CharField, Count, F, Func, IntegerField, Sum, Value, When
from django.db.models.expressions import Combinable
from django.db.models.functions import Cast, Coalesce, Concat, Floor, Length, NullIf

from base.text import csv_lines, harmless
from campaigns.models import Campaign
from judging.consensus import ANNOTATORS, RULE
from judging.models import Adjudication, Candidate, Judgement, ReusedGrade
from judging.models.pool import CandidateQuerySet, QueryQuerySet
from judging.models.states import WITH_CONSENSUS, WITH_GRADE
from judging.review.frontier import Frontier, frontier, up_to
from metrics.formats.moment_ids import as_word, moment_id
from releases.checks import checksum_of

Lines = Iterator[str]
# In imported ratings a worker can have several memberships; exports print the number of the first one.
WORKER = Coalesce("annotator__same_as__worker", "annotator__worker")
# The round follows from the seat, because imported ratings of both rounds are in one assignment.
# Active time of a judgement. Whole milliseconds: a sum of fractions would depend on the order in which they are added.
MILLISECONDS = Sum(Floor(F("revisions__seconds") * 1000))
_ROUND = Case(
    When(seat__lte=ANNOTATORS, then=1),
    When(seat__isnull=False, then=2),
    default="assignment__round",
    output_field=IntegerField(),
)
Outcome = Candidate.Outcome
MOMENT = ("moment__video__name", "moment__start", "moment__end")
REUSE = ("overlap", "grade", "grades", "rule")  # columns of a reused grade
RATED = ["pair_id", "worker", "relevance", "outcome", "query_id", "video", "start", "end", "batch", "doubt"]


def pair_id(candidate: str = "") -> Coalesce:
    """Return the id of a pair as text: the id that it was imported with, or its query's id and its rank."""
    rank = Cast(f"{candidate}rank", CharField())
    own = Concat(f"{candidate}query__query_id", Value("-"), rank, output_field=CharField())
    return Coalesce(NullIf(f"{candidate}imported_as", Value("")), own, output_field=CharField())


RECORD: list[str | Combinable] = [
    pair_id(),
    "query__query_id",
    "query__text",
    *MOMENT,
    "moment__video__duration",
    "moment__caption",
]
RECORD += ["similarity", "grade", "rule"]


def round_of(campaign: Campaign) -> Combinable:
    """Return the round of a judgement, or NULL if imported ratings do not say it."""
    return _ROUND if campaign.rounds_known else Value(None, output_field=IntegerField())


def in_order(campaign: Campaign) -> tuple[Combinable, ...]:
    """Return the order of judgements: by candidate, round, worker, and in imported ratings by grade at last."""
    rounds = (_ROUND,) if campaign.rounds_known else ()
    return *by_rank("candidate__"), *rounds, WORKER, F("grade")


@dataclass(frozen=True)
class Export:
    """A kind of file: its name, a description of its content, and the function that makes its lines."""

    file: str
    what: str
    content_type: str
    make: Callable[[ExportScope], Lines]

    def lines(self, campaign: Campaign) -> Lines:
        return self.make(ExportScope(campaign))


def trec_qrels(scope: ExportScope, outcomes: Iterable[str] = WITH_CONSENSUS, **only: str) -> Lines:
    """Yield the pairs with some outcomes as qrels in TREC format, `query_id 0 moment_id grade`."""
    for query, *moment, grade in pair_rows(scope, outcomes, "query__query_id", *MOMENT, "grade", **only):
        yield f"{as_word(query)} 0 {moment_id(*moment)} {grade}\n"


def tvr_ranking(scope: ExportScope) -> Lines:
    """Yield a JSON object for each pair, with TVR-Ranking's fields and the version of the consensus.

    `consensus` is "reused" where the grade is that of an earlier campaign.
    """
    for row in pair_rows(scope, WITH_CONSENSUS, *RECORD):
        yield json.dumps(_record(*row), ensure_ascii=False) + "\n"


def adjudicated(scope: ExportScope) -> Lines:
    """Yield a JSON object for each pair that a lead graded: TVR-Ranking's fields and the lead's `reason`."""
    adjudications = Adjudication.objects.in_force().filter(candidate__query__campaign=scope.campaign)
    reasons = dict(adjudications.order_by().values_list(pair_id("candidate__"), "reason"))
    for row in pair_rows(scope, [Outcome.ADJUDICATED], *RECORD):
        record = _record(*row) | {"reason": reasons[row[0]]}
        yield json.dumps(record, ensure_ascii=False) + "\n"


def reused(scope: ExportScope) -> Lines:
    """Yield a JSON object for each pair whose grade is reused, with where that is from.

    `grades` are those of the judgements that it rests on, which are no judgements of this campaign. The ids are those
    that the earlier campaign's releases have.
    """
    held = ReusedGrade.objects.filter(candidate__in=scope.candidates.reused()).order_by(*by_rank("candidate__"))
    moments = [f"{side}__{field}" for side in ("candidate", "source") for field in MOMENT]
    own = ("candidate__query__query_id", "source__query__campaign__name", "source__query__query_id")
    rows = held.values_list(pair_id("candidate__"), pair_id("source__"), *own, *moments, *REUSE)
    for pair, source_pair, query, campaign, source_query, *rest in rows.iterator(chunk_size=5000):
        video, start, end, source_video, source_start, source_end, *values = rest
        record = {
            "pair_id": pair,
            "query_id": query,
            "moment_id": moment_id(video, start, end),
            "timestamp": [start, end],
            "campaign": campaign,
            "source_pair_id": source_pair,
            "source_query_id": source_query,
            "source_moment_id": moment_id(source_video, source_start, source_end),
            "source_timestamp": [source_start, source_end],
        }
        yield json.dumps(record | dict(zip(REUSE, values, strict=True)), ensure_ascii=False) + "\n"


def _record(pair: str, query_id: str, query: str, video: str, start: float, end: float, *rest: Any) -> dict[str, Any]:
    duration, caption, similarity, grade, rule = rest
    return {
        "pair_id": pair,
        "query_id": query_id,
        "query": query,
        "video_name": video,
        "timestamp": [start, end],
        "duration": duration,
        "caption": caption,
        "similarity": None if similarity is None else round(similarity, 6),  # a run found it
        "relevance": grade,
        "consensus": rule,
    }


def ratings(scope: ExportScope) -> Lines:
    """Yield each counted grade with the worker's number, and the outcome, moment and batch of its pair.

    They are ordered by pair, round and worker. A batch is named by its query and its number there. `doubt` is 1 if the
    worker hesitated between two grades; it is empty in imported ratings, which do not say it.
    """
    counted = Judgement.objects.filter(candidate__in=scope.candidates, seat__isnull=False)
    counted = counted.order_by(*in_order(scope.campaign))
    number = Cast("candidate__batch__number", CharField())
    batch = Concat("candidate__query__query_id", Value("-"), number, output_field=CharField())
    moment = [f"candidate__{field}" for field in MOMENT]
    unknown = Value(None, output_field=IntegerField())
    doubt = unknown if scope.campaign.imported else Cast("is_doubtful", IntegerField())
    fields: list[str | Combinable] = ["candidate__outcome", "candidate__query__query_id", *moment, batch, doubt]
    rows = counted.values_list(pair_id("candidate__"), WORKER, "grade", *fields)
    return csv_lines(RATED, rows.iterator(chunk_size=2000))


def moments(scope: ExportScope) -> Lines:
    """Yield the video and the times, in seconds, of each moment id in the TREC files."""
    found = pair_rows(scope, WITH_GRADE, *MOMENT)
    listed = {moment_id(*moment): moment for moment in found}
    rows = ((name, *moment) for name, moment in sorted(listed.items()))
    return csv_lines(["moment_id", "video", "start", "end"], rows)


def queries(scope: ExportScope) -> Lines:
    """Yield the queries, each with the ids of the queries that were merged into it. No text is run as a formula.

    `sample` says whether the query is up to the frontier, and `place` is its number in the order, from 1.
    """
    listed = (
        (key, *map(harmless, texts), "yes" if sample else "no", place, harmless(stratum))
        for key, *texts, sample, place, stratum in query_rows(scope)
    )
    return csv_lines(["query_id", "query", "split", "aliases", "sample", "place", "stratum"], listed)


def query_rows(scope: ExportScope) -> Iterator[tuple[Any, ...]]:
    """Yield id, text, split and aliases of each query, whether it is in the sample, its place, and its stratum."""
    places = {each.query_id: (each.sample, number) for number, each in enumerate(scope.order, 1)}
    rows = scope.queries.order_by(*by_query()).values_list("query_id", "text", "split", "aliases", "stratum")
    for key, text, split, aliases, stratum in rows.iterator(chunk_size=2000):
        yield key, text, split, " ".join(map(str, aliases)), *places[key], stratum


def manifest(scope: ExportScope) -> Lines:
    """Yield the manifest: the rule, the model, the counts, and the checksums of the other files."""
    campaign, outcomes = scope.campaign, scope.candidates
    counts = dict(outcomes.order_by().values_list("outcome").annotate(Count("pk")))
    record = {
        "campaign": campaign.name,
        "corpus": campaign.corpus.name,
        "consensus": {"rule": RULE, "tolerance": campaign.tolerance},
        "encoder": campaign.encoder,
        "queries": scope.queries.count(),
        "candidates": {outcome: counts.get(outcome, 0) for outcome in Candidate.Outcome.values},
        "sha256": {
            export.file: checksum_of(map(str.encode, export.make(scope)))[0]
            for export in FILES
            if export.make is not manifest
        },
    }
    yield json.dumps(record, ensure_ascii=False, indent=2) + "\n"


ADJUDICATED_TREC = partial(trec_qrels, outcomes=[Outcome.ADJUDICATED])
FILES = [
    Export("qrels.txt", "TREC qrels: query, 0, moment, grade", "text/plain", trec_qrels),
    Export("moments.csv", "the moments of the TREC files, with video and seconds", "text/csv", moments),
    Export("qrels.jsonl", "qrels as TVR-Ranking has them, one JSON object a pair", "application/jsonl", tvr_ranking),
    Export("ratings.csv", "every counted grade, by worker number, with the pair's outcome", "text/csv", ratings),
    Export("adjudicated.txt", "TREC qrels of the grades that a lead gave", "text/plain", ADJUDICATED_TREC),
    Export(
        "adjudicated.jsonl",
        "the grades that a lead gave, with the reasons, one JSON object a pair",
        "application/jsonl",
        adjudicated,
    ),
    Export(
        "reused.jsonl",
        "the pairs whose grades are reused from an earlier campaign, each with its source, one JSON object a pair",
        "application/jsonl",
        reused,
    ),
    Export("queries.csv", "queries, the ids merged into each, and which are in the sample", "text/csv", queries),
    Export("manifest.json", "rule version, model, counts, checksums", "application/json", manifest),
]
BY_NAME = {export.file: export for export in FILES}


def pair_rows(
    scope: ExportScope, outcomes: Iterable[str], *fields: str | Combinable, **only: Any
) -> Iterator[tuple[Any, ...]]:
    """Yield fields of the pool's pairs with these outcomes. These are tuples: there may be hundreds of thousands."""
    candidates = scope.candidates.filter(outcome__in=outcomes, **only).order_by(*by_rank())
    return candidates.values_list(*fields).iterator(chunk_size=5000)


@dataclass(frozen=True)
class ExportScope:
    """The pool of a campaign, or the part of finished queries: all of them, or those up to the frontier."""

    campaign: Campaign
    with_finished: bool = True  # beyond the frontier
    with_unfinished: bool = True

    @property
    def queries(self) -> QueryQuerySet:
        pool = self.campaign.queries.pool()
        if self.with_unfinished:
            return pool
        return pool.finished() if self.with_finished else up_to(self.campaign, self.frontier)

    @property
    def candidates(self) -> CandidateQuerySet:
        pool = Candidate.objects.in_pool(self.campaign)
        return pool if self.with_unfinished else pool.filter(query__in=self.queries.order_by().values("pk"))

    @cached_property
    def frontier(self) -> Frontier:
        return frontier(self.campaign)

    @cached_property
    def order(self) -> list[Ordered]:
        """All queries of which those up to the frontier are a sample, in their order."""
        end = math.inf if self.frontier.end is None else self.frontier.end
        rows = self.campaign.queries.ranked_population().values_list("place", "query_id", "pk", "stratum", "withdrawn")
        return [
            Ordered(query_id, pk, stratum, withdrawn is not None, withdrawn is None and (place or 0) < end)
            for place, query_id, pk, stratum, withdrawn in sorted(rows)
        ]


class Ordered(NamedTuple):
    """A query in the campaign's order."""

    query_id: str
    pk: int
    stratum: str
    withdrawn: bool  # for what judging it showed
    sample: bool  # whether it is up to the frontier


class _Bytes(Func):
    """A text that is compared byte by byte. SQLite does so anyway; PostgreSQL asks the language of the machine."""

    template = "%(expressions)s"

    def as_postgresql(self, compiler: Any, connection: Any, **options: Any) -> Any:
        return self.as_sql(compiler, connection, template='%(expressions)s COLLATE "C"', **options)


def by_query(path: str = "") -> tuple[Combinable, ...]:
    """Return the order of queries: by their ids, numbers by their value.

    It depends on nothing but the ids, so that two databases that hold the same campaign write the same files.
    """
    return Length(F(f"{path}query_id")), _Bytes(F(f"{path}query_id"))


def by_rank(candidate: str = "") -> tuple[Combinable, ...]:
    """Return the order of candidates: by query, and by rank."""
    return *by_query(f"{candidate}query__"), F(f"{candidate}rank")
