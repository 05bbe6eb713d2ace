"""The sample of a release: the queries up to the frontier, and all queries that they stand for, with their candidates.

Estimates need the candidates of the queries that nobody has judged, too: ids and ranks, which tell no grade.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from itertools import islice
from typing import Any

from judging import order
from judging.models import Candidate
from metrics.analysis.estimates import RULE
from metrics.formats.moment_ids import moment_id
from metrics.formats.pool import flaw_of
from releases.exports import MOMENT, Lines, Ordered, Scope

QUERIES_AT_A_TIME = 500


def pool_lines(scope: Scope) -> Lines:
    """Yield each query that the sample stands for, in the campaign's order, as JSON lines.

    `candidates` are the moments that the ranking by similarity found, the best first, so that the first has rank 1.
    They are the same whether or not the query is judged, and however many batches it has. `withdrawn` is there, and
    true, if the query was withdrawn for what judging it showed.
    """
    for each, candidates in ranked_queries(scope):
        record: dict[str, Any] = {
            "query_id": each.query_id,
            "sample": each.sample,
            "stratum": each.stratum,
            "candidates": candidates,
        }
        yield json.dumps(record | ({"withdrawn": True} if each.withdrawn else {}), ensure_ascii=False) + "\n"


def ranked_queries(scope: Scope) -> Iterator[tuple[Ordered, list[str]]]:
    """Yield each query that the sample stands for, in the campaign's order, with the ids of its ranked moments."""
    rest = iter(scope.order)
    while some := list(islice(rest, QUERIES_AT_A_TIME)):
        found = _ranked(some)
        yield from ((each, found[each.pk]) for each in some)


def _ranked(queries: list[Ordered]) -> dict[int, list[str]]:
    rows = Candidate.objects.ranked().filter(query__in=[each.pk for each in queries]).order_by("query", "rank")
    found: dict[int, list[str]] = defaultdict(list)
    for query, *moment in rows.values_list("query", *MOMENT):
        found[query].append(moment_id(*moment))
    return found


def estimates(scope: Scope) -> dict[str, Any]:
    """Return what the manifest says of the sample: how many queries it has of how many, and whether it is random."""
    found = scope.frontier
    return {
        "rule": RULE,
        "queries": found.queries,
        "sample": found.sample,
        "beyond": found.beyond,
        "random": found.is_random,
        "why_not": [flaw] if (flaw := flaw_of(found.left_out)) else [],
        "order_sha256": order.checksum(each.query_id for each in scope.order),
    }
