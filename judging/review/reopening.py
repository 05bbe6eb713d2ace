"""Putting right: a candidate, a batch or all of somebody's work is judged again, by others.

Reopened candidates move into one more edition of their batch. What was said of them before keeps its rows and loses
its seats, so it counts no longer; whoever said it is not asked again.

A candidate or a batch is reopened at once. The work of somebody can be thousands of batches: a job reopens it, one
query after the other, so that nobody waits for more than one of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import F, Q, QuerySet

from base.errors import WrongState
from base.transactions import all_or_nothing
from campaigns.models.membership import Membership
from jobs.models import Job
from jobs.registry import Report
from judging.models.assignment import Assignment, AssignmentQuerySet
from judging.models.judgement import Flag, Judgement
from judging.models.pool import CLAIMED, Batch, Candidate, CandidateQuerySet, Query
from judging.models.review import Adjudication, Reopening, Review
from judging.pool.clips import prepare
from judging.review.reviewing import note_closed

REOPEN = "reopen work"  # the kind of job
LONGEST = 200  # characters of what is kept on record as reopened
DONE = (Batch.State.SETTLED, Batch.State.REVIEWED)


@dataclass(frozen=True)
class Scope:
    """What is to be judged again: in words, as candidates, and as places in batches that are still in work."""

    what: str
    candidates: CandidateQuerySet
    places: AssignmentQuerySet

    @property
    def queries(self) -> list[int]:
        """The keys of the queries that it touches."""
        begun = self.candidates.order_by().values_list("query_id", flat=True).distinct()
        left = self.places.order_by().values_list("batch__query_id", flat=True).distinct()
        return sorted({*begun, *left})


def of_candidate(candidate: Candidate) -> Scope:
    what = f"rank {candidate.rank} of “{candidate.query.text}”"
    return _finished(what, Candidate.objects.filter(pk=candidate.pk))


def of_batch(batch: Batch) -> Scope:
    return _finished(str(batch), batch.whole)


def _finished(what: str, candidates: CandidateQuerySet) -> Scope:
    finished = candidates.filter(batch__state__in=DONE, batch__kind__in=CLAIMED, query__withdrawn=None)
    return Scope(what, finished, Assignment.objects.none())


def of_work(annotator: Membership, query: int | None = None) -> Scope:
    """All that the annotator said, of one query or of all, and that counts, or would once her batches are settled.

    Where a round is under way she loses her place in it. Where she judged in round one and round two is under way,
    that round rests on her grades, so the whole batch begins anew.
    """
    said = annotator.judgements.filter(seat__isnull=False).order_by()
    here = annotator.assignments.submitted()
    flagged = Flag.objects.filter(assignment__in=here, assignment__batch=F("candidate__batch"))
    candidates = Candidate.objects.filter(batch__kind__in=CLAIMED, query__withdrawn=None)
    places = annotator.assignments.holding().filter(slot__isnull=False, batch__state=Batch.State.OPEN)
    places = places.filter(round=F("batch__round"), batch__query__withdrawn=None)
    if query is not None:  # in each part: else each part is found for all queries, to be thrown away
        said, flagged = said.filter(candidate__query=query), flagged.filter(candidate__query=query)
        here, places = here.filter(batch__query=query), places.filter(batch__query=query)
        candidates = candidates.filter(query=query)
    # By keys, each found by an index: a join of everything would go through the whole campaign.
    hers = Q(pk__in=said.values("candidate")) | Q(pk__in=flagged.values("candidate"))
    finished = Q(batch__state__in=DONE) & hers
    begun = Q(batch__state=Batch.State.OPEN, batch__round=2, batch__in=here.filter(round=1).values("batch"))
    return Scope(f"all work of worker {annotator.worker}", candidates.filter(finished | begun), places)


@all_or_nothing
def reopen(lead: Membership, scope: Scope, reason: str) -> Reopening:
    """Have a candidate or a batch judged again by others. Where nothing of it is left to reopen, that is said."""
    record = Reopening.objects.create(
        campaign=lead.campaign, lead=lead, what=scope.what[:LONGEST], reason=reason
    )
    begun = [_begin_query_anew(record, scope, query) for query in scope.queries]
    if not any(begun):
        raise _nothing_left(scope)
    lead.campaign.touch()
    return record


@all_or_nothing
def reopen_work(lead: Membership, annotator: Membership, reason: str) -> Reopening:
    """Ask for all work of the annotator to be judged again by others."""
    scope = of_work(annotator)
    if any(
        job.state != Job.State.DONE
        for job in jobs_of(annotator.campaign.reopenings.filter(annotator=annotator))
    ):
        raise WrongState(
            f"{scope.what.capitalize()} is being reopened already; the desk shows how far it is."
        )
    if not scope.candidates.exists() and not scope.places.exists():
        raise _nothing_left(scope)
    record = Reopening.objects.create(
        campaign=lead.campaign, lead=lead, what=scope.what, reason=reason, annotator=annotator
    )
    Job.objects.ask(REOPEN, record.job_key, reopening=record.pk)
    return record


def jobs_of(reopenings: Iterable[Reopening]) -> QuerySet[Job]:
    """The jobs of those that are of somebody's work."""
    return Job.objects.filter(kind=REOPEN, key__in=[each.job_key for each in reopenings if each.annotator_id])


def carry_out(record: Reopening, report: Report) -> None:
    """Reopen somebody's work; begun again, it goes on with the queries that are left."""
    assert record.annotator
    queries = of_work(record.annotator).queries
    for number, query in enumerate(queries):
        report(number, len(queries), record.what)
        _begin_query_anew(record, of_work(record.annotator, query), query)
    record.campaign.touch()
    report(len(queries), len(queries), record.what)


def _nothing_left(scope: Scope) -> WrongState:
    return WrongState(
        f"Nothing of {scope.what} can be reopened: it was reopened before, or is being judged now."
    )


@all_or_nothing
def _begin_query_anew(record: Reopening, scope: Scope, query: int) -> bool:
    """What of the scope belongs to the query; says whether there was anything."""
    Query.objects.filter(pk=query).hold()
    # Asked now that nobody changes them.
    candidates = list(scope.candidates.filter(query=query).select_related("batch"))
    places = list(scope.places.filter(batch__query=query))
    _free(places, record)
    parts: dict[int, list[Candidate]] = defaultdict(list)
    for candidate in candidates:
        assert candidate.batch
        parts[candidate.batch.number].append(candidate)
    for some in parts.values():
        _begin_anew(some, record)
    return bool(candidates or places)


def _free(places: Iterable[Assignment], record: Reopening) -> None:
    """Take places of a round away: what was said there never counts, and others take them."""
    for place in places:
        place.give_back()
        Judgement.objects.filter(assignment=place).update(seat=None, reopening=record)


def _begin_anew(candidates: list[Candidate], record: Reopening) -> None:
    """Move candidates of one query and number into an edition of their own, with nothing said that counts."""
    old, rows = candidates[0].batch, Candidate.objects.filter(pk__in=[each.pk for each in candidates])
    assert old
    _free(Assignment.objects.live().filter(batch__candidates__in=rows).distinct(), record)
    Judgement.objects.filter(candidate__in=rows, seat__isnull=False).update(seat=None, reopening=record)
    Flag.objects.filter(candidate__in=rows).handle(record.lead)
    Adjudication.objects.filter(candidate__in=rows).undo(record.lead)
    Review.objects.filter(batch__in=old.editions).undo(record.lead)
    fresh = Batch(query=old.query, number=old.number, kind=old.kind, edition=old.newest.edition + 1)
    fresh.save()
    rows.update(batch=fresh, outcome=Candidate.Outcome.OPEN, grade=None, escalated=False, rule="")
    old.editions.filter(state=Batch.State.REVIEWED).update(state=Batch.State.SETTLED)
    old.editions.filter(candidates__isnull=True).update(state=Batch.State.REPLACED)
    note_closed(old.query)
    prepare(fresh)
