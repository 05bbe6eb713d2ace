"""Ranking: find for each query of a campaign the moments whose captions are most similar to it.

The study of grade against similarity ranks them all: a few queries are judged far deeper than the pool, and no study
reaches the qrels. As in TVR-Ranking (section B.3), each of its queries has its most similar moments, and as many drawn
at random from the rest.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from itertools import islice
from random import Random
from typing import NamedTuple

from django.db import transaction

from base.errors import BadValue, ReeljudgeError, WrongState
from base.text import wording
from campaigns.models import Campaign
from corpus.errors import CorpusError
from corpus.models import Moment
from jobs.errors import JobPostponed
from jobs.models import Job
from jobs.parts import forget, share
from jobs.registry import SELF, Report, kind
from judging.models import Batch, Candidate, Kind, Query
from judging.pool import opening
from judging.pool.clips import prepare
from judging.pool.distractors import draw
from retrieval.captions import (
    CAPTIONS_OF_A_BLOCK,
    CaptionRow,
    Found,
    encode_captions,
    nearest_in,
    nearest_moments,
    nothing,
    packed,
    ranges,
    with_packed,
)
from retrieval.embedding import Vectors, embed, model_name
from retrieval.encoders import model_key, same_model
from retrieval.models import is_under_way
from retrieval.rewriting.counting import mark_of

QUERIES_AT_A_TIME = 50
MOST_QUERIES, MOST_CANDIDATES = 100, 1000  # of a study


@kind("rank-candidates", "Rank candidates", of=Campaign, owner=SELF, page=("campaign", "name"), refusals=(CorpusError,))
def rank_candidates(campaign: Campaign, report: Report) -> None:
    """Store candidates for every query that has none, and open its first batch. Running it again adds nothing."""
    queries = _unranked(campaign)
    if not queries:
        return
    check_encoder(campaign)
    if is_under_way(campaign.corpus):
        raise JobPostponed(f"corpus {campaign.corpus} is being reworded, and candidates are ranked by its captions")
    found = compare(campaign, queries, campaign.depth, report, in_parts=True)
    Campaign.objects.filter(pk=campaign.pk).update(encoder=model_name())
    for start in range(0, len(queries), QUERIES_AT_A_TIME):
        report(start, len(queries), f"storing candidates: {start:,} of {len(queries):,} queries")
        some = queries[start : start + QUERIES_AT_A_TIME]
        with transaction.atomic():
            for number, query in enumerate(some, start):
                ranked = in_order(found, number, query)
                _store(query, list(islice(ranked, campaign.depth)))
            draw(campaign, some)
            for query in some:
                opening.open_batch(query, 1)
    forget(compare_some, campaign)
    report(len(queries), len(queries))


def _unranked(campaign: Campaign) -> list[Query]:
    # In the order in which they are judged, so that the clips of the first are cut first.
    return list(campaign.queries.filter(candidates__isnull=True).order_by("place", "pk"))


def check_encoder(campaign: Campaign) -> None:
    """Raise an error if another model than the one in the settings ranked the campaign's candidates."""
    if not same_model(campaign.encoder, model_name()) and Candidate.objects.in_campaign(campaign).exists():
        raise ReeljudgeError(
            f"ENCODER: names {model_name()}; expected {campaign.encoder}, which ranked this campaign so far"
        )


class Compared(NamedTuple):
    """What was found for queries, and the moments with the wording of each: those that a query was made from."""

    found: Found
    own: dict[str, list[CaptionRow]]


def compare(campaign: Campaign, queries: list[Query], depth: int, report: Report, in_parts: bool = False) -> Compared:
    """Return the moments with the captions nearest to each query.

    in_parts: whether all free workers look for them, if there are many captions.
    """
    report(0, len(queries), "loading the model")
    own: dict[str, list[CaptionRow]] = {wording(query.text): [] for query in queries}

    def look(rows: list[CaptionRow]) -> None:
        for row in rows:
            own.get(wording(row.caption), []).append(row)

    encode_captions(campaign.corpus, report, look)
    vectors = _vectors(queries, report)
    blocks = ranges(campaign.corpus, CAPTIONS_OF_A_BLOCK)
    if in_parts and len(blocks) > 1:
        found = _compared_in_parts(campaign, queries, blocks, report)
    else:
        found = nearest_moments(campaign.corpus, vectors, depth, report)
    if not found.rows:
        raise ReeljudgeError(f"corpus {campaign.corpus} holds no moments; import it first")
    return Compared(found, own)


def _vectors(queries: list[Query], report: Report) -> Vectors:
    texts = [query.text for query in queries]
    found = embed(texts, lambda done, total: report(done, total, f"encoding queries: {done:,} of {total:,}"))
    return found.reshape(len(queries), -1)


def _compared_in_parts(
    campaign: Campaign, queries: list[Query], blocks: list[tuple[int, int]], report: Report
) -> Found:
    state = _state(campaign, queries)
    parts = [{"state": state, "first": first, "last": last} for first, last in blocks]
    found = nothing(len(queries))
    for content in share(compare_some, campaign, parts, report, "comparing"):
        if not content:
            forget(compare_some, campaign)
            raise JobPostponed("queries or captions have changed while they were compared; it begins again")
        found = with_packed(found, content, campaign.depth)
    return found


@kind("compare-some-captions", "Compare some captions", of=Campaign, is_part=True, refusals=(CorpusError,))
def compare_some(campaign: Campaign, report: Report, state: str, first: int, last: int) -> bytes:
    """Return what `nearest_in` finds among the captions of the moments with these primary keys; nothing if the state of
    queries and captions is another by now, so that nobody waits for it.
    """
    queries = _unranked(campaign)
    if _state(campaign, queries) != state:
        return b""
    return packed(nearest_in(campaign.corpus, first, last, _vectors(queries, report), campaign.depth, report))


def _state(campaign: Campaign, queries: list[Query]) -> str:
    """Return what changes whenever another comparison of queries and captions may find something else."""
    texts = [[query.pk, query.text] for query in queries]
    known = json.dumps([model_key(), campaign.depth, mark_of(campaign.corpus), texts])
    return hashlib.sha256(known.encode()).hexdigest()[:16]


def _store(query: Query, ranked: list[tuple[CaptionRow, float]]) -> None:
    Candidate.objects.bulk_create(
        Candidate(query=query, moment_id=row.pk, rank=rank, similarity=similarity)
        for rank, (row, similarity) in enumerate(ranked, 1)
    )


def in_order(compared: Compared, number: int, query: Query) -> Iterable[tuple[CaptionRow, float]]:
    """What was found for a query, no moment id twice: two descriptions of one stretch of film show the same clip.

    A query's own moments come first, with similarity 1: rounding would put captions beside them that differ in case.
    """
    rows, nearest = compared.found
    seen: dict[str, tuple[CaptionRow, float]] = {}
    for row in sorted(compared.own[wording(query.text)]):
        seen.setdefault(row.id, (row, 1.0))
    for index, similarity in zip(nearest.indices[number], nearest.similarities[number], strict=True):
        seen.setdefault(rows[index].id, (rows[index], float(similarity)))
    return seen.values()


class RankingPlan(NamedTuple):
    """How many queries a study has, and how many candidates each of them gets."""

    queries: int = 10
    top: int = 60  # the most similar moments
    random: int = 60  # moments drawn from the rest
    seed: int = 1


@transaction.atomic
def ask_for_study(campaign: Campaign, plan: RankingPlan) -> Job:
    """Ask for the job that makes the study. A campaign has one study at most.

    Raise BadValue if a number of the plan is out of range, and WrongState if the campaign has a study already, or no
    query has candidates yet.
    """
    for field, most in (("queries", MOST_QUERIES), ("top", MOST_CANDIDATES), ("random", MOST_CANDIDATES)):
        if not (field != "random") <= getattr(plan, field) <= most:
            raise BadValue(field, str(getattr(plan, field)), f"at most {most:,}, and something to judge")
    if campaign.queries.filter(kind=Kind.STUDY).exists():
        raise WrongState("This campaign has a study already.")
    if not campaign.queries.pool().filter(batches__isnull=False).exists():
        raise WrongState("No query has candidates yet; the study takes its queries from the pool.")
    return start_study.ask(campaign, plan=list(plan))


@kind("start-study", "Start the study", of=Campaign, owner=SELF, page=("releases", "name"), refusals=(CorpusError,))
def start_study(campaign: Campaign, report: Report, plan: Sequence[int]) -> None:
    """Draw the queries, rank every moment for them, and open their batches. Running it again adds nothing."""
    wants, pool = RankingPlan(*plan), list(campaign.queries.pool().order_by("pk"))
    drawn = Random(wants.seed).sample(pool, min(wants.queries, len(pool)))
    stored = set(campaign.queries.filter(kind=Kind.STUDY).values_list("query_id", flat=True))
    wanted = [query for query in drawn if _name(query) not in stored]
    if not wanted:
        return
    check_encoder(campaign)
    found = compare(campaign, wanted, Moment.objects.filter(video__corpus=campaign.corpus).count(), report)
    for number, query in enumerate(wanted):
        report(number, len(wanted), "storing candidates")
        _store_copy(query, list(in_order(found, number, query)), wants)
    report(len(wanted), len(wanted))


@transaction.atomic
def _store_copy(query: Query, ranked: list[tuple[CaptionRow, float]], plan: RankingPlan) -> None:
    """Store a copy of the query with its candidates. They keep the ranks that they have among all moments."""
    copy = Query.objects.create(
        campaign=query.campaign, kind=Kind.STUDY, query_id=_name(query), text=query.text, split=query.split
    )
    draw = Random(f"{plan.seed}:{query.query_id}")
    rest = range(plan.top, len(ranked))
    places = [*range(min(plan.top, len(ranked))), *draw.sample(rest, min(plan.random, len(rest)))]
    # Each batch mixes similar and random moments, so that annotators cannot expect a batch without any match.
    draw.shuffle(places)
    size = query.campaign.batch_size
    for number, first in enumerate(range(0, len(places), size), 1):
        batch = Batch.of(copy, number)
        batch.save()
        some = sorted(places[first : first + size])
        Candidate.objects.bulk_create(
            Candidate(query=copy, batch=batch, moment_id=row.pk, rank=place + 1, similarity=similarity)
            for place in some
            for row, similarity in [ranked[place]]
        )
        prepare(batch)


def _name(query: Query) -> str:
    return f"study:{query.query_id}"[:100]
