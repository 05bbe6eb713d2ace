"""Reopening: other annotators judge a candidate, a batch or all work of one annotator again.

Reopened candidates move into a new edition of their batch. Their earlier judgements are kept but lose their seats, so
that they do not count any more. Annotators who judged a candidate before do not get it again.

A candidate or a batch is reopened at once. All work of one annotator can be thousands of batches, so a job reopens it
query by query, and others wait for one query at most.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import F, Q

from base.errors import WrongState
from base.transactions import all_or_nothing
from campaigns.models.membership import Membership
from jobs.queue import Lane
from jobs.registry import Report, kind
from judging.models.assignment import Assignment, AssignmentQuerySet
from judging.models.judgement import Flag, Judgement
from judging.models.pool import Batch, Candidate, CandidateQuerySet, Query
from judging.models.review import Adjudication, Reopening, Review
from judging.models.states import CLAIMED
from judging.pool.clips import prepare
from judging.review.reviewing import note_closed
from judging.summaries import summarize

LONGEST = 200  # characters of the description of what was reopened
DONE = (Batch.State.SETTLED, Batch.State.REVIEWED)


@dataclass(frozen=True)
class Scope:
    """What is to be judged again."""

    what: str  # a description for people
    candidates: CandidateQuerySet
    assignments: AssignmentQuerySet  # those to end, in rounds that are under way
    annotator: Membership | None = None  # whose work it is, if it is that of one

    @property
    def queries(self) -> list[int]:
        """The primary keys of the queries concerned.

        Assignments are read first: one that is submitted meanwhile is found among the candidates then.
        """
        of_assignments = self.assignments.order_by().values_list("batch__query_id", flat=True).distinct()
        of_candidates = self.candidates.order_by().values_list("query_id", flat=True).distinct()
        return sorted({*of_assignments, *of_candidates})


def scope_of_candidate(candidate: Candidate) -> Scope:
    what = f"rank {candidate.rank} of “{candidate.query.text}”"
    return _finished(what, Candidate.objects.filter(pk=candidate.pk))


def scope_of_batch(batch: Batch) -> Scope:
    return _finished(str(batch), batch.candidates_of_editions)


def _finished(what: str, candidates: CandidateQuerySet) -> Scope:
    finished = candidates.filter(batch__state__in=DONE, batch__kind__in=CLAIMED, query__withdrawn=None)
    return Scope(what, finished, Assignment.objects.none())


def scope_of_annotator(annotator: Membership, query: int | None = None) -> Scope:
    """Return all work of the annotator that counts, or will count when its batches are settled.

    With `query`, a primary key, it is the work on that query only. In a round that is under way the annotator's
    assignment ends. If round two is under way and the annotator judged in round one, the whole batch begins anew,
    because round two depends on round one's grades.
    """
    judged = annotator.judgements.filter(seat__isnull=False).order_by()
    submitted = annotator.assignments.submitted()
    flagged = Flag.objects.filter(assignment__in=submitted, assignment__batch=F("candidate__batch"))
    begun = Batch.objects.filter(state=Batch.State.OPEN, round=2)
    begun = begun.filter(pk__in=submitted.filter(round=1).values("batch"))
    in_round_two = Candidate.objects.filter(batch__in=begun)
    to_end = annotator.assignments.not_lapsed().filter(slot__isnull=False, batch__state=Batch.State.OPEN)
    to_end = to_end.filter(round=F("batch__round"), batch__query__withdrawn=None)
    if query is not None:
        judged, flagged = judged.filter(candidate__query=query), flagged.filter(candidate__query=query)
        in_round_two, to_end = in_round_two.filter(query=query), to_end.filter(batch__query=query)
    # The union is made from the annotator's own rows. With OR the database would ask this of every candidate it has.
    keys = judged.values("candidate").union(flagged.values("candidate"), in_round_two.values("pk"))
    candidates = Candidate.objects.filter(pk__in=keys, batch__kind__in=CLAIMED, query__withdrawn=None)
    candidates = candidates.filter(Q(batch__state__in=DONE) | Q(batch__in=begun))
    return Scope(f"all work of worker {annotator.worker}", candidates, to_end, annotator)


@all_or_nothing
def reopen(lead: Membership, scope: Scope, reason: str) -> Reopening:
    """Have something judged again by others: at once, or by a job if it is all work of an annotator.

    Raise WrongState if nothing of it can be reopened, because it was reopened before or is being judged now.
    """
    if scope.annotator:
        return reopen_all_of(lead, scope.annotator, reason)
    record = Reopening.objects.create(campaign=lead.campaign, lead=lead, what=scope.what[:LONGEST], reason=reason)
    reopened = [_reopen_query(record, scope, query) for query in scope.queries]
    if not any(reopened):
        raise _nothing_left(scope)
    lead.campaign.touch()
    return record


@all_or_nothing
def reopen_all_of(lead: Membership, annotator: Membership, reason: str) -> Reopening:
    """Ask for a job that has all work of the annotator judged again by others.

    Raise WrongState if such a job is unfinished, or nothing can be reopened.
    """
    scope = scope_of_annotator(annotator)
    if reopen_work.jobs(Reopening.objects.filter(annotator=annotator)).not_done().exists():
        raise WrongState(f"{scope.what.capitalize()} is being reopened already; the desk shows how far it is.")
    if not scope.assignments.exists() and not scope.candidates.exists():  # in this order, as for `queries`
        raise _nothing_left(scope)
    record = Reopening.objects.create(
        campaign=lead.campaign, lead=lead, what=scope.what, reason=reason, annotator=annotator
    )
    reopen_work.ask(record)
    return record


@kind(
    "reopen-work",
    "Reopen work",
    lane=Lane.JUDGING,
    of=Reopening,
    owner="campaign",
    page=("reopenings", "campaign.name"),
)
def reopen_work(record: Reopening, report: Report) -> None:
    """Reopen all work of the record's annotator. Run again, it goes on with the queries that are left."""
    assert record.annotator
    queries = scope_of_annotator(record.annotator).queries
    for number, query in enumerate(queries):
        report(number, len(queries), record.what)
        _reopen_query(record, scope_of_annotator(record.annotator, query), query)
    record.campaign.touch()
    report(len(queries), len(queries), record.what)


def _nothing_left(scope: Scope) -> WrongState:
    return WrongState(f"Nothing of {scope.what} can be reopened: it was reopened before, or is being judged now.")


@all_or_nothing
def _reopen_query(record: Reopening, scope: Scope, query: int) -> bool:
    """Reopen the part of the scope that belongs to the query. Return False if there is none."""
    Query.objects.filter(pk=query).lock_with_batches()
    # Read after locking, so that nobody changes them meanwhile.
    candidates = list(scope.candidates.filter(query=query).select_related("batch"))
    assignments = list(scope.assignments.filter(batch__query=query))
    _end(assignments, record)
    by_number: dict[int, list[Candidate]] = defaultdict(list)
    for candidate in candidates:
        assert candidate.batch
        by_number[candidate.batch.number].append(candidate)
    for of_batch in by_number.values():
        _move_into_new_edition(of_batch, record)
    return bool(candidates or assignments)


def _end(assignments: Iterable[Assignment], record: Reopening) -> None:
    """End assignments of a round, so that their judgements never count and others can take the slots."""
    for assignment in assignments:
        assignment.give_back()
        Judgement.objects.filter(assignment=assignment).update(seat=None, reopening=record)


def _move_into_new_edition(candidates: list[Candidate], record: Reopening) -> None:
    """Move candidates of one batch into a new edition, where no earlier judgement counts."""
    old, rows = candidates[0].batch, Candidate.objects.filter(pk__in=[each.pk for each in candidates])
    assert old
    _end(Assignment.objects.live().filter(batch__candidates__in=rows).distinct(), record)
    Judgement.objects.filter(candidate__in=rows, seat__isnull=False).update(seat=None, reopening=record)
    Flag.objects.filter(candidate__in=rows).handle(record.lead)
    Adjudication.objects.filter(candidate__in=rows).undo(record.lead)
    Review.objects.filter(batch__in=old.editions).undo(record.lead)
    edition = old.newest_edition.edition + 1
    new = Batch.of(old.query, old.number, edition=edition, further=old.further, begun=True)
    new.save()
    rows.update(batch=new, outcome=Candidate.Outcome.OPEN, grade=None, escalated=False, rule="")
    old.editions.filter(state=Batch.State.REVIEWED).update(state=Batch.State.SETTLED)
    old.editions.filter(candidates__isnull=True).update(state=Batch.State.REPLACED)
    note_closed(old.query)
    summarize([old.query_id])
    prepare(new)
