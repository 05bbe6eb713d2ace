"""The audit: the invariants of a campaign, checked on its rows. Each check yields what breaks it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from django.db import models
from django.db.models import Count, Exists, F, Max, OuterRef, Q, Subquery

from campaigns.models import Campaign
from jobs.models import Job
from judging.consensus import RULE
from judging.models import Adjudication, Assignment, Batch, Candidate, Judgement, Kind, Review, Revision
from judging.models.pool import ANNOTATORS
from judging.pool.clips import CUT_CLIPS
from judging.review.adjudicating import ADJUDICATED

Findings = Iterator[str]


@dataclass(frozen=True)
class Invariant:
    number: int
    says: str
    check: Callable[[Campaign], Findings]


def audit(campaign: Campaign) -> dict[Invariant, list[str]]:
    """Every invariant with what breaks it: empty lists when all is well.

    Of imported ratings only the outcomes can be checked: how they were made is what it was.
    """
    invariants = INVARIANTS_OF_IMPORTED if campaign.imported else INVARIANTS
    return {invariant: list(invariant.check(campaign)) for invariant in invariants}


def nothing_lost(campaign: Campaign) -> Findings:
    submitted = Assignment.objects.submitted().filter(batch__query__campaign=campaign)
    for assignment in submitted.exclude(batch__kind=Kind.EXAM):
        if missing := assignment.unanswered():
            yield f"assignment {assignment.pk} was submitted, but positions {missing} have neither grade nor flag"
    yield from _exam_lost(submitted.filter(batch__kind=Kind.EXAM))
    judgements = _judgements(campaign).annotate(last=Max("revisions__number"))
    for judgement in judgements.filter(last__isnull=True):
        yield f"judgement {judgement.pk} has no revision"
    revisions = _revisions(campaign).order_by("judgement", "number")
    newest = dict(revisions.values_list("judgement", "grade"))  # the last of each judgement stays
    for judgement in judgements.filter(last__isnull=False):
        if newest[judgement.pk] != judgement.grade:
            yield f"judgement {judgement.pk} says {judgement.grade}, its last revision {newest[judgement.pk]}"


def _exam_lost(submitted: models.QuerySet[Assignment]) -> Findings:
    """In later rounds an exam hands out only what came back, but everything was answered in the first."""
    for assignment in submitted:
        said = Q(judgements__assignment=assignment) | Q(flags__in=assignment.flags.all())
        if missing := assignment.batch.candidates.exclude(pk__in=Candidate.objects.filter(said)).count():
            yield f"assignment {assignment.pk} was submitted, but {missing} pairs have neither grade nor flag"


def two_a_round(campaign: Campaign) -> Findings:
    placed = Q(slot__isnull=False)  # exams and checks take no place
    holding = Assignment.objects.holding().filter(placed, batch__query__campaign=campaign)
    places = holding.values_list("batch", "round").annotate(n=Count("pk")).filter(n__gt=ANNOTATORS)
    for pk, number, n in places:
        yield f"batch {pk} has {n} assignments in round {number}"
    here = Q(assignments__round=F("round"), assignments__slot__isnull=False) & ~Q(assignments__state="lapsed")
    wrong = (
        Batch.objects.in_campaign(campaign)
        .annotate(held=Count("assignments", filter=here))
        .exclude(taken=F("held"))
    )
    for pk, taken, held in wrong.values_list("pk", "taken", "held"):
        yield f"batch {pk} counts {taken} places as taken; {held} are"
    counted = _judgements(campaign).filter(seat__isnull=False)
    many = counted.order_by().values_list("candidate").annotate(n=Count("pk")).filter(n__gt=2 * ANNOTATORS)
    for pk, n in many:
        yield f"candidate {pk} has {n} counted judgements"
    for judgement in counted.select_related("assignment"):
        if judgement.seat != judgement.assignment.seat:
            yield f"judgement {judgement.pk} sits in seat {judgement.seat}, its assignment in another"
    for judgement in counted.filter(reopening__isnull=False):
        yield f"judgement {judgement.pk} counts, although its candidate was reopened"


def nobody_twice(campaign: Campaign) -> Findings:
    pairs = _judgements(campaign).order_by().values("candidate", "annotator__user").annotate(n=Count("pk"))
    for row in pairs.filter(n__gt=1):
        yield f"candidate {row['candidate']} was judged {row['n']} times by one person"
    for judgement in _judgements(campaign).exclude(annotator=F("assignment__annotator")):
        yield f"judgement {judgement.pk} is not by the annotator of its assignment"
    for judgement in _judgements(campaign).filter(_elsewhere()):
        yield f"judgement {judgement.pk} is of a candidate that its assignment does not hold"
    stayed = _judgements(campaign).filter(reopening__isnull=False, candidate__batch=F("assignment__batch"))
    for judgement in stayed.exclude(assignment__state="lapsed"):
        yield f"judgement {judgement.pk} was reopened, but nobody else can judge its candidate"


def _elsewhere() -> Q:
    """Of a candidate in another batch, unless that is a later edition of the same and nothing counts there."""
    other = ~Q(candidate__batch=F("assignment__batch"))
    same = Q(
        candidate__batch__query=F("assignment__batch__query"),
        candidate__batch__number=F("assignment__batch__number"),
        candidate__batch__edition__gt=F("assignment__batch__edition"),
    )
    return other & ~(same & Q(seat__isnull=True))


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
    for candidate in rows.exclude(outcome="adjudicated").iterator(chunk_size=2000):
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
    rounds = rounds if candidate.escalated else 1
    return _outcome_of(candidate, rounds, final=False)


def _outcome_of(candidate: Candidate, rounds: int, *, final: bool) -> tuple[str, int | None]:
    """The outcome and the grade that the candidate's counted judgements come to."""
    fresh = Candidate(query=candidate.query, escalated=candidate.escalated)
    fresh.settle(rounds, candidate.counted_grades(rounds), final=final)
    return fresh.outcome, fresh.grade


def same_imported_consensus(campaign: Campaign) -> Findings:
    rows = (
        Candidate.objects.in_pool(campaign).select_related("query__campaign").prefetch_related("judgements")
    )
    for candidate in rows.iterator(chunk_size=2000):
        stored, right = (candidate.outcome, candidate.grade), _outcome_of(candidate, 2, final=True)
        if candidate.outcome != Candidate.Outcome.ADJUDICATED and stored != right:
            yield f"candidate {candidate.pk} is stored as {stored}; its judgements say {right}"


def leads_word(campaign: Campaign) -> Findings:
    yield from _reviews(campaign)
    yield from _editions(campaign)
    yield from _adjudications(campaign)
    live = Assignment.objects.live().filter(batch__query__campaign=campaign)
    for assignment in live.filter(batch__query__withdrawn__isnull=False):
        yield f"assignment {assignment.pk} is live, but its query is withdrawn"


def _reviews(campaign: Campaign) -> Findings:
    reviews = Review.objects.holding().filter(batch__query__campaign=campaign)
    for review in reviews.exclude(batch__state="reviewed"):
        yield f"review {review.pk} holds, but its batch is {review.batch.state}"
    parts = {(review.batch.query_id, review.batch.number) for review in reviews.select_related("batch")}
    for batch in Batch.objects.in_campaign(campaign).filter(state="reviewed"):
        if (batch.query_id, batch.number) not in parts:
            yield f"batch {batch.pk} is reviewed, but no review of it holds"
    closing = Review.objects.holding().filter(batch__query=OuterRef("pk"), verdict=Review.Verdict.CLOSE)
    for query in campaign.queries.annotate(verdict=Exists(closing)).exclude(closed=F("verdict")):
        yield f"query {query.pk} is {'closed' if query.closed else 'not closed'}, against its reviews"


def _editions(campaign: Campaign) -> Findings:
    batches = Batch.objects.in_campaign(campaign).annotate(n=Count("candidates"))
    wrong = batches.filter(Q(state="replaced", n__gt=0) | ~Q(state="replaced") & Q(n=0))
    for pk, state, n in wrong.values_list("pk", "state", "n"):
        yield f"batch {pk} is {state}, and holds {n} candidates"
    later = Batch.objects.filter(query=OuterRef("query"), number=OuterRef("number")).unfinished()
    for batch in batches.filter(Exists(later), state="reviewed"):
        yield f"batch {batch.pk} is reviewed, but another edition of it is not settled"


def _adjudications(campaign: Campaign) -> Findings:
    grade = Adjudication.objects.holding().filter(candidate=OuterRef("pk")).values("grade")
    rows = Candidate.objects.in_campaign(campaign).annotate(said=Subquery(grade))
    otherwise = Q(said__isnull=True) | ~Q(grade=F("said")) | ~Q(rule=ADJUDICATED)
    wrong = rows.filter(otherwise, outcome="adjudicated")
    wrong |= rows.filter(said__isnull=False).exclude(outcome="adjudicated")
    for pk, outcome, stored, said in wrong.values_list("pk", "outcome", "grade", "said"):
        yield f"candidate {pk} is {outcome} with {stored}; the lead's word is {said}"
    rows = rows.select_related("query__campaign", "batch").prefetch_related("judgements")
    for candidate in rows.filter(outcome="adjudicated", batch__isnull=False):
        if _recomputed(candidate)[0] == Candidate.Outcome.SETTLED:
            yield f"candidate {candidate.pk} is adjudicated, but its annotators agree"


INVARIANTS = [
    Invariant(1, "No acknowledged judgement is lost", nothing_lost),
    Invariant(2, "Two annotators a round, at most four judgements of a candidate", two_a_round),
    Invariant(3, "Nobody judges a candidate twice", nobody_twice),
    Invariant(4, "No stale lease has written", nothing_stale),
    Invariant(5, "Every open batch can be claimed or is leased", no_starvation),
    Invariant(6, "Judgements are append-only", append_only),
    Invariant(8, "The same judgements give the same consensus", same_consensus),
    Invariant(12, "The lead's word holds until it is undone, and is no consensus", leads_word),
]


INVARIANTS_OF_IMPORTED = [
    Invariant(8, "The same judgements give the same consensus", same_imported_consensus)
]


def _judgements(campaign: Campaign) -> models.QuerySet[Judgement]:
    return Judgement.objects.filter(candidate__query__campaign=campaign)


def _revisions(campaign: Campaign) -> models.QuerySet[Revision]:
    return Revision.objects.filter(judgement__candidate__query__campaign=campaign)
