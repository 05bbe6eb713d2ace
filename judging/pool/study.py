"""The study of grade against similarity: a few queries are judged far deeper than the pool. No study reaches the qrels.

As in TVR-Ranking (section B.3), each query has its most similar moments, and as many drawn at random from the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import NamedTuple

from django.db import transaction

from base.errors import BadValue, WrongState
from campaigns.models import Campaign
from corpus.errors import CorpusError
from corpus.models import Moment
from jobs.models import Job
from jobs.registry import SELF, Report, kind
from judging.models import Batch, Candidate, Kind, Query
from judging.pool.clips import prepare
from judging.pool.queries import wording
from judging.pool.ranking import check_encoder, compare, in_order, moments_of, own_moments

MOST_QUERIES, MOST_CANDIDATES = 100, 1000


class Plan(NamedTuple):
    """How many queries a study has, and how many candidates each of them gets."""

    queries: int = 10
    top: int = 60  # the most similar moments
    random: int = 60  # moments drawn from the rest
    seed: int = 1


@transaction.atomic
def ask_for_study(campaign: Campaign, plan: Plan) -> Job:
    """Ask for the job that makes the study. A campaign has one study at most.

    Raises
    ------
    BadValue
        If a number of the plan is out of range.
    WrongState
        If the campaign has a study already, or no query has candidates yet.
    """
    for field, most in (("queries", MOST_QUERIES), ("top", MOST_CANDIDATES), ("random", MOST_CANDIDATES)):
        if not (field != "random") <= getattr(plan, field) <= most:
            raise BadValue(field, str(getattr(plan, field)), f"at most {most:,}, and something to judge")
    if campaign.queries.filter(kind=Kind.STUDY).exists():
        raise WrongState("This campaign has a study already.")
    if not campaign.queries.pool().filter(batches__isnull=False).exists():
        raise WrongState("No query has candidates yet; the study takes its queries from the pool.")
    return start_study.ask(campaign, plan=list(plan))


@kind("start-study", "Start the study", of=Campaign, owner=SELF, page=("figures", "name"), refusals=(CorpusError,))
def start_study(campaign: Campaign, report: Report, plan: Sequence[int]) -> None:
    start(campaign, Plan(*plan), report)


def start(campaign: Campaign, plan: Plan, report: Report) -> None:
    """Draw the queries, rank every moment for them, and open their batches. Running it again adds nothing."""
    pool = list(campaign.queries.pool().order_by("pk"))
    drawn = Random(plan.seed).sample(pool, min(plan.queries, len(pool)))
    stored = set(campaign.queries.filter(kind=Kind.STUDY).values_list("query_id", flat=True))
    wanted = [query for query in drawn if _name(query) not in stored]
    if not wanted:
        return
    check_encoder(campaign)
    moments = moments_of(campaign)
    found, own = compare(wanted, moments, len(moments), report), own_moments(moments)
    for number, query in enumerate(wanted):
        report(number, len(wanted), "storing candidates")
        _store(query, list(in_order(moments, found, number, own[wording(query.text)])), plan)
    report(len(wanted), len(wanted))


@transaction.atomic
def _store(query: Query, ranked: list[tuple[Moment, float]], plan: Plan) -> None:
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
            Candidate(query=copy, batch=batch, moment=moment, rank=place + 1, similarity=similarity)
            for place in some
            for moment, similarity in [ranked[place]]
        )
        prepare(batch)


def _name(query: Query) -> str:
    return f"study:{query.query_id}"[:100]
