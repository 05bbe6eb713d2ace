"""What something costs before it is done: reopening, and actions on many queries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from django.db.models import BooleanField, Count, ExpressionWrapper, F, Max, Q, QuerySet, Sum

from campaigns.models import Campaign, Membership
from judging.consensus import ANNOTATORS
from judging.models import Action, Assignment, Batch, Candidate, Flag, Judgement, Query, Review
from judging.models.pool import CandidateQuerySet
from judging.models.states import CLAIMED
from judging.review.frontier import sample_without
from judging.review.reopening import DONE, ReopeningScope, finished, scope_named, scope_of_annotator
from judging.review.reviewing import recommendations
from judging.review.verbs import steering, verb_of
from judging.summaries import Part
from reports.campaign_summaries import PROGRESS, current_summary
from reports.steering import outlook


@dataclass(frozen=True)
class Cost:
    candidates: int
    batches: int
    queries: int
    judgements: int  # that count no longer
    places: int  # taken away from the annotator in batches that are still in work
    hours: float | None  # for two grades each; None where nobody's time is known
    stuck: int  # batches for which not even two annotators remain
    tight: int  # batches for which not four remain, so that what is contested could not settle
    ready: int  # queries up to the frontier, now
    ready_after: int


@dataclass
class Work:
    """What would begin again: its candidates, the judgements that count there, and who is left for each batch."""

    candidates: int = 0
    counted: int = 0
    left: list[int] = field(default_factory=list)
    queries: set[int] = field(default_factory=set)


def cost_of(campaign: Campaign, scope: ReopeningScope) -> Cost:
    work, places = _work(campaign, scope), dict(scope.assignments.values_list("pk", "batch__query"))
    again = Candidate.objects.filter(Q(batch__round=1) | Q(escalated=True), batch__assignments__in=places)
    in_work = Judgement.objects.filter(assignment__in=places)
    ready, ready_after = sample_without(campaign, _queries_of(scope))
    return Cost(
        candidates=work.candidates,
        batches=len(work.left),
        queries=len(work.queries | {*places.values()}),
        # A place is in a round under way, where nothing of the scope is: no judgement is counted twice.
        judgements=work.counted + (in_work.count() if places else 0),
        places=len(places),
        hours=_hours(campaign, ANNOTATORS * work.candidates + (again.count() if places else 0)),
        stuck=sum(n < ANNOTATORS for n in work.left),
        tight=sum(ANNOTATORS <= n < 2 * ANNOTATORS for n in work.left),
        ready=ready,
        ready_after=ready_after,
    )


def _queries_of(scope: ReopeningScope) -> QuerySet[Query]:
    of_candidates = Q(pk__in=scope.candidates.order_by().values("query"))
    return Query.objects.filter(of_candidates | Q(pk__in=scope.assignments.order_by().values("batch__query")))


def _hours(campaign: Campaign, judgements: float) -> float | None:
    """Return how long so many judgements take at the campaign's pace; None while nobody's time is known."""
    progress = current_summary(campaign, PROGRESS).counts
    return judgements * progress["mean"] / 3600 if progress and progress["mean"] else None


def _work(campaign: Campaign, scope: ReopeningScope) -> Work:
    """Return what would begin again. All work of a person can be ten thousands of pairs, of which most are not read."""
    work, flags = Work(), list(_flags(campaign))
    able = set(campaign.memberships.able().values_list("pk", flat=True))
    if scope.annotator and not (scope.only or campaign.imported or campaign.reuses_id):
        others = _add_usual(work, scope.annotator, able, {query for _, query, _ in flags})
        scope = scope_of_annotator(scope.annotator, others)
    names = ("pk", "query_id", "batch__number", "judgements__annotator", "judgements__seat")
    parts: dict[int, Part] = {}
    judges: dict[Part, set[int]] = defaultdict(set)
    for candidate, query, number, annotator, seat in scope.candidates.order_by().values_list(*names):
        parts[candidate] = query, number
        judges[query, number].add(annotator)
        work.counted += seat is not None
    for candidate, _, annotator in flags:
        if candidate in parts:
            judges[parts[candidate]].add(annotator)
    work.candidates += len(parts)
    work.left += [len(able - each) for each in judges.values()]
    work.queries |= {query for query, _ in judges}
    return work


def _add_usual(work: Work, annotator: Membership, able: set[int], flagged: set[int]) -> set[int]:
    """Add the annotator's work on queries where the numbers of a batch tell all of it; return the other queries.

    Nobody flagged a pair there, gave a place up or reopened anything. So each pair was judged twice in round one, and
    what was contested twice more in round two.
    """
    own = annotator.assignments.submitted().filter(slot__isnull=False)
    reopened = Batch.objects.filter(edition__gt=1, campaign=annotator.campaign_id).values("query")
    withdrawn = Query.objects.filter(withdrawn__isnull=False, campaign=annotator.campaign_id).values("pk")
    usual = Q(state__in=DONE, kind__in=CLAIMED) & ~Q(query__in=reopened) & ~Q(query__in=withdrawn)
    rows = Batch.objects.filter(pk__in=own.values("batch")).annotate(
        is_usual=ExpressionWrapper(usual, BooleanField()),
        given_up=Count("assignments", filter=~Q(assignments__state=Assignment.State.SUBMITTED)),
        judges=Count("assignments", filter=Q(assignments__annotator__in=able)),
        own_round=Max("assignments__round", filter=Q(assignments__annotator=annotator)),
    )
    found = list(rows.values_list("query_id", "is_usual", "given_up", "judges", "own_round", "pairs", "contested"))
    others = {query for query, is_usual, given_up, *_ in found if not is_usual or given_up or query in flagged}
    for query, _, _, judges, own_round, pairs, contested in found:
        if query not in others:
            judged = pairs if own_round == 1 else contested
            work.candidates += judged
            work.counted += ANNOTATORS * (judged + contested)
            work.left.append(len(able) - judges)
            work.queries.add(query)
    return others


def _flags(campaign: Campaign) -> Iterable[tuple[int, int, int]]:
    """Return all candidates that were flagged, their queries, and by whom."""
    flags = Flag.objects.filter(assignment__annotator__campaign=campaign)
    return flags.values_list("candidate_id", "candidate__query_id", "assignment__annotator_id")


# The verdicts that actions give; None is the one that is recommended.
REVIEWED_BY = {"accept": None, "second": Review.Verdict.SECOND, "close": Review.Verdict.CLOSE}


@dataclass(frozen=True)
class ActionCost:
    """What an action would come to. Of hours and pay nothing is known before anybody has judged."""

    queries: int  # to which it can be done
    left: int  # to which it cannot, as they are now
    judgements: int  # to come; negative if so many are not needed any more
    hours: float | None
    pay: float | None
    nobody: int = 0  # batches that somebody may judge now, and nobody could any more
    reach: int | None = None  # see `judging.review.frontier.reach`
    ready: int | None = None  # queries up to the frontier, now; None if that stays
    ready_after: int | None = None
    again: Cost | None = None  # of a candidate, a batch or work of an annotator that is reopened


def action_cost(action: Action) -> ActionCost:
    """Return the cost of an action as the queries are now: judgements to come, or that nobody needs any more.

    A candidate is judged twice, and if it is contested twice more: as large a share as in the campaign so far.
    """
    campaign = action.campaign
    if action.verb == "reopen" and action.argument:
        return _part_cost(campaign, scope_named(campaign, action.argument))
    if steered := steering(action):
        queries, apply = steered
        count, found = queries.count(), outlook(campaign, apply)
        return ActionCost(count, action.rows.count() - count, 0, None, None, found.number, found.reach)
    if action.verb in REVIEWED_BY:
        count, candidates = _to_be_reviewed(action)
    elif action.verb == "reopen":
        count, candidates = _to_be_reopened(action)
    elif size := verb_of(action).size:
        count, candidates = size(action)
    else:
        back = action.verb == "bring_back"
        fits = Query.objects.filter(pk__in=action.rows.values("row"), withdrawn__isnull=not back)
        not_judged = fits.aggregate(sum=Sum(F("pairs") - F("settled") - F("discarded") - F("flagged")))["sum"] or 0
        count, candidates = fits.count(), not_judged if back else -not_judged
    judgements = candidates * ANNOTATORS * (1 + _contested_share(campaign))
    hours = _hours(campaign, judgements)
    pay = _pay(campaign, hours)
    ready, after = _ready_after(action)
    left = action.rows.count() - count
    return ActionCost(count, left, round(judgements), hours, pay, ready=ready, ready_after=after)


def _pay(campaign: Campaign, hours: float | None) -> float | None:
    return hours * float(campaign.hourly_rate) if hours is not None and campaign.hourly_rate is not None else None


def _part_cost(campaign: Campaign, scope: ReopeningScope) -> ActionCost:
    """Return the cost of reopening a candidate, a batch or work of an annotator."""
    again = cost_of(campaign, scope)
    judgements, ready = ANNOTATORS * again.candidates, (again.ready, again.ready_after)
    return ActionCost(again.queries, 0, judgements, again.hours, _pay(campaign, again.hours), 0, None, *ready, again)


def _ready_after(action: Action) -> tuple[int, int] | tuple[None, None]:
    """Return how many queries are up to the frontier, and would be after an action; None if it takes none away."""
    if action.verb == "withdraw":
        return sample_without(action.campaign, Query.objects.filter(pk__in=action.rows.values("row")), withdrawn=True)
    if verb_of(action).size:
        return sample_without(action.campaign, Query.objects.filter(pk__in=action.rows.values("row"), closed=True))
    if action.verb == "reopen":
        queries = Query.objects.filter(pk__in=_reopened_candidates(action).values("query"))
        return sample_without(action.campaign, queries)
    return None, None


def _to_be_reviewed(action: Action) -> tuple[int, int]:
    """Return to how many queries the verdict can be given, and how many candidates the second batches would hold."""
    waiting = Batch.objects.to_review().filter(query__in=action.rows.values("row")).select_related("query__campaign")
    verdict, size, found = REVIEWED_BY[action.verb], action.campaign.batch_size, recommendations(waiting)
    wanted = {batch: verdict or found[batch.pk].verdict for batch in waiting}
    given = {batch: each for batch, each in wanted.items() if each in found[batch.pk].possible}
    seconds = [batch for batch, each in given.items() if each == Review.Verdict.SECOND]
    return len(given), sum(min(batch.query.ranked, 2 * size) - size for batch in seconds)


def _to_be_reopened(action: Action) -> tuple[int, int]:
    """Return how many queries have something to reopen, and how many candidates."""
    found = _reopened_candidates(action).aggregate(queries=Count("query", distinct=True), candidates=Count("pk"))
    return found["queries"], found["candidates"]


def _reopened_candidates(action: Action) -> CandidateQuerySet:
    return finished(Candidate.objects.filter(query__in=action.rows.values("row")))


def _contested_share(campaign: Campaign) -> float:
    sums = campaign.queries.pool().aggregate(contested=Sum("contested"), pairs=Sum("pairs"))
    return sums["contested"] / sums["pairs"] if sums["pairs"] else 0.0
