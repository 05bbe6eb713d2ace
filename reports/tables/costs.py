"""What something costs before it is done: reopening, and actions on many queries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Count, F, Q, Sum

from campaigns.models import Campaign, Membership
from judging.models import Action, Batch, Candidate, Flag, Judgement, Query, Review
from judging.models.pool import ANNOTATORS
from judging.review.reopening import Scope, finished
from judging.review.reviewing import recommendations
from judging.review.verbs import steering
from judging.summaries import Part
from reports.frontier import outlook
from reports.summaries import PROGRESS, current_summary


@dataclass(frozen=True)
class Cost:
    candidates: int
    batches: int
    judgements: int  # that count no longer
    places: int  # taken away from the annotator in batches that are still in work
    hours: float | None  # for two grades each; None where nobody's time is known
    stuck: int  # batches for which not even two annotators remain
    tight: int  # batches for which not four remain, so that what is contested could not settle

    @property
    def nothing(self) -> bool:
        return not self.candidates and not self.places


def cost_of(campaign: Campaign, scope: Scope) -> Cost:
    # The scope is a long question where it is somebody's whole work: asked twice, and not for each number.
    rows = scope.candidates.order_by().values_list("pk", "query_id", "batch__number")
    parts = {candidate: (query, number) for candidate, query, number in rows}
    judges, counted = _judged(scope)
    for candidate, annotator in _flags(campaign):
        if candidate in parts:
            judges[parts[candidate]].add(annotator)
    again = Candidate.objects.filter(batch__assignments__in=scope.assignments)
    again = again.filter(Q(batch__round=1) | Q(escalated=True))
    judged, able = ANNOTATORS * len(parts) + again.count(), _able(campaign)
    left = [len(able - judges[part]) for part in set(parts.values())]
    return Cost(
        candidates=len(parts),
        batches=len(left),
        # A place is in a round under way, where nothing of the scope is: no judgement is counted twice.
        judgements=counted + Judgement.objects.filter(assignment__in=scope.assignments).count(),
        places=scope.assignments.count(),
        hours=_hours(campaign, judged),
        stuck=sum(n < ANNOTATORS for n in left),
        tight=sum(ANNOTATORS <= n < 2 * ANNOTATORS for n in left),
    )


def _hours(campaign: Campaign, judgements: float) -> float | None:
    """Return how long so many judgements take at the campaign's pace; None while nobody's time is known."""
    progress = current_summary(campaign, PROGRESS).counts
    return judgements * progress["mean"] / 3600 if progress and progress["mean"] else None


def _able(campaign: Campaign) -> set[int]:
    """Who may judge."""
    people = campaign.memberships.annotators().filter(state=Membership.State.ACTIVE)
    if campaign.exam:
        people = people.filter(qualified__isnull=False)
    return set(people.values_list("pk", flat=True))


def _judged(scope: Scope) -> tuple[dict[Part, set[int]], int]:
    """Who judged something in each batch that would begin anew; and how many judgements count there."""
    judges: dict[Part, set[int]] = defaultdict(set)
    rows = scope.candidates.order_by().values_list("query_id", "batch__number", "judgements__annotator")
    counted = 0
    for query, number, annotator, seated in rows.annotate(seated=Count("judgements__seat")):
        judges[query, number].add(annotator)
        counted += seated
    return judges, counted


def _flags(campaign: Campaign) -> Iterable[tuple[int, int]]:
    """All candidates that were flagged, and by whom."""
    flags = Flag.objects.filter(assignment__annotator__campaign=campaign)
    return flags.values_list("candidate", "assignment__annotator")


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


def action_cost(action: Action) -> ActionCost:
    """Return the cost of an action as the queries are now: judgements to come, or that nobody needs any more.

    A candidate is judged twice, and if it is contested twice more: as large a share as in the campaign so far.
    """
    campaign = action.campaign
    if steered := steering(action):
        queries, apply = steered
        count, found = queries.count(), outlook(campaign, apply)
        return ActionCost(count, action.rows.count() - count, 0, None, None, found.number, found.reach)
    if action.verb in REVIEWED_BY:
        count, candidates = _to_be_reviewed(action)
    elif action.verb == "reopen":
        count, candidates = _to_be_reopened(action)
    else:
        back = action.verb == "bring_back"
        fits = Query.objects.filter(pk__in=action.rows.values("row"), withdrawn__isnull=not back)
        not_judged = fits.aggregate(sum=Sum(F("pairs") - F("settled") - F("discarded") - F("flagged")))["sum"] or 0
        count, candidates = fits.count(), not_judged if back else -not_judged
    judgements = candidates * ANNOTATORS * (1 + _contested_share(campaign))
    hours = _hours(campaign, judgements)
    pay = hours * float(campaign.hourly_rate) if hours is not None and campaign.hourly_rate is not None else None
    return ActionCost(count, action.rows.count() - count, round(judgements), hours, pay)


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
    rows = finished(Candidate.objects.filter(query__in=action.rows.values("row")))
    found = rows.aggregate(queries=Count("query", distinct=True), candidates=Count("pk"))
    return found["queries"], found["candidates"]


def _contested_share(campaign: Campaign) -> float:
    sums = campaign.queries.pool().aggregate(contested=Sum("contested"), pairs=Sum("pairs"))
    return sums["contested"] / sums["pairs"] if sums["pairs"] else 0.0
