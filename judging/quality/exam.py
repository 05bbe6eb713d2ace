"""The qualification exam: how it is drawn from the pool, and the truth that the lead may give its pairs.

TVR-Ranking, appendix B.2: ten random queries, ten candidates each; the median of all annotations is the truth.
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
    """Draw queries whose judging has not begun, copy their best candidates into an exam, and ask for it.

    Whoever sat the exam was told about its pairs, so the queries leave the pool, unless they are to be kept.

    Raises
    ------
    BadValue
        Naming what cannot be drawn.
    WrongState
        When there is an exam already.
    """
    locked(Campaign.objects.filter(pk=campaign.pk)).get()
    if campaign.queries.filter(kind=Kind.EXAM).exists():
        raise WrongState("The exam is made already; it stays as it is.")
    if not 1 <= depth <= campaign.depth:
        raise BadValue("depth", str(depth), f"1 to {campaign.depth} candidates of each query")
    if not 1 <= queries <= MOST_QUERIES:
        raise BadValue("queries", str(queries), f"1 to {MOST_QUERIES}")
    fresh = _not_begun(campaign)
    if len(fresh) < queries:
        raise BadValue("queries", str(queries), f"at most {len(fresh)}: the judging of all others has begun")
    drawn = random.Random(seed).sample(fresh, queries)
    for query in drawn:
        _copy(query, depth)
    if not keep_in_pool:
        gone = Query.objects.filter(pk__in=[query.pk for query in drawn])
        gone.update(withdrawn=Now(), withdrawn_why=USED)
    Campaign.objects.filter(pk=campaign.pk).update(exam=True)


def _not_begun(campaign: Campaign) -> list[Query]:
    """Queries of the pool that nobody has begun to judge, in their order; nobody can begin them meanwhile."""
    begun = Assignment.objects.filter(batch__query=OuterRef("query"))
    batches = Batch.objects.in_pool(campaign).filter(number=1, edition=1, query__closed=False)
    free = locked(batches.exclude(Exists(begun)), skip_locked=True)
    return [batch.query for batch in free.select_related("query").order_by("query")]


def _copy(source: Query, depth: int) -> None:
    """The query and its best candidates once more, as an exam that is made ready like any batch."""
    query = Query.objects.create(
        campaign=source.campaign, kind=Kind.EXAM, query_id=f"exam:{source.pk}", text=source.text
    )
    batch = Batch.objects.create(query=query, number=1, kind=Kind.EXAM)
    best = source.candidates.filter(rank__lte=depth).values("moment_id", "rank", "similarity")
    Candidate.objects.bulk_create(Candidate(query=query, batch=batch, **each) for each in best)
    prepare(batch)


@all_or_nothing
def set_truth(batch: Batch, truth: dict[int, tuple[int | None, str]]) -> None:
    """Store the lead's own grade and explanation by rank, and mark who waited for them. Results given stay."""
    candidates = list(batch.candidates.filter(rank__in=truth))
    for candidate in candidates:
        candidate.truth, candidate.why = truth[candidate.rank]
    Candidate.objects.bulk_update(candidates, ["truth", "why"])
    sittings.mark_waiting(batch.query.campaign)
