"""Gold: checks that are made of pairs on which all annotators agreed."""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import Any

from django.db.models import Count, Exists, Min, OuterRef, Q, QuerySet

from base.errors import WrongState
from base.transactions import all_or_nothing, locked
from campaigns.models import Campaign
from judging.models import Assignment, Candidate, Judgement, Kind, Query
from judging.models.pool import CandidateQuerySet
from judging.quality.checks import chance, copy_pairs, fewest, size

SOURCES_LOOKED_AT = 200  # closed queries
DRAWN_AT_ONCE = 10


def sources(campaign: Campaign, most: int | None = None) -> list[tuple[Query, int]]:
    """Return the closed queries that can become gold, each with its number of clear pairs, most pairs first.

    With `most`, only that many closed queries are examined.
    """
    # Annotators who sat the exam know the answers to its queries.
    examined = campaign.queries.filter(kind=Kind.EXAM).values("text")
    copies = Candidate.objects.in_campaign(campaign).filter(query__in=_gold(campaign))
    closed = campaign.queries.pool().filter(closed=True).exclude(text__in=examined)
    closed = closed.exclude(pk__in=copies.values("repeats__query")).order_by("pk")
    pks = closed.values_list("pk", flat=True)
    keys = list(pks[:most]) if most else pks.order_by()
    counts = clear_pairs(campaign).filter(query__in=keys).order_by().values_list("query").annotate(n=Count("pk"))
    numbers = dict(counts.filter(n__gte=fewest(campaign)).order_by("-n", "query"))
    queries = Query.objects.in_bulk(numbers)
    return [(queries[query], number) for query, number in numbers.items()]


def clear_pairs(campaign: Campaign) -> CandidateQuerySet:
    """Return the pairs of closed queries that settled in round one by grades that were all the same."""
    another = Judgement.objects.filter(candidate=OuterRef("pk"), seat__isnull=False)
    another = another.exclude(grade=OuterRef("grade"))
    settled = Candidate.objects.in_pool(campaign).settled().filter(escalated=False, query__closed=True)
    return settled.exclude(Exists(another))


def gold(campaign: Campaign) -> QuerySet[Any]:
    """Return the campaign's gold, newest first.

    Each query has its `batch`, its number of `pairs`, and the number of annotators who `had` it.
    """
    done = Q(batches__assignments__state=Assignment.State.SUBMITTED)
    return _gold(campaign).annotate(
        pairs=Count("candidates", distinct=True),
        batch=Min("batches"),
        had=Count("batches__assignments", filter=done, distinct=True),
    )


@all_or_nothing
def make_gold(query: Query) -> Query:
    """Make gold of some clear pairs of a closed query, and return it. If it exists already, return that.

    Raises
    ------
    WrongState
        If the query has too few clear pairs.
    """
    query = locked(Query.objects.filter(pk=query.pk)).select_related("campaign").get()
    campaign, name = query.campaign, f"gold:{query.pk}"
    if made := campaign.queries.filter(kind=Kind.CHECK, query_id=name).first():
        return made
    pairs = _spread(list(clear_pairs(campaign).filter(query=query)), campaign)
    if len(pairs) < fewest(campaign):
        raise WrongState(
            f"“{query}” has {len(pairs)} pairs on which all agreed; gold takes a closed query with at least "
            f"{fewest(campaign)}."
        )
    made = Query.objects.create(campaign=campaign, kind=Kind.CHECK, query_id=name, text=query.text, split=query.split)
    copy_pairs(made, pairs[: size(campaign, name)], truths=True)
    return made


def draw_gold(campaign: Campaign, number: int, seed: int) -> list[Query]:
    """Make gold of up to `number` more queries. The same seed draws the same queries."""

    def shuffled(source: tuple[Query, int]) -> bytes:
        return hashlib.sha256(f"{seed}:{source[0].pk}".encode()).digest()

    return [make_gold(query) for query, _ in sorted(sources(campaign), key=shuffled)[:number]]


def _spread(pairs: list[Candidate], campaign: Campaign) -> list[Candidate]:
    """Return the pairs in an order that takes one pair of each grade in turn, so that a check has many grades."""
    drawn = sorted(pairs, key=lambda pair: chance(campaign, "gold", pair.pk))
    turns: Counter[int | None] = Counter()
    order = {}
    for pair in drawn:
        order[pair.pk] = turns[pair.grade]
        turns[pair.grade] += 1
    return sorted(drawn, key=lambda pair: order[pair.pk])


def _gold(campaign: Campaign) -> QuerySet[Query]:
    return campaign.queries.filter(kind=Kind.CHECK, owner__isnull=True).order_by("-pk")
