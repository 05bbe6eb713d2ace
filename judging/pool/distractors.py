"""Distractors: moments of the corpus far from a query, for the hidden places of its batches. Their right grade is 0.

They are drawn at random among the captions least like the query, so that every batch has checks from the first on, and
none has to repeat a pair of its own. They are paid as pairs are, and count for no consensus.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random

import numpy as np
from django.db import transaction
from django.db.models import Exists, OuterRef

from campaigns.models import Campaign
from corpus.models import Moment
from jobs.registry import SELF, Report, kind
from judging.models import Kind
from judging.models.pool import Batch, Candidate, Query
from judging.pool.clips import prepare
from retrieval.embedding import Vectors, embed

FIRST_RANK = 1_000_000  # behind all ranks that copies of pairs can have
DRAWN_FROM = 500  # moments at least, of which the less similar half is used; each serves as few queries as possible
QUERIES_AT_A_TIME = 50


def draw(campaign: Campaign, queries: Sequence[Query]) -> None:
    """Draw the distractors of queries that have candidates and no distractors, if the campaign has hidden places.

    A query gets as many as its batches have hidden places. None overlaps a candidate of the query. Doing it again adds
    nothing.
    """
    wanted = campaign.hidden_places * campaign.batches
    queries = [query for query in queries if wanted and not query.distractors.exists()]
    if not queries:
        return
    chance = Random(f"{campaign.order_seed}:distractors:{queries[0].query_id}")
    moments = _some_moments(campaign, 2 * wanted * len(queries), chance)
    if not moments:
        return
    used: Counter[int] = Counter()
    for query, row in zip(queries, _similarities(queries, moments), strict=True):
        far = np.argsort(row, kind="stable")[: (len(moments) + 1) // 2].tolist()
        chance.shuffle(far)
        chosen = _apart(query, [moments[at] for at in sorted(far, key=lambda at: used[moments[at].pk])], wanted)
        used.update(moment.pk for moment in chosen)
        checks = query.of_checks()
        Candidate.objects.bulk_create(
            [
                Candidate(query=checks, moment=moment, rank=FIRST_RANK + number, truth=0)
                for number, moment in enumerate(chosen)
            ],
            ignore_conflicts=True,
        )


def _similarities(queries: Sequence[Query], moments: Sequence[Moment]) -> Vectors:
    """Return the cosine of each query's text and each moment's caption."""
    return embed([query.text for query in queries]) @ embed([moment.caption for moment in moments]).T


def _some_moments(campaign: Campaign, wanted: int, chance: Random) -> list[Moment]:
    """Return moments drawn at random, whose videos have films if any video has one."""
    moments = Moment.objects.filter(video__corpus=campaign.corpus).order_by("pk")
    filmed = moments.exclude(video__media="")
    keys = list((filmed if filmed.exists() else moments).values_list("pk", flat=True))
    drawn = chance.sample(keys, min(len(keys), max(DRAWN_FROM, wanted)))
    by_key = Moment.objects.in_bulk(drawn)
    return [by_key[key] for key in drawn]


def _apart(query: Query, moments: Sequence[Moment], wanted: int) -> list[Moment]:
    """Return the first so many of the moments that overlap no candidate of a query of this text in the campaign."""
    same = Candidate.objects.filter(query__campaign=query.campaign_id, query__text=query.text)
    spans: dict[int, list[tuple[float, float]]] = {}
    for video, start, end in same.values_list("moment__video", "moment__start", "moment__end"):
        spans.setdefault(video, []).append((start, end))
    found: list[Moment] = []
    for moment in moments:
        if len(found) == wanted:
            break
        if all(moment.end <= start or end <= moment.start for start, end in spans.get(moment.video_id, ())):
            found.append(moment)
    return found


@kind("draw-distractors", "Draw distractors", of=Campaign, owner=SELF, page=("campaign-settings", "name"))
def draw_distractors(campaign: Campaign, report: Report) -> None:
    """Draw the distractors that are missing because the number of hidden places was raised, and cut their clips."""
    batches = Batch.objects.filter(campaign=campaign, kind=Kind.POOL).unfinished().select_related("query__campaign")
    queries = campaign.queries.pool().filter(Exists(batches.filter(query=OuterRef("pk"))))
    found = list(queries.order_by("place", "pk"))
    for start in range(0, len(found), QUERIES_AT_A_TIME):
        report(start, len(found), f"drawing distractors: {start:,} of {len(found):,} queries")
        some = found[start : start + QUERIES_AT_A_TIME]
        with transaction.atomic():
            draw(campaign, some)
            for batch in batches.filter(query__in=some).order_by("place", "pk"):
                prepare(batch)
    report(len(found), len(found))
