"""The cost of reopening, before it is done: how much is judged again, how long it takes, and who can judge it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Count, Q

from campaigns.models import Campaign, Membership
from judging.models import Candidate, Flag, Judgement
from judging.models.pool import ANNOTATORS
from judging.review.reopening import Scope
from judging.review.reviewing import Part
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
    progress = current_summary(campaign, PROGRESS).counts
    judged, able = ANNOTATORS * len(parts) + again.count(), _able(campaign)
    left = [len(able - judges[part]) for part in set(parts.values())]
    return Cost(
        candidates=len(parts),
        batches=len(left),
        # A place is in a round under way, where nothing of the scope is: no judgement is counted twice.
        judgements=counted + Judgement.objects.filter(assignment__in=scope.assignments).count(),
        places=scope.assignments.count(),
        hours=judged * progress["mean"] / 3600 if progress and progress["mean"] else None,
        stuck=sum(n < ANNOTATORS for n in left),
        tight=sum(ANNOTATORS <= n < 2 * ANNOTATORS for n in left),
    )


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
