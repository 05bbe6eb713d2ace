"""Numbers of a query's candidates, kept with the query and its batches for lists that sort and filter by them.

Whatever changes an outcome, or puts candidates into batches, calls `summarize` in the same transaction. The audit
computes all numbers again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import Max, QuerySet, Subquery

from campaigns.models.campaign import LAST
from judging.models.pool import Batch, Candidate, Query
from judging.models.states import WITH_CONSENSUS, CandidateOutcome

QUERIES_AT_A_TIME = 500
OF_BATCHES = ("pairs", "settled", "contested", "discarded", "flagged", "last_mean")
OF_QUERIES = (*OF_BATCHES, "ranked", "similarity", "changed")
Numbers = dict[str, Any]
Part = tuple[int, int]  # a query's key and the number of a batch; all editions of that batch


class Pair(NamedTuple):
    query: int
    number: int | None  # of its batch
    rank: int
    similarity: float | None
    outcome: str
    escalated: bool
    grade: int | None


@transaction.atomic(savepoint=False)
def summarize(queries: Iterable[int]) -> None:
    """Store the numbers of these queries and of their batches. The caller has changed them under their locks."""
    all_keys = sorted(set(queries))
    for first in range(0, len(all_keys), QUERIES_AT_A_TIME):
        keys = all_keys[first : first + QUERIES_AT_A_TIME]
        of_queries, of_batches = summaries(keys)
        batches = list(Batch.objects.filter(query__in=keys).select_related("query"))
        stored = {batch.query_id: batch.query for batch in batches}
        if without := set(keys) - stored.keys():
            stored |= Query.objects.in_bulk(without)
        changed = [query for key, query in stored.items() if _set(query, of_queries[key])]
        Query.objects.bulk_update(changed, OF_QUERIES, QUERIES_AT_A_TIME)
        altered = [batch for batch in batches if _set(batch, of_batches[batch.query_id, batch.number])]
        Batch.objects.bulk_update(altered, OF_BATCHES, QUERIES_AT_A_TIME)


def note_submission(query: int) -> None:
    """Store that somebody submitted a batch of the query, which settled nothing yet."""
    Query.objects.filter(pk=query).update(changed=Subquery(_last_submission([query]).values("last")))


def _last_submission(queries: Sequence[int]) -> QuerySet[Any, Any]:
    """Return of each query with batches when somebody submitted one of them last."""
    batches = Batch.objects.filter(query__in=queries).order_by().values("query")
    return batches.annotate(last=Max("assignments__submitted"))


def summaries(queries: Sequence[int]) -> tuple[dict[int, Numbers], dict[Part, Numbers]]:
    """Return the numbers of each query and of each batch, from their candidates."""
    by_query: dict[int, list[Pair]] = {key: [] for key in queries}
    by_part: dict[Part, list[Pair]] = defaultdict(list)
    rows = Candidate.objects.filter(query__in=queries).order_by("query", "rank")
    for row in rows.values_list("query", "batch__number", "rank", "similarity", "outcome", "escalated", "grade"):
        pair = Pair._make(row)
        by_query[pair.query].append(pair)
        if pair.number is not None:
            by_part[pair.query, pair.number].append(pair)
    last: dict[int, datetime | None] = dict(_last_submission(queries).values_list("query", "last"))
    of_batches = defaultdict(lambda: numbers([]), {part: numbers(pairs) for part, pairs in by_part.items()})
    of_queries = {
        key: numbers([pair for pair in pairs if pair.number is not None])
        | {
            "last_mean": _mean_of_last([of_batches[key, number] for number in _batches(pairs)]),
            "ranked": max((pair.rank for pair in pairs if pair.similarity is not None), default=0),
            "similarity": next((pair.similarity for pair in pairs), None),
            "changed": last.get(key),
        }
        for key, pairs in by_query.items()
    }
    return of_queries, of_batches


def numbers(pairs: list[Pair]) -> Numbers:
    """Return the numbers of the candidates of a batch, in the order of their ranks."""
    grades = [pair.grade for pair in pairs[-LAST:] if pair.outcome in WITH_CONSENSUS and pair.grade is not None]
    return {
        "pairs": len(pairs),
        "settled": sum(pair.outcome in WITH_CONSENSUS for pair in pairs),
        "contested": sum(pair.escalated for pair in pairs),
        "discarded": sum(pair.outcome == CandidateOutcome.DISCARDED for pair in pairs),
        "flagged": sum(pair.outcome == CandidateOutcome.FLAGGED for pair in pairs),
        "last_mean": sum(grades) / len(grades) if grades else None,
    }


def _batches(pairs: list[Pair]) -> list[int]:
    """Return the numbers of the batches that hold the candidates, in ascending order."""
    return sorted({pair.number for pair in pairs if pair.number is not None})


def _mean_of_last(batches: list[Numbers]) -> float | None:
    """Return the mean of the last batch that has one."""
    return next((batch["last_mean"] for batch in reversed(batches) if batch["last_mean"] is not None), None)


def _set(row: Query | Batch, values: Numbers) -> bool:
    """Set the values, and return whether one of them is new."""
    old = {name: getattr(row, name) for name in values}
    for name, value in values.items():
        setattr(row, name, value)
    return old != values
