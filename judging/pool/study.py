"""The study of grade against similarity: a few queries judged far deeper than the pool, and never in qrels.

As in TVR-Ranking (section B.3): of each query the most similar moments, and as many drawn at random from the rest.
"""

from __future__ import annotations

from random import Random
from typing import NamedTuple

from django.db import transaction

from base.errors import BadValue, WrongState
from campaigns.models import Campaign
from corpus.models import Moment
from jobs.models import Job
from jobs.registry import Report
from judging.models import Batch, Candidate, Kind, Query
from judging.pool.clips import prepare
from judging.pool.ranking import check_encoder, compare, in_order, moments_of

STUDY = "start study"  # the kind of job
MOST_QUERIES, MOST_CANDIDATES = 100, 1000


class Plan(NamedTuple):
    queries: int = 10
    top: int = 60
    random: int = 60
    seed: int = 1


@transaction.atomic
def ask_for_study(campaign: Campaign, plan: Plan) -> Job:
    """Have the study's candidates ranked and its batches opened. A campaign has one study.

    Raises
    ------
    BadValue, WrongState
        For numbers out of range, and where a study is, or nothing is ranked yet.
    """
    for field, most in (("queries", MOST_QUERIES), ("top", MOST_CANDIDATES), ("random", MOST_CANDIDATES)):
        if not (field != "random") <= getattr(plan, field) <= most:
            raise BadValue(field, str(getattr(plan, field)), f"at most {most:,}, and something to judge")
    if campaign.queries.filter(kind=Kind.STUDY).exists():
        raise WrongState("This campaign has its study already.")
    if not campaign.queries.pool().filter(batches__isnull=False).exists():
        raise WrongState("No query has candidates yet; the study takes its queries from the pool.")
    return Job.objects.ask(STUDY, campaign.job_key, campaign=campaign.pk, plan=list(plan))


def start(campaign: Campaign, plan: Plan, report: Report) -> None:
    """Draw the queries, rank every moment for them, and open their batches. Doing it again adds nothing."""
    pool = list(campaign.queries.pool().order_by("pk"))
    drawn = Random(plan.seed).sample(pool, min(plan.queries, len(pool)))
    there = set(campaign.queries.filter(kind=Kind.STUDY).values_list("query_id", flat=True))
    wanted = [query for query in drawn if _name(query) not in there]
    if not wanted:
        return
    check_encoder(campaign)
    moments = moments_of(campaign)
    found = compare(wanted, moments, len(moments), report)
    for number, query in enumerate(wanted):
        report(number, len(wanted), "storing candidates")
        _store(query, list(in_order(moments, found, number)), plan)
    report(len(wanted), len(wanted))


@transaction.atomic
def _store(query: Query, ranked: list[tuple[Moment, float]], plan: Plan) -> None:
    """A copy of the query with its candidates, at the ranks that they have among all moments."""
    copy = Query.objects.create(
        campaign=query.campaign, kind=Kind.STUDY, query_id=_name(query), text=query.text, split=query.split
    )
    draw = Random(f"{plan.seed}:{query.query_id}")
    rest = range(plan.top, len(ranked))
    places = [*range(min(plan.top, len(ranked))), *draw.sample(rest, min(plan.random, len(rest)))]
    # No batch is all alike: an annotator must not learn that one kind of batch holds nothing.
    draw.shuffle(places)
    size = query.campaign.batch_size
    for number, first in enumerate(range(0, len(places), size), 1):
        batch = Batch.objects.create(query=copy, number=number, kind=Kind.STUDY)
        some = sorted(places[first : first + size])
        Candidate.objects.bulk_create(
            Candidate(query=copy, batch=batch, moment=moment, rank=place + 1, similarity=similarity)
            for place in some
            for moment, similarity in [ranked[place]]
        )
        prepare(batch)


def _name(query: Query) -> str:
    return f"study:{query.query_id}"[:100]
