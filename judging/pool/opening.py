"""Opening batches of a query: those of its ranks, and further ones of moments that runs found."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import Max, Q

from base.errors import WrongState
from base.transactions import all_or_nothing
from campaigns.models import Event, LogEntry, Membership, log
from corpus.models import Moment
from judging.models.pool import Batch, Candidate, Query
from judging.pool.clips import clips_for, cut_clips, open_when_cut, prepare
from judging.summaries import summarize

LAST_OF_RANKS = 2  # the highest number of a batch that holds ranks


@all_or_nothing
def open_batch(query: Query, number: int) -> Batch:
    """Return the query's batch of that number. If it does not exist, make it and ask for its clips.

    Ranks that are in a further batch stay there. Raise WrongState if the query has no candidates of the batch's ranks.
    """
    size = query.campaign.batch_size
    ranks = (size * (number - 1) + 1, size * number)
    of_ranks = query.candidates.filter(Q(batch=None) | Q(batch__further=False), rank__range=ranks)
    if not of_ranks.exists():
        raise WrongState(f"“{query.text}” has no candidates of ranks {ranks[0]}-{ranks[1]}.")
    known = Batch.taken_from(query) | {"begun": query.batches.filter(begun=True).exists()}
    batch, made = query.batches.get_or_create(number=number, edition=1, defaults=known)
    if made:
        of_ranks.update(batch=batch)
        summarize([query.pk])
        prepare(batch)
    return batch


@all_or_nothing
def open_without_clips(lead: Membership, batch: Batch) -> bool:
    """Open a batch although clips of it are not there, on the lead's word, which is noted in the lead's history.

    Clips that come later are shown to whoever judges then. Doing it twice is harmless. Return whether this call has
    opened the batch.
    """
    to_come = len(open_when_cut(batch))
    if not batch.open():
        return False
    cut_clips.jobs(batch).failed().delete()  # which nobody has to try again
    reason = f"batch {batch.number} of query {batch.query.query_id}, without {to_come} of {len(clips_for(batch))} clips"
    lead.events.create(kind=Event.Kind.OPENED, by=lead, reason=reason[:500])
    log(lead, LogEntry.Kind.OPENED, batch, "waits for clips", f"open without {to_come} clips")
    return True


def open_all_without_clips(lead: Membership) -> int:
    """Open all batches that wait for clips that cannot be cut, and return how many this has opened."""
    preparing = Batch.objects.in_campaign(lead.campaign).filter(state=Batch.State.PREPARING)
    waiting = preparing.filter(pk__in=cut_clips.jobs(preparing).failed().values("row")).order_by("pk")
    return sum(open_without_clips(lead, batch) for batch in waiting.select_related("query__campaign"))


@all_or_nothing
def open_further(query: Query, moments: Sequence[Moment]) -> dict[int, Candidate]:
    """Have moments judged for a closed query, and return the candidates that were put into batches, by their moments.

    The query is not closed then, until the batches are reviewed. A moment that the query's ranking holds, and no batch,
    keeps its rank. Others get ranks behind all that the ranking could have, and no similarity. A moment that is in a
    batch already is left out. Raise WrongState if the query is not closed, so that it has batches to judge or to
    review, or if it is withdrawn.
    """
    Query.objects.filter(pk=query.pk).lock_with_batches()
    query = Query.objects.select_related("campaign").get(pk=query.pk)
    if not query.closed or query.withdrawn:
        raise WrongState(f"“{query.text}” is not closed; judge and review its batches first.")
    candidates = _candidates(query, moments)
    last = query.batches.aggregate(last=Max("number"))["last"]
    size = query.campaign.batch_size
    for number, first in enumerate(range(0, len(candidates), size), max(LAST_OF_RANKS, last) + 1):
        batch = Batch.of(query, number, further=True, begun=True)
        batch.save()
        some = candidates[first : first + size]
        Candidate.objects.filter(pk__in=[each.pk for each in some]).update(batch=batch)
        prepare(batch)
    if candidates:
        Query.objects.filter(pk=query.pk).update(closed=False)
        summarize([query.pk])
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
