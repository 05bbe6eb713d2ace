"""The audit: the invariants of a campaign, checked on its rows. Each check yields what breaks it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from django.db import models
from django.db.models import Count, F, Max, Q

from jobs.models import Job
from judging.consensus import RULE
from judging.models import Assignment, Batch, Campaign, Candidate, Judgement, Revision
from judging.models.pool import ANNOTATORS
from judging.preparing import CUT_CLIPS

Findings = Iterator[str]


@dataclass(frozen=True)
class Invariant:
    number: int
    says: str
    check: Callable[[Campaign], Findings]


def audit(campaign: Campaign) -> dict[Invariant, list[str]]:
    """Every invariant with what breaks it: empty lists when all is well."""
    return {invariant: list(invariant.check(campaign)) for invariant in INVARIANTS}


def nothing_lost(campaign: Campaign) -> Findings:
    for assignment in Assignment.objects.submitted().filter(batch__query__campaign=campaign):
        if missing := assignment.unanswered():
            yield f"assignment {assignment.pk} was submitted, but positions {missing} have neither grade nor flag"
    judgements = _judgements(campaign).annotate(last=Max("revisions__number"))
    for judgement in judgements.filter(last__isnull=True):
        yield f"judgement {judgement.pk} has no revision"
    revisions = _revisions(campaign).order_by("judgement", "number")
    newest = dict(revisions.values_list("judgement", "grade"))  # the last of each judgement stays
    for judgement in judgements.filter(last__isnull=False):
        if newest[judgement.pk] != judgement.grade:
            yield f"judgement {judgement.pk} says {judgement.grade}, its last revision {newest[judgement.pk]}"


def two_a_round(campaign: Campaign) -> Findings:
    holding = Assignment.objects.holding().filter(batch__query__campaign=campaign)
    places = holding.values_list("batch", "round").annotate(n=Count("pk")).filter(n__gt=ANNOTATORS)
    for pk, number, n in places:
        yield f"batch {pk} has {n} assignments in round {number}"
    here = Count("assignments", filter=Q(assignments__round=F("round")) & ~Q(assignments__state="lapsed"))
    wrong = Batch.objects.in_campaign(campaign).annotate(held=here).exclude(taken=F("held"))
    for pk, taken, held in wrong.values_list("pk", "taken", "held"):
        yield f"batch {pk} counts {taken} places as taken; {held} are"
    counted = _judgements(campaign).filter(seat__isnull=False)
    many = counted.order_by().values_list("candidate").annotate(n=Count("pk")).filter(n__gt=2 * ANNOTATORS)
    for pk, n in many:
        yield f"candidate {pk} has {n} counted judgements"
    for judgement in counted.select_related("assignment"):
        if judgement.seat != judgement.assignment.seat:
            yield f"judgement {judgement.pk} sits in seat {judgement.seat}, its assignment in another"


def nobody_twice(campaign: Campaign) -> Findings:
    pairs = _judgements(campaign).order_by().values("candidate", "annotator__user").annotate(n=Count("pk"))
    for row in pairs.filter(n__gt=1):
        yield f"candidate {row['candidate']} was judged {row['n']} times by one person"
    for judgement in _judgements(campaign).exclude(annotator=F("assignment__annotator")):
        yield f"judgement {judgement.pk} is not by the annotator of its assignment"
    for judgement in _judgements(campaign).exclude(candidate__batch=F("assignment__batch")):
        yield f"judgement {judgement.pk} is of a candidate that its assignment does not hold"


def nothing_stale(campaign: Campaign) -> Findings:
    late = _revisions(campaign).filter(at__gt=F("judgement__assignment__submitted"))
    for revision in late:
        yield f"revision {revision.pk} was written after its assignment was submitted"
    for judgement in _judgements(campaign).filter(seat__isnull=False).exclude(assignment__state="submitted"):
        yield f"judgement {judgement.pk} counts, but its assignment is not submitted"


def no_starvation(campaign: Campaign) -> Findings:
    batches = Batch.objects.in_campaign(campaign)
    live = Count("assignments", filter=Q(assignments__state="live"))
    for batch in batches.filter(state="open", taken=ANNOTATORS).annotate(live=live).filter(live=0):
        yield f"batch {batch.pk} is open and full, but in nobody's hands"
    waiting = set(Job.objects.unfinished().filter(kind=CUT_CLIPS).values_list("key", flat=True))
    for batch in batches.filter(state="preparing"):
        if f"batch {batch.pk}" not in waiting:
            yield f"batch {batch.pk} waits for clips that no job is cutting"


def append_only(campaign: Campaign) -> Findings:
    numbers = _judgements(campaign).annotate(n=Count("revisions"), last=Max("revisions__number"))
    for judgement in numbers.exclude(n=F("last")):
        yield f"judgement {judgement.pk} has {judgement.n} revisions, numbered up to {judgement.last}"


def same_consensus(campaign: Campaign) -> Findings:
    rows = Candidate.objects.in_campaign(campaign).filter(batch__isnull=False)
    rows = rows.select_related("query__campaign", "batch").prefetch_related("judgements")
    for candidate in rows.iterator(chunk_size=2000):
        stored = (candidate.outcome, candidate.grade)
        if (right := _recomputed(candidate)) != stored:
            yield f"candidate {candidate.pk} is stored as {stored}; its judgements say {right}"
        if candidate.rule not in ("", RULE):
            yield f"candidate {candidate.pk} was settled by rule {candidate.rule}, not {RULE}"


def _recomputed(candidate: Candidate) -> tuple[str, int | None]:
    batch = candidate.batch
    assert batch is not None
    done = batch.state in (Batch.State.SETTLED, Batch.State.REVIEWED)
    rounds = batch.round if done else batch.round - 1
    if not rounds:
        return Candidate.Outcome.OPEN, None
    fresh = Candidate(query=candidate.query, escalated=candidate.escalated)
    rounds = rounds if candidate.escalated else 1
    fresh.settle(rounds, candidate.counted_grades(rounds))
    return fresh.outcome, fresh.grade


INVARIANTS = [
    Invariant(1, "No acknowledged judgement is lost", nothing_lost),
    Invariant(2, "Two annotators a round, at most four judgements of a candidate", two_a_round),
    Invariant(3, "Nobody judges a candidate twice", nobody_twice),
    Invariant(4, "No stale lease has written", nothing_stale),
    Invariant(5, "Every open batch can be claimed or is leased", no_starvation),
    Invariant(6, "Judgements are append-only", append_only),
    Invariant(8, "The same judgements give the same consensus", same_consensus),
]


def _judgements(campaign: Campaign) -> models.QuerySet[Judgement]:
    return Judgement.objects.filter(candidate__query__campaign=campaign)


def _revisions(campaign: Campaign) -> models.QuerySet[Revision]:
    return Revision.objects.filter(judgement__candidate__query__campaign=campaign)
