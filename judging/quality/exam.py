"""The qualification exam: drawing it from the pool, and setting the truth of its pairs.

TVR-Ranking, appendix B.2: ten random queries with ten candidates each; the median of all annotations is the truth.
"""

from __future__ import annotations

import random

from django.db.models import Exists, OuterRef
from django.db.models.functions import Now

from base.errors import BadValue, WrongState
from base.transactions import all_or_nothing, locked
from campaigns.models import Campaign
from judging.models import Assignment, Batch, Candidate, Kind, Query
from judging.pool.clips import prepare
from judging.quality import sittings

QUERIES, DEPTH = 10, 10
MOST_QUERIES = 100
USED = "used in the exam"


@all_or_nothing
def set_exam(
    campaign: Campaign, seed: int, queries: int = QUERIES, depth: int = DEPTH, keep_in_pool: bool = False
) -> None:
    """Draw queries that nobody has begun to judge, and copy their best candidates into an exam.

    Examinees learn about the exam's pairs, so the drawn queries are withdrawn from the pool, except with
    `keep_in_pool`.

    Raises
    ------
    BadValue
        If the numbers are out of range, or there are too few queries.
    WrongState
        If the campaign has an exam already.
    """
    locked(Campaign.objects.filter(pk=campaign.pk)).get()
    if campaign.queries.filter(kind=Kind.EXAM).exists():
        raise WrongState("This campaign has an exam already, and it cannot be changed.")
    if not 1 <= depth <= campaign.depth:
        raise BadValue("depth", str(depth), f"1 to {campaign.depth} candidates of each query")
    if not 1 <= queries <= MOST_QUERIES:
        raise BadValue("queries", str(queries), f"1 to {MOST_QUERIES}")
    fresh = _not_begun(campaign)
    if not fresh:
        raise WrongState(
            "An exam is made of queries that nobody has begun to judge, and this campaign has none left. Add queries to"
            " it (manage.py create_campaign), or let annotators work without an exam (Settings)."
        )
    if len(fresh) < queries:
        raise BadValue("queries", str(queries), f"at most {len(fresh)}: the judging of all others has begun")
    drawn = random.Random(seed).sample(fresh, queries)
    for query in drawn:
        _copy(query, depth)
    if not keep_in_pool:
        used = Query.objects.filter(pk__in=[query.pk for query in drawn])
        used.update(withdrawn=Now(), withdrawn_why=USED)
    Campaign.objects.filter(pk=campaign.pk).update(exam=True)


def _not_begun(campaign: Campaign) -> list[Query]:
    """Return the pool's queries that nobody has begun to judge, and lock their batches."""
    begun = Assignment.objects.filter(batch__query=OuterRef("query"))
    batches = Batch.objects.in_pool(campaign).filter(number=1, edition=1, query__closed=False)
    free = locked(batches.exclude(Exists(begun)), skip_locked=True)
    return [batch.query for batch in free.select_related("query").order_by("query")]


def _copy(source: Query, depth: int) -> None:
    """Copy the query and its best candidates into a batch of the exam, and ask for its clips."""
    query = Query.objects.create(
        campaign=source.campaign, kind=Kind.EXAM, query_id=f"exam:{source.pk}", text=source.text
    )
    batch = Batch.of(query, 1)
    batch.save()
    best = source.candidates.filter(rank__lte=depth).values("moment_id", "rank", "similarity")
    Candidate.objects.bulk_create(Candidate(query=query, batch=batch, **each) for each in best)
    prepare(batch)


@all_or_nothing
def set_truth(batch: Batch, truth: dict[int, tuple[int | None, str]]) -> None:
    """Store the lead's truths and explanations, by rank, and mark the sittings that waited for them.

    Results that were given before do not change.
    """
    candidates = list(batch.candidates.filter(rank__in=truth))
    for candidate in candidates:
        candidate.truth, candidate.why = truth[candidate.rank]
    Candidate.objects.bulk_update(candidates, ["truth", "why"])
    sittings.mark_waiting(batch.query.campaign)
