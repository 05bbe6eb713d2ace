"""Enlarging a pool: moments that runs found and nobody has judged, those first that would decide between the runs.

An enlargement is proposed; having its first moments judged is an action, so that its price is known before, and it is
undone after. Each row of the action is a query, whose moments become candidates in further batches.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from django.db.models import Max
from django.db.models.functions import Now

from base.errors import BadValue, WrongState
from base.transactions import all_or_nothing, locked
from campaigns.models import Campaign, Membership
from corpus.models import DIGITS, Video, moments_at
from jobs.registry import Report, kind
from judging.models import Action, ActionRow, Candidate, Query
from judging.pool.opening import open_further
from judging.review.actions import prepare
from judging.review.reviewing import note_closed
from judging.review.verbs import FURTHER_VERBS, Verb
from judging.summaries import summarize
from metrics import MeasureError, Qrels
from metrics import Run as Predictions
from metrics.analysis.pooling import SAME, Found, influence, undecided
from metrics.measures.ground import Ground
from metrics.measures.matching import temporal_iou
from runs.models import Enlargement, Near, Run, Source, Visibility
from runs.references import reference_of
from runs.systems.orders import LONGEST
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


@kind(
    "propose-moments",
    "Propose moments to judge",
    of=Enlargement,
    owner="campaign",
    page=("unjudged", "campaign.name"),
    refusals=(MeasureError,),
)
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


class Opening(NamedTuple):
    """Which moments of an enlargement are judged, as an action keeps it."""

    enlargement: Enlargement
    taken: int
    near: str

    @classmethod
    def of(cls, action: Action) -> Opening:
        number, taken, near = action.argument.split(":")
        return cls(Enlargement.objects.get(campaign=action.campaign_id, number=int(number)), int(taken), near)

    @property
    def moments(self) -> list[Moment]:
        return self.enlargement.to_judge(self.near)[: self.taken]

    def of_query(self, query: Query) -> list[Moment]:
        return [moment for moment in self.moments if moment["query"] == query.query_id]


@all_or_nothing
def prepare_opening(enlargement: Enlargement, lead: Membership, taken: int, near: str = Near.LEAVE) -> Action:
    """Return the action that has the first moments judged. Nothing happens before the lead begins it.

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
    _must_be_closed(enlargement)
    there = len(enlargement.to_judge(near))
    least = 0 if near == Near.REUSE and len(enlargement.moments) > there else 1
    if not least <= taken <= there:
        raise BadValue("taken", str(taken), f"from {least} to {there:,} moments")
    # Where grades are reused and nothing is judged, the action is of the queries of the reused ones.
    moments = Opening(enlargement, taken, near).moments or enlargement.moments
    queries = lead.campaign.queries.pool().filter(query_id__in={moment["query"] for moment in moments})
    action = prepare(lead, VERB.code, queries, f"the first {taken:,} moments of {enlargement}")
    action.argument = f"{enlargement.number}:{taken}:{near}"
    action.save(update_fields=["argument"])
    return action


def opening_of(enlargement: Enlargement) -> Action | None:
    """Return the action that has the moments of an enlargement judged, for its page to lead to what undoes it."""
    begun = Action.objects.filter(campaign=enlargement.campaign_id, verb=VERB.code, begun__isnull=False, undone=None)
    return begun.filter(argument__startswith=f"{enlargement.number}:").last()


def _must_be_closed(enlargement: Enlargement) -> None:
    if enlargement.found is None:
        raise WrongState("The moments of this enlargement are not found yet.")
    if enlargement.opened:
        raise WrongState("This enlargement is opened already. Propose another one.")


def _start(action: Action) -> None:
    opening = Opening.of(action)
    enlargement = locked(Enlargement.objects.filter(pk=opening.enlargement.pk)).get()
    _must_be_closed(enlargement)
    enlargement.taken, enlargement.near = opening.taken, opening.near
    enlargement.opened_by, enlargement.opened = action.lead, Now()
    enlargement.save(update_fields=["taken", "near", "opened", "opened_by"])


def _open(query: Query, action: Action) -> dict[str, list[int]]:
    """Open the batches of one query, and return their keys.

    Raise WrongState if the query is withdrawn, or not closed any more.
    """
    opening = Opening.of(action)
    moments = opening.of_query(query)
    if not moments:
        return {"batches": []}
    found = moments_at(query.campaign.corpus, [(each["video"], each["start"], each["end"]) for each in moments])
    candidates = open_further(query, found)
    runs = {str(run.number): run for run in query.campaign.runs.filter(number__in=opening.enlargement.runs)}
    Source.objects.bulk_create(
        [
            Source(enlargement=opening.enlargement, candidate=candidates[moment.pk], run=runs[run], rank=rank)
            for moment, each in zip(found, moments, strict=True)
            if moment.pk in candidates
            for run, rank in each["ranks"].items()
        ],
        ignore_conflicts=True,  # two stretches that are the same to the millisecond
    )
    found_in = Candidate.objects.filter(pk__in=[candidate.pk for candidate in candidates.values()])
    return {"batches": sorted(found_in.order_by().values_list("batch", flat=True).distinct())}


def _take_away(query: Query, action: Action, row: ActionRow) -> None:
    """Undo the opening for one query: its candidates stay, in no batch.

    Raise WrongState if somebody has begun one of the batches, or a candidate has a reused grade.
    """
    assert row.before is not None
    enlargement = Opening.of(action).enlargement
    Query.objects.filter(pk=query.pk).lock_with_batches()
    batches = query.batches.filter(pk__in=row.before["batches"])
    if batches.with_work().exists():
        raise WrongState("Somebody has begun to judge its moments. What is judged there stays.")
    if Candidate.objects.reused().filter(batch__in=batches).exists():
        raise WrongState("Some of its moments have a reused grade, which stays.")
    batches.delete()
    summarize([query.pk])
    note_closed(query)
    if not enlargement.sources.filter(candidate__batch__isnull=False).exists():
        closed = {"opened": None, "opened_by": None, "taken": None, "near": Near.LEAVE}
        Enlargement.objects.filter(pk=enlargement.pk).update(**closed)


def _size(action: Action) -> tuple[int, int]:
    """Return in how many queries batches would be opened, as the queries are now, and how many moments these hold."""
    counts = Counter(moment["query"] for moment in Opening.of(action).moments)
    rows = action.campaign.queries.pool().filter(pk__in=action.rows.values("row"), closed=True, withdrawn=None)
    able = rows.values_list("query_id", flat=True)
    return len(able), sum(counts[query] for query in able)


VERB = Verb(
    "enlarge",
    "Have moments judged",
    "moments opened",
    "queries that are closed",
    _open,
    _take_away,
    start=_start,
    size=_size,
)
FURTHER_VERBS[VERB.code] = VERB
