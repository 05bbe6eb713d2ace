"""Enlarging a pool: moments that runs found and nobody has judged, those first that would decide between the runs.

An enlargement is proposed, and opened on a lead's word: its first moments become candidates in further batches.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from django.db.models import Max
from django.db.models.functions import Now

from base.errors import BadValue, WrongState
from base.transactions import all_or_nothing, locked
from campaigns.models import Campaign, Membership
from corpus.cutting import LONGEST
from corpus.models import DIGITS, Video, moments_at
from jobs.queue import Lane
from jobs.registry import Report, kind
from judging.models import Candidate, Query
from judging.pool.opening import open_further
from metrics import MeasureError, Qrels
from metrics import Run as Predictions
from metrics.analysis.pooling import SAME, Found, influence, undecided
from metrics.measures.ground import Ground
from metrics.measures.matching import temporal_iou
from runs.models import Enlargement, Run, Source, Visibility
from runs.references import reference_of
from runs.tables import read_table

MOST_RUNS, DEEPEST, MOST_MOMENTS = 30, 100, 5000
THRESHOLDS = (0.3, 0.5, 0.7)
Moment = dict[str, Any]  # as an enlargement keeps it


class PoolPlan(NamedTuple):
    """What is looked at: the first ranks of each run, and the IoU from which a prediction matches a judged moment."""

    runs: Sequence[int]  # their numbers
    depth: int = 10
    iou: float = 0.5


def open_runs(campaign: Campaign) -> list[Run]:
    """Return the runs that can take part in a pool, by number: those that more people than their owner may see."""
    return list(campaign.runs.exclude(visibility=Visibility.PRIVATE).order_by("number"))


@all_or_nothing
def ask_to_propose(lead: Membership, plan: PoolPlan) -> Enlargement:
    """Make an enlargement that is to come, and ask for the job that finds its moments.

    Raise BadValue if a number is out of range, or a run cannot take part, and WrongState if there is no release, or the
    ratings were imported.
    """
    runs = sorted(set(plan.runs))
    if not 2 <= len(runs) <= MOST_RUNS:
        raise BadValue("run", f"{len(runs)} runs", f"from 2 to {MOST_RUNS}")
    if strange := set(runs) - {run.number for run in open_runs(lead.campaign)}:
        raise BadValue("run", str(min(strange)), "the number of a run that is shared or public")
    if not 1 <= plan.depth <= DEEPEST:
        raise BadValue("depth", str(plan.depth), f"from 1 to {DEEPEST} ranks")
    if plan.iou not in THRESHOLDS:
        raise BadValue("iou", f"{plan.iou:g}", f"one of {', '.join(map(str, THRESHOLDS))}")
    campaign = locked(Campaign.objects.filter(pk=lead.campaign_id)).get()
    if campaign.imported:
        raise WrongState("This campaign holds imported ratings, which are finished; nobody judges in it.")
    release = campaign.releases.newest()
    if release is None:
        raise WrongState("There is no release yet; it says what is judged. Freeze one first.")
    last = campaign.enlargements.aggregate(last=Max("number"))["last"] or 0
    made = Enlargement.objects.create(
        campaign=campaign, number=last + 1, release=release, lead=lead, depth=plan.depth, iou=plan.iou, runs=runs
    )
    propose_moments.ask(made)
    return made


ABOUT = {"of": Enlargement, "owner": "campaign", "page": ("pool", "campaign.name", "number")}


@kind("propose-moments", "Propose moments to judge", refusals=(MeasureError,), **ABOUT)
def propose_moments(enlargement: Enlargement, report: Report) -> None:
    """Find the moments of an enlargement, and store them, the most decisive first. Once found, nothing changes."""
    if enlargement.found is not None:
        return
    report(0, 3, "reading runs")
    runs = list(enlargement.campaign.runs.filter(number__in=enlargement.runs).order_by("number"))
    read = [read_table(Predictions, run.table, name=run.name) for run in runs]
    ground = Ground(read_table(Qrels, reference_of(enlargement.release).table))
    report(1, 3, "looking for moments that nobody has judged")
    found = undecided(ground, read, enlargement.depth, enlargement.iou)
    kept, not_closed = _closed_only(found, enlargement.campaign)
    report(2, 3, "asking how much each could change")
    weight = influence(kept, ground, read, enlargement.depth, enlargement.iou)
    order = np.lexsort((kept.query, -weight))
    moments = list(_moments(kept.take(order), weight[order], runs, enlargement.campaign))
    enlargement.found = {
        "moments": moments[:MOST_MOMENTS],
        "more": len(moments[MOST_MOMENTS:]),
        "not_closed": not_closed,
    }
    enlargement.save(update_fields=["found"])
    report(3, 3)


def _closed_only(found: Found, campaign: Campaign) -> tuple[Found, int]:
    """Leave out the moments of queries that are not closed, and count them. What their batches hold is to come yet."""
    closed = set(campaign.queries.pool().filter(closed=True).values_list("query_id", flat=True))
    kept = np.array([found.queries[number] in closed for number in found.query.tolist()], dtype=np.bool_)
    return found.take(kept), int((~kept).sum())


def _moments(
    found: Found, weight: np.ndarray[Any, Any], runs: list[Run], campaign: Campaign
) -> Iterator[dict[str, Any]]:
    """Yield the moments that have a clip's length and lie in their video, each with who found it."""
    durations = dict(Video.objects.filter(corpus=campaign.corpus_id).values_list("name", "duration"))
    judged = _judged(campaign, {found.queries[number] for number in set(found.query.tolist())})
    for n in range(len(found)):
        query, video = found.queries[int(found.query[n])], found.names[int(found.video[n])]
        start, end = round(float(found.start[n]), DIGITS), round(float(found.end[n]), DIGITS)
        end = min(end, durations.get(video, 0.0))
        if not 0 < end - start <= LONGEST:
            continue
        ranks = {str(run.number): int(rank) for run, rank in zip(runs, found.ranks[n], strict=True) if rank}
        yield {
            "query": query,
            "video": video,
            "start": start,
            "end": end,
            "influence": round(float(weight[n]), 6),
            "ranks": ranks,
            "near": _nearest(judged[query, video], start, end),
        }


Judged = tuple[int, float, float]  # the candidate's key, start, end


def _judged(campaign: Campaign, queries: set[str]) -> dict[tuple[str, str], list[Judged]]:
    """Return the moments in batches, by query and video, whatever became of them."""
    found: dict[tuple[str, str], list[Judged]] = defaultdict(list)
    rows = Candidate.objects.in_pool(campaign).order_by("pk")
    columns = ("query__query_id", "moment__video__name", "pk", "moment__start", "moment__end")
    for query, video, *judged in rows.values_list(*columns).iterator(chunk_size=5000):
        if query in queries:
            found[query, video].append(tuple(judged))
    return found


def _nearest(judged: list[Judged], start: float, end: float) -> dict[str, Any] | None:
    """Return the judged moment that overlaps this stretch most, if it is so much that both may be the same."""
    if not judged:
        return None
    keys, starts, ends = (np.array(column) for column in zip(*judged, strict=True))
    iou = temporal_iou(starts, ends, np.array(start), np.array(end))
    best = int(iou.argmax())
    return {"candidate": int(keys[best]), "iou": round(float(iou[best]), 3)} if iou[best] >= SAME else None


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


@kind("open-further-batches", "Open further batches", lane=Lane.JUDGING, **ABOUT)
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
    """Open the batches of one query once. Raise WrongState if the query is withdrawn, or not closed any more."""
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
