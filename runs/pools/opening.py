"""Opening an enlargement: the first of its moments become candidates in further batches, with who found them."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from django.db.models.functions import Now

from base.errors import BadValue, WrongState
from base.transactions import all_or_nothing, locked
from campaigns.models import Membership
from corpus.models import moments_at
from jobs.registry import Report, kind
from judging.models import Query
from judging.pool.opening import open_further
from runs.models import Enlargement, Run, Source

Moment = dict[str, Any]  # as an enlargement keeps it


@all_or_nothing
def ask_to_open(enlargement: Enlargement, lead: Membership, taken: int, near: str) -> Enlargement:
    """Have the first moments judged, on a lead's word, and ask for the job that opens their batches.

    Parameters
    ----------
    taken
        How many moments are judged. With `reuse` it may be none.
    near
        One of `Near`: what becomes of moments that overlap a judged one.

    Raises
    ------
    BadValue
        If there are not so many moments.
    WrongState
        If the moments are not found yet, or the enlargement is opened already.
    """
    enlargement = locked(Enlargement.objects.filter(pk=enlargement.pk)).get()
    if enlargement.found is None:
        raise WrongState("The moments of this enlargement are not found yet.")
    if enlargement.opened:
        raise WrongState("This enlargement is opened already. Propose another one.")
    there = len(enlargement.to_judge(near))
    least = 0 if near == Enlargement.Near.REUSE and len(enlargement.moments) > there else 1
    if not least <= taken <= there:
        raise BadValue("taken", str(taken), f"from {least} to {there:,} moments")
    enlargement.taken, enlargement.near, enlargement.opened_by = taken, near, lead
    enlargement.opened = Now()
    enlargement.save(update_fields=["taken", "near", "opened", "opened_by"])
    enlargement.refresh_from_db()
    lead.campaign.touch()
    open_further_batches.ask(enlargement)
    return enlargement


@kind(
    "open-further-batches",
    "Open further batches",
    of=Enlargement,
    owner="campaign",
    page=("pool", "campaign.name", "number"),
)
def open_further_batches(enlargement: Enlargement, report: Report) -> None:
    """Open the batches of an enlargement, query by query. Run again, it goes on with the queries that are left."""
    assert enlargement.taken is not None
    by_query: dict[str, list[Moment]] = defaultdict(list)
    for moment in enlargement.to_judge(enlargement.near)[: enlargement.taken]:
        by_query[moment["query"]].append(moment)
    runs = {str(run.number): run for run in enlargement.campaign.runs.filter(number__in=enlargement.runs)}
    queries = {query.query_id: query for query in enlargement.campaign.queries.pool()}
    passed = 0
    for number, (name, moments) in enumerate(by_query.items()):
        report(number, len(by_query), "opening batches")
        try:
            _open(enlargement, queries.get(name), moments, runs)
        except WrongState:
            passed += len(moments)
    message = f"{passed} moments are left out: their queries are not closed any more" if passed else ""
    report(len(by_query), len(by_query), message)


@all_or_nothing
def _open(enlargement: Enlargement, query: Query | None, moments: list[Moment], runs: dict[str, Run]) -> None:
    """Open the batches of one query, unless it was done.

    Raises
    ------
    WrongState
        If the query is withdrawn, or not closed any more. Nothing is stored then.
    """
    if query is None:
        raise WrongState("The query is withdrawn.")
    if enlargement.sources.filter(candidate__query=query).exists():
        return
    found = moments_at(enlargement.campaign.corpus, [(each["video"], each["start"], each["end"]) for each in moments])
    candidates = open_further(query, found)
    Source.objects.bulk_create(
        [
            Source(enlargement=enlargement, candidate=candidates[moment.pk], run=runs[run], rank=rank)
            for moment, each in zip(found, moments, strict=True)
            if moment.pk in candidates
            for run, rank in each["ranks"].items()
        ],
        ignore_conflicts=True,  # two stretches that are the same to the millisecond
    )
