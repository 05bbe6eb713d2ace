"""Who may judge a batch.

Nobody judges a candidate twice. Round two goes to people who said nothing about the batch in round one, because whoever
did would know the round. If nobody else is left, the campaign can let them return, and asks for their grades again.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.db.models.functions import Now

from campaigns.models import Membership
from judging.models.assignment import Assignment
from judging.models.judgement import Flag, Judgement
from judging.models.pool import Batch, BatchQuerySet, Candidate, CandidateQuerySet
from judging.models.states import AssignmentState, Kind

STUCK_AFTER = timedelta(days=1)  # that a contested batch finds nobody, or an exam is not marked


def claimable_by(annotator: Membership) -> Iterator[BatchQuerySet]:
    """Yield the batches with a free slot that the annotator may judge, in two parts.

    First come batches of queries that are new to the annotator, because a second batch of a query, coming after the
    first, tells that its ranks are lower. In each part the fullest come first. An index has the campaign's batches in
    this order, so that the first of a part is found without reading the others.
    """
    shut_out = _began_earlier(annotator, OuterRef("pk"), OuterRef("round"))
    if annotator.campaign.may_return:
        others = _annotators(_new_to(OuterRef("pk"), OuterRef(OuterRef("pk")), OuterRef(OuterRef("round"))))
        shut_out &= Q(Exists(others.filter(campaign=annotator.campaign_id).exclude(pk=annotator.pk)))
    free = with_free_slot().in_campaign(annotator.campaign).order_by("-round", "-taken", "pk")
    # One condition after the other: of a disjunction PostgreSQL would read all that the annotator ever did.
    free = free.exclude(_has(annotator, OuterRef("pk")))
    # The edition stands outside the subquery, so that PostgreSQL does not look for all later editions first.
    spoken_of = _spoke_of(annotator, Candidate.objects.filter(batch=OuterRef("pk")))
    free = free.exclude(Q(edition__gt=1) & Q(spoken_of))
    of_query = Batch.objects.filter(query=OuterRef("query"), assignments__annotator=annotator)
    known = Exists(of_query.exclude(pk=OuterRef("pk")))
    yield free.exclude(shut_out).exclude(known)
    yield free.exclude(shut_out).filter(known)


def without_annotators() -> BatchQuerySet:
    """Return the batches with a free slot that no annotator of their campaign may judge."""
    outer, round = OuterRef(OuterRef("pk")), OuterRef(OuterRef("round"))
    left = _annotators(_new_to(OuterRef("pk"), outer, round) | Q(campaign__may_return=True))
    left = left.filter(~_met(OuterRef("pk"), outer), campaign=OuterRef("campaign"))
    # Round one of a first edition is new to everybody.
    return with_free_slot().filter(Q(round__gt=1) | Q(edition__gt=1)).exclude(Exists(left))


def stuck_batches() -> BatchQuerySet:
    """Return the batches in round two with a free place, of which nobody has submitted anything for a day."""
    lately = Assignment.objects.filter(batch=OuterRef("pk"), submitted__gt=Now() - STUCK_AFTER)
    free = Batch.objects.filter(state=Batch.State.OPEN, round=2, taken__lt=2, query__withdrawn=None)
    return free.filter(~Exists(lately), kind=Kind.POOL)


def with_free_slot() -> BatchQuerySet:
    """Return the batches that somebody could judge now."""
    # Of `free=True` Django makes a bare column, which is no comparison for an index of SQLite.
    return Batch.objects.filter(free__in=[True], query__withdrawn__isnull=True)


def _annotators(condition: Q) -> QuerySet[Membership]:
    """Return the annotators who may get work at present and meet the condition."""
    active = Membership.objects.annotators().filter(state=Membership.State.ACTIVE)
    return active.filter(Q(campaign__exam=False) | Q(qualified__isnull=False), condition)


def _new_to(annotator: OuterRef, batch: OuterRef, round: OuterRef) -> Q:
    return ~_met(annotator, batch) & ~_began_earlier(annotator, batch, round)


def _met(annotator: Membership | OuterRef, batch: OuterRef) -> Q:
    """Whether the annotator holds or has submitted the batch, or spoke of its candidates in an earlier edition."""
    of_later_edition = Candidate.objects.filter(batch=batch, batch__edition__gt=1)
    return Q(_has(annotator, batch)) | Q(_spoke_of(annotator, of_later_edition))


def _has(annotator: Membership | OuterRef, batch: OuterRef) -> Exists:
    """Whether the annotator holds or has submitted the batch."""
    reopened = Judgement.objects.filter(assignment=OuterRef("pk"), reopening__isnull=False)
    done = ~Q(state=AssignmentState.LAPSED) | Q(submitted__isnull=False) | Exists(reopened)
    return Exists(Assignment.objects.filter(done, annotator=annotator, batch=batch))


def _spoke_of(annotator: Membership | OuterRef, candidates: CandidateQuerySet) -> Exists:
    """Whether the annotator spoke of one of the candidates in an earlier edition of their batch."""
    # From each candidate to the annotator's judgement of it: the other way round the database would read all that the
    # annotator ever judged, for each batch.
    annotator = OuterRef(annotator) if isinstance(annotator, OuterRef) else annotator
    elsewhere = ~Q(assignment__batch=F("candidate__batch"))
    judged = Judgement.objects.filter(elsewhere, candidate=OuterRef("pk"), annotator=annotator)
    flagged = Flag.objects.filter(elsewhere, candidate=OuterRef("pk"), assignment__annotator=annotator)
    return Exists(candidates.filter(Exists(judged) | Exists(flagged)))


def _began_earlier(annotator: Membership | OuterRef, batch: OuterRef, round: OuterRef) -> Q:
    """Whether the annotator graded or flagged a candidate in an earlier round of the batch."""
    graded = Judgement.objects.filter(assignment=OuterRef("pk"))
    flagged = Flag.recorded.filter(assignment=OuterRef("pk"))
    earlier = Assignment.objects.filter(annotator=annotator, batch=batch, round__lt=round)
    return Q(Exists(earlier.filter(Exists(graded) | Exists(flagged))))
