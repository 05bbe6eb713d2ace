"""What reopening comes to, said before it is done: how much is judged again, how long, and whether anybody can."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Count, Q

from judging.models import Campaign, Candidate, Flag, Judgement, Membership
from judging.models.pool import ANNOTATORS, CandidateQuerySet
from judging.recommending import Part
from judging.reopening import Scope
from judging.statistics.summaries import PROGRESS, kept

PART = ("query_id", "batch__number")


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
    rows = scope.candidates.order_by()
    said, counted = _said(rows)
    parts = {(query, number): n for query, number, n in rows.values_list(*PART).annotate(n=Count("pk"))}
    for query, number, annotator in _flagged(campaign, rows):
        said[query, number].add(annotator)
    again = Candidate.objects.filter(batch__assignments__in=scope.places)
    again = again.filter(Q(batch__round=1) | Q(escalated=True))
    progress = kept(campaign, PROGRESS).counts
    candidates, able = sum(parts.values()), _able(campaign)
    judged = ANNOTATORS * candidates + again.count()
    left = [len(able - said[part]) for part in parts]
    return Cost(
        candidates=candidates,
        batches=len(parts),
        # A place is in a round under way, where nothing of the scope is: no judgement is counted twice.
        judgements=counted + Judgement.objects.filter(assignment__in=scope.places).count(),
        places=scope.places.count(),
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


def _said(rows: CandidateQuerySet) -> tuple[dict[Part, set[int]], int]:
    """Who judged something in each batch that would begin anew; and how many judgements count there."""
    said: dict[Part, set[int]] = defaultdict(set)
    counted = 0
    judged = rows.values_list(*PART, "judgements__annotator").annotate(seated=Count("judgements__seat"))
    for query, number, annotator, seated in judged:
        said[query, number].add(annotator)
        counted += seated
    return said, counted


def _flagged(campaign: Campaign, rows: CandidateQuerySet) -> Iterable[tuple[int, int, int]]:
    """Who flagged something in each batch that would begin anew."""
    flags = Flag.objects.filter(assignment__annotator__campaign=campaign)
    by = list(flags.values_list("candidate", "assignment__annotator"))
    parts = {pk: part for pk, *part in rows.filter(pk__in={pk for pk, _ in by}).values_list("pk", *PART)}
    return [(*parts[pk], annotator) for pk, annotator in by if pk in parts]
