"""Opening batches of a query: those of its ranks, and further ones of moments that runs found."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from django.db.models import Max, Q

from base.errors import BadValue, WrongState
from base.transactions import all_or_nothing
from base.transactions import store as store_rows
from campaigns.models import Campaign, Event, LogEntry, Membership, log
from corpus.models import Moment, Video
from judging.models.pool import Batch, Candidate, Query
from judging.order import place
from judging.pool.clips import clips_for, cut_clips, open_when_cut, prepare
from judging.summaries import summarize
from metrics.analysis.pooling import pooled
from metrics.formats.tables import Qrels, Run

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


class Pooled(NamedTuple):
    """How many queries and candidates were stored, and how many of both were left out."""

    queries: int
    candidates: int
    too_deep: int
    without_text: int


@all_or_nothing
def store_pool(campaign: Campaign, qrels: Qrels, runs: Sequence[Run], depth: int) -> Pooled:
    """Store the queries of a benchmark with what it and the runs find for them as candidates, and open first batches.

    A query without a text, or with that of another one, is left out, and so are candidates beyond the campaign's depth.
    Times end where the video does. Candidates have no similarity. Raise WrongState if a query is there already, and
    BadValue for a video that the corpus lacks.
    """
    if campaign.queries.exists():
        raise WrongState(f"campaign {campaign}: has queries already; a benchmark needs a new campaign")
    videos = {video.name: video for video in campaign.corpus.videos.all()}
    known = {(each.video_id, each.start, each.end): each for each in _moments_of(campaign)}
    texts = {text: query for query, text in reversed(list(qrels.texts.items()))}
    pools = pooled(qrels, runs, depth)
    named = {query: text.strip() for text, query in texts.items() if text.strip()}
    queries = [Query(campaign=campaign, query_id=id, text=named[id]) for id in pools if id in named]
    queries.sort(key=lambda query: place(campaign.order_seed, query.query_id))
    store_rows(queries)
    made = 0
    for query in queries:
        moments = [_moment(span, videos, known) for span in pools[query.query_id][: campaign.depth]]
        kept = dict.fromkeys(moment for moment in moments if moment)
        Candidate.objects.bulk_create(
            Candidate(query=query, moment=moment, rank=rank) for rank, moment in enumerate(kept, 1)
        )
        made += len(kept)
        if kept:
            open_batch(query, 1)
    deeper = sum(max(0, len(pools[query.query_id]) - campaign.depth) for query in queries)
    return Pooled(len(queries), made, deeper, len(pools) - len(queries))


def _moments_of(campaign: Campaign) -> Iterable[Moment]:
    return Moment.everything.filter(video__corpus=campaign.corpus).order_by("-pk")


def _moment(
    span: tuple[str, float, float], videos: dict[str, Video], known: dict[tuple[int, float, float], Moment]
) -> Moment | None:
    """Return the moment of that span, stored if it is new; None if nothing of it lies within the video."""
    name, start, end = span
    if name not in videos:
        raise BadValue("video", name, "one of the corpus's videos")
    video = videos[name]
    start, end = max(0.0, start), min(end, video.duration)
    if start >= end:
        return None
    key = (video.pk, start, end)
    if key not in known:
        known[key] = Moment.everything.create(video=video, start=start, end=end, predicted=True)
    return known[key]


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
