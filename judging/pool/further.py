"""Opening further batches: moments that runs found for a query, which are judged after its ranks."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import Max

from base.errors import WrongState
from base.transactions import all_or_nothing
from corpus.models import Moment
from judging.models.pool import Batch, Candidate, Query
from judging.pool.clips import prepare

LAST_OF_RANKS = 2  # the highest number of a batch that holds ranks


@all_or_nothing
def open_further(query: Query, moments: Sequence[Moment]) -> dict[int, Candidate]:
    """Have moments judged for a closed query, and return the candidates that were put into batches, by their moments.

    The query is not closed then, until the batches are reviewed. A moment that the query's ranking holds, and no batch,
    keeps its rank. Others get ranks behind all that the ranking could have, and no similarity. A moment that is in a
    batch already is left out.

    Raises
    ------
    WrongState
        If the query is not closed, so that it has batches to judge or to review, or if it is withdrawn.
    """
    Query.objects.filter(pk=query.pk).lock_with_batches()
    query = Query.objects.select_related("campaign").get(pk=query.pk)
    if not query.closed or query.withdrawn:
        raise WrongState(f"“{query.text}” is not closed; judge and review its batches first.")
    candidates = _candidates(query, moments)
    last = query.batches.aggregate(last=Max("number"))["last"]
    size = query.campaign.batch_size
    for number, first in enumerate(range(0, len(candidates), size), max(LAST_OF_RANKS, last) + 1):
        batch = Batch.of(query, number, further=True)
        batch.save()
        some = candidates[first : first + size]
        Candidate.objects.filter(pk__in=[each.pk for each in some]).update(batch=batch)
        prepare(batch)
    if candidates:
        Query.objects.filter(pk=query.pk).update(closed=False)
    return {each.moment_id: each for each in candidates}


def _candidates(query: Query, moments: Sequence[Moment]) -> list[Candidate]:
    """Return the candidates of the moments that are in no batch, made where there are none, in the order of moments."""
    known = {each.moment_id: each for each in query.candidates.filter(moment__in=moments)}
    deepest = query.candidates.aggregate(last=Max("rank"))["last"] or 0
    rank, found = max(deepest, query.campaign.depth), list[Candidate]()
    for moment in dict.fromkeys(moments):
        candidate = known.get(moment.pk)
        if candidate is None:
            rank += 1
            candidate = Candidate.objects.create(query=query, moment=moment, rank=rank)
        if candidate.batch_id is None:
            found.append(candidate)
    return found
