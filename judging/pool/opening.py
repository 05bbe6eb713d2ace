"""Opening batches of a query: those of its ranks, and further ones of moments that runs found.

What an earlier campaign has judged is not judged again if the campaign reuses its grades: a pair gets the consensus on
the same text and the same moment, or on one that overlaps it nearly in full. Such a grade is nobody's judgement here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import NamedTuple

from django.db import transaction
from django.db.models import Exists, Max, OuterRef, Q

from base.errors import BadValue, WrongState
from base.text import wording
from base.transactions import all_or_nothing
from base.transactions import store as store_rows
from campaigns.events import Happened, tell
from campaigns.models import Campaign, Event, LogEntry, Membership, log
from corpus.models import ClipState, Moment, Video
from jobs.queue import Lane
from jobs.registry import SELF, Report, kind
from judging.consensus import LEAST_OVERLAP, RULE, consensus, overlap
from judging.models import Kind, ReusedGrade
from judging.models.pool import Batch, Candidate, Query, QueryQuerySet
from judging.order import place
from judging.pool.clips import clips_for, cut_clips, prepare
from judging.pool.distractors import draw
from judging.summaries import summarize
from metrics.analysis.pooling import pooled
from metrics.formats.tables import Qrels, Run

QUERIES_AT_A_TIME = 50
LAST_OF_RANKS = 2  # the highest number of a batch that holds ranks
REUSED = Candidate.Outcome.REUSED.value  # exports print it in place of the rule of the consensus
Span = tuple[int, float, float]  # a video's key, and seconds


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
        _reuse_grades(batch)
        summarize([query.pk])
        prepare(batch)
    return batch


def with_reusable(campaign: Campaign) -> QueryQuerySet:
    """Return the queries of a campaign whose text the campaign that it reuses has closed."""
    closed = Query.objects.pool().filter(campaign=campaign.reuses_id, closed=True, text=OuterRef("text"))
    return campaign.queries.pool().filter(Exists(closed))


def _reuse_grades(batch: Batch) -> None:
    """Give the pairs of a new batch the grades that its campaign reuses. If none is left to judge, it is settled.

    Only a consensus of annotators is reused, and only if the campaign's own tolerance leads to the same one.
    """
    query = batch.query
    if query.campaign.reuses_id is None:
        return
    known = _known(query)
    pairs = list(batch.candidates.filter(outcome=Candidate.Outcome.OPEN).select_related("moment")) if known else []
    reused = [found for pair in pairs if (found := _from_nearest(pair, known))]
    for each in reused:
        pair = each.candidate
        pair.outcome, pair.grade, pair.rule = Candidate.Outcome.REUSED, each.grade, REUSED
    ReusedGrade.objects.bulk_create(reused)
    Candidate.objects.bulk_update([each.candidate for each in reused], ["outcome", "grade", "rule"])
    if not batch.candidates.filter(outcome=Candidate.Outcome.OPEN).exists():
        batch.state = Batch.State.SETTLED
        batch.save(update_fields=["state"])
        tell(batch.campaign_id, Happened.BATCH_SETTLED, batch=batch.pk, query=query.pk)


def _known(query: Query) -> list[ReusedGrade]:
    """Return what could be reused for a query: a row for each pair of its text, still without a candidate."""
    campaign = query.campaign
    closed = {"query__campaign": campaign.reuses_id, "query__text": query.text, "query__closed": True}
    pairs = Candidate.objects.filter(**closed, query__kind=Kind.POOL, query__withdrawn=None, batch__isnull=False)
    settled = pairs.filter(outcome=Candidate.Outcome.SETTLED).select_related("moment").order_by("rank")
    found = []
    for pair in settled.prefetch_related("judgements"):
        assert pair.grade is not None
        grades = pair.counted_grades(2)
        if consensus(grades, campaign.tolerance).grade == pair.grade:
            found.append(ReusedGrade(source=pair, grade=pair.grade, grades=grades, rule=RULE))
    return found


def _from_nearest(pair: Candidate, known: Iterable[ReusedGrade]) -> ReusedGrade | None:
    """Return a row for the candidate, from the moment that overlaps its own most, if one does enough; else None.

    Of moments that overlap it alike, that of the best rank is taken.
    """
    moment, times = pair.moment, (pair.moment.start, pair.moment.end)
    of_video = [each for each in known if each.source.moment.video_id == moment.video_id]
    near = [(overlap(times, (each.source.moment.start, each.source.moment.end)), each) for each in of_video]
    most, nearest = max(near, key=lambda found: found[0], default=(0.0, None))
    if nearest is None or most < LEAST_OVERLAP:
        return None
    rest = {name: getattr(nearest, name) for name in ("source", "grade", "grades", "rule")}
    return ReusedGrade(candidate=pair, overlap=most, **rest)


def open_without_clips(lead: Membership, batch: Batch | None = None) -> int:
    """Open a batch, or all whose clips cannot be cut, and return how many this has opened.

    For all, the campaign opens without films from now on, too. It is noted in the lead's history. Clips that are cut
    later are shown from then on. Doing it twice is harmless.
    """
    if batch:
        return int(_open_without_clips(lead, batch))
    preparing = Batch.objects.in_campaign(lead.campaign).filter(state=Batch.State.PREPARING)
    waiting = preparing.exclude(pk__in=cut_clips.jobs(preparing).unfinished().values("row")).order_by("pk")
    opened = sum(_open_without_clips(lead, one) for one in waiting.select_related("query__campaign"))
    Campaign.objects.filter(pk=lead.campaign_id).update(opens_without_films=True)
    return opened


@all_or_nothing
def _open_without_clips(lead: Membership, batch: Batch) -> bool:
    clips, waits_for_films = clips_for(batch), not batch.query.campaign.opens_without_films
    left = sum(clip.is_to_come or (waits_for_films and clip.state == ClipState.MISSING) for clip in clips)
    if not batch.open():
        return False
    cut_clips.jobs(batch).failed().delete()  # which nobody has to try again
    reason = f"batch {batch.number} of query {batch.query.query_id}, without {left} of {len(clips)} clips"
    lead.events.create(kind=Event.Kind.OPENED, by=lead, reason=reason[:500])
    log(lead, LogEntry.Kind.OPENED, batch, "waits for clips", f"open without {left} clips")
    return True


class Pooled(NamedTuple):
    """How many queries and candidates were stored, and how many of both were left out."""

    queries: int
    candidates: int
    too_deep: int
    without_text: int


def texts_of(qrels: Qrels) -> dict[str, str]:
    """Return the text of each query of a benchmark that becomes one: it has a text, and is the first with that text."""
    texts = {query: wording(text) for query, text in qrels.texts.items()}
    first = {text: query for query, text in reversed(list(texts.items())) if text}
    return {query: text for query, text in texts.items() if first.get(text) == query}


@all_or_nothing
def store_pool(campaign: Campaign, qrels: Qrels, runs: Sequence[Run], depth: int) -> Pooled:
    """Store the queries of a benchmark with what it and the runs find for them, and ask for first batches.

    A query without a text, or with that of another one, is left out, and so are candidates beyond the campaign's depth.
    Times end where the video does. Candidates have no similarity. Raise WrongState if a query is there already, and
    BadValue for a video that the corpus lacks.
    """
    if campaign.queries.exists():
        raise WrongState(f"campaign {campaign}: has queries already; a benchmark needs a new campaign")
    videos = {video.name: video for video in campaign.corpus.videos.all()}
    moments = Moment.everything.filter(video__corpus=campaign.corpus).order_by("-pk")
    known = {(moment.video_id, moment.start, moment.end): moment for moment in moments}
    pools, texts = pooled(qrels, runs, depth), texts_of(qrels)
    named = {text: query for query, text in texts.items()}
    aliases = defaultdict[str, list[str]](list)
    for alias, text in qrels.texts.items():
        if alias not in texts and (first := named.get(wording(text))):
            aliases[first].append(alias)
    queries = [
        Query(campaign=campaign, query_id=id, text=texts[id], aliases=aliases[id]) for id in pools if id in texts
    ]
    queries.sort(key=lambda query: place(campaign.order_seed, query.query_id))
    store_rows(queries)
    spans = [[_within(span, videos) for span in pools[query.query_id][: campaign.depth]] for query in queries]
    new = {span: _predicted(span) for span in chain(*spans) if span and span not in known}
    store_rows(new.values())
    known |= new
    candidates = [
        Candidate(query=query, moment=known[span], rank=rank)
        for query, own in zip(queries, spans, strict=True)
        for rank, span in enumerate(dict.fromkeys(filter(None, own)), 1)
    ]
    store_rows(candidates)
    open_first_batches.ask(campaign)
    deeper = sum(max(0, len(pools[query.query_id]) - campaign.depth) for query in queries)
    return Pooled(len(queries), len(candidates), deeper, len(pools) - len(queries))


def _within(span: tuple[str, float, float], videos: dict[str, Video]) -> Span | None:
    """Return what of a span lies within its video, or None if nothing does."""
    name, start, end = span
    if name not in videos:
        raise BadValue("video", name, "one of the corpus's videos")
    video = videos[name]
    start, end = max(0.0, start), min(end, video.duration)
    return (video.pk, start, end) if start < end else None


def _predicted(span: Span) -> Moment:
    video, start, end = span
    return Moment(video_id=video, start=start, end=end, predicted=True)


@kind(
    "open-first-batches",
    "Open the first batches",
    lane=Lane.JUDGING,
    of=Campaign,
    owner=SELF,
    page=("campaign", "name"),
)
def open_first_batches(campaign: Campaign, report: Report) -> None:
    """Open the first batch of each query that has candidates and no batch. Running it again adds nothing."""
    with_candidates = Exists(Candidate.objects.filter(query=OuterRef("pk")))
    queries = list(campaign.queries.pool().filter(with_candidates, batches=None).order_by("place", "pk"))
    for start in range(0, len(queries), QUERIES_AT_A_TIME):
        report(start, len(queries), f"opening batches: {start:,} of {len(queries):,} queries")
        with transaction.atomic():
            some = queries[start : start + QUERIES_AT_A_TIME]
            draw(campaign, some)
            for query in some:
                open_batch(query, 1)
    report(len(queries), len(queries))


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
    last, begun = query.batches.aggregate(last=Max("number"))["last"], query.batches.filter(begun=True).exists()
    size = query.campaign.batch_size
    for number, first in enumerate(range(0, len(candidates), size), max(LAST_OF_RANKS, last) + 1):
        batch = Batch.of(query, number, further=True, begun=begun)
        batch.save()
        some = candidates[first : first + size]
        Candidate.objects.filter(pk__in=[each.pk for each in some]).update(batch=batch)
        _reuse_grades(batch)
        prepare(batch)
    if candidates:
        Query.objects.filter(pk=query.pk).update(closed=False)
        summarize([query.pk])
    return {candidate.moment_id: candidate for candidate in candidates}


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
