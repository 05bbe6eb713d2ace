"""Reopening query by query: other annotators judge a candidate, a batch, a query or work of one annotator again.

Reopened candidates move into a new edition of their batch. Their earlier judgements are kept but lose their seats, so
that they do not count any more. Annotators who judged a candidate before do not get it again.

Each reopening is an action (`judging/review/actions.py`), which can be undone. What somebody has begun to judge again
stays, query by query.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import Case, Exists, F, OuterRef, Q, QuerySet, When

from base.dates import week_bounds
from base.errors import WrongState
from base.transactions import all_or_nothing
from campaigns.models import Campaign, Membership
from judging.models.assignment import Assignment, AssignmentQuerySet
from judging.models.judgement import PARTNERS, Flag, Judgement
from judging.models.pool import Batch, Candidate, CandidateQuerySet, Query
from judging.models.review import Adjudication, Reopening, ReusedGrade, Review
from judging.models.states import CLAIMED
from judging.pool.clips import prepare
from judging.pool.opening import REUSED
from judging.review.reviewing import note_closed
from judging.summaries import summarize

DONE = (Batch.State.SETTLED, Batch.State.REVIEWED)
OFF_BY = 2  # grades
OFF = f"judgements that differ by {OFF_BY} or more from the consensus of a settled pair"
BEGUN = "Somebody has begun to judge it again, and what is judged there stays."
UNDER_WAY = "A round was under way there, and it stays ended."


@dataclass(frozen=True)
class WorkFilter:
    """Which part of an annotator's work is meant; all of it unless something else is named."""

    week: str = ""  # as 2026-W05, in which it was submitted
    beside: Membership | None = None  # the co-judge of the same round
    off: bool = False  # only what is OFF

    def __bool__(self) -> bool:
        return bool(self.week or self.beside or self.off)

    @property
    def words(self) -> str:
        week = f" in {self.week}" if self.week else ""
        beside = f" beside worker {self.beside.worker}" if self.beside else ""
        return f"{week}{beside}{', only what is off' if self.off else ''}"

    @property
    def name(self) -> str:
        week = f" week={self.week}" if self.week else ""
        beside = f" with={self.beside.worker}" if self.beside else ""
        return f"{week}{beside}{' off=on' if self.off else ''}"


ALL = WorkFilter()


@dataclass(frozen=True)
class ReopeningScope:
    """What is to be judged again."""

    what: str  # a description for people
    name: str  # by which `scope_named` finds it
    candidates: CandidateQuerySet
    assignments: AssignmentQuerySet  # those to end, in rounds that are under way
    annotator: Membership | None = None  # whose work it is, if it is that of one
    only: WorkFilter = ALL  # the part of it

    @property
    def queries(self) -> list[int]:
        """The primary keys of the queries concerned.

        Assignments are read first: one that is submitted meanwhile is found among the candidates then.
        """
        of_assignments = self.assignments.order_by().values_list("batch__query_id", flat=True).distinct()
        of_candidates = self.candidates.order_by().values_list("query_id", flat=True).distinct()
        return sorted({*of_assignments, *of_candidates})


def scope_of_candidate(candidate: Candidate) -> ReopeningScope:
    what = f"rank {candidate.rank} of “{candidate.query.text}”"
    return _finished(what, f"candidate {candidate.pk}", Candidate.objects.filter(pk=candidate.pk))


def scope_of_batch(batch: Batch) -> ReopeningScope:
    return _finished(str(batch), f"batch {batch.pk}", batch.candidates_of_editions)


def scope_of_query(query: Query) -> ReopeningScope:
    return _finished(f"“{query.text}”", f"query {query.pk}", Candidate.objects.filter(query=query))


def _finished(what: str, name: str, candidates: CandidateQuerySet) -> ReopeningScope:
    return ReopeningScope(what, name, finished(candidates), Assignment.objects.none())


def scope_named(campaign: Campaign, name: str) -> ReopeningScope:
    """Return the part of a campaign that has this name."""
    kind, number, *rest = name.split(" ")
    if kind == "worker":
        worker, part = campaign.memberships.get(worker=number), dict(each.split("=") for each in rest)
        beside = campaign.memberships.get(worker=part["with"]) if "with" in part else None
        return scope_of_annotator(worker, only=WorkFilter(part.get("week", ""), beside, "off" in part))
    if kind == "batch":
        return scope_of_batch(Batch.objects.in_campaign(campaign).select_related("query__campaign").get(pk=number))
    return scope_of_candidate(Candidate.objects.in_campaign(campaign).select_related("query").get(pk=number))


def finished(candidates: CandidateQuerySet) -> CandidateQuerySet:
    """Return those of the candidates that can be reopened because nobody judges them any more."""
    return candidates.filter(batch__state__in=DONE, batch__kind__in=CLAIMED, query__withdrawn=None)


def scope_of_annotator(
    annotator: Membership, queries: Collection[int] | None = None, only: WorkFilter = ALL
) -> ReopeningScope:
    """Return the work of the annotator that counts, or will count when its batches are settled; or a part of it.

    With `queries`, primary keys, it is the work on those queries only. In a round that is under way the annotator's
    assignment ends. If round two is under way and the annotator judged in round one, the whole batch begins anew,
    because round two depends on round one's grades. What is beside a co-judge, or off, is in finished batches only.
    """
    what = f"{'work' if only else 'all work'} of worker {annotator.worker}{only.words}"
    name = f"worker {annotator.worker}{only.name}"
    if only.beside or only.off:
        judged = _judged_in_part(annotator, only)
        judged = judged if queries is None else judged.filter(candidate__query__in=queries)
        scope = _finished(what, name, Candidate.objects.filter(pk__in=judged.values("candidate")))
        return replace(scope, annotator=annotator, only=only)
    judged = annotator.judgements.filter(seat__isnull=False).order_by()
    assignments = annotator.assignments.all()
    if only.week:
        judged, assignments = (
            judged.filter(**_of_week(only.week, "assignment__")),
            assignments.filter(**_of_week(only.week)),
        )
    submitted = assignments.submitted()
    flagged = Flag.objects.filter(assignment__in=submitted, assignment__batch=F("candidate__batch"))
    begun = Batch.objects.filter(state=Batch.State.OPEN, round=2)
    begun = begun.filter(pk__in=submitted.filter(round=1).values("batch"))
    in_round_two = Candidate.objects.filter(batch__in=begun)
    to_end = assignments.not_lapsed().filter(slot__isnull=False, batch__state=Batch.State.OPEN)
    to_end = to_end.filter(round=F("batch__round"), batch__query__withdrawn=None)
    if queries is not None:
        judged, flagged = judged.filter(candidate__query__in=queries), flagged.filter(candidate__query__in=queries)
        in_round_two, to_end = in_round_two.filter(query__in=queries), to_end.filter(batch__query__in=queries)
    # The union is made from the annotator's own rows. With OR the database would ask this of every candidate it has.
    keys = judged.values("candidate").union(flagged.values("candidate"), in_round_two.values("pk"))
    candidates = Candidate.objects.filter(pk__in=keys, batch__kind__in=CLAIMED, query__withdrawn=None)
    candidates = candidates.filter(Q(batch__state__in=DONE) | Q(batch__in=begun))
    return ReopeningScope(what, name, candidates, to_end, annotator, only)


def _of_week(week: str, prefix: str = "") -> dict[str, Any]:
    first, end = week_bounds(week)
    return {f"{prefix}submitted__gte": first, f"{prefix}submitted__lt": end}


def _judged_in_part(annotator: Membership, only: WorkFilter) -> QuerySet[Judgement]:
    """Return the annotator's judgements that count and stand beside the co-judge's, or are off."""
    judged = annotator.judgements.filter(seat__isnull=False).order_by()
    if only.week:
        judged = judged.filter(**_of_week(only.week, "assignment__"))
    if only.beside:
        judged = judged.annotate(partner=Case(*(When(seat=own, then=other) for own, other in PARTNERS.items())))
        others = Judgement.objects.filter(candidate=OuterRef("candidate"), seat=OuterRef("partner"))
        judged = judged.filter(Exists(others.filter(annotator=only.beside)))
    if only.off:
        grade = F("candidate__grade")
        far = Q(grade__gte=grade + OFF_BY) | Q(grade__lte=grade - OFF_BY)
        judged = judged.filter(far, candidate__outcome=Candidate.Outcome.SETTLED)
    return judged


def scope_of_record(record: Reopening, query: int | None = None) -> ReopeningScope:
    """Return what is left to reopen of somebody's work."""
    assert record.annotator
    queries = None if query is None else [query]
    return scope_of_annotator(record.annotator, queries, WorkFilter(record.week, record.beside, record.off))


@all_or_nothing
def reopen_query(record: Reopening, scope: ReopeningScope, query: int) -> dict[str, Any]:
    """Reopen the part of the scope that belongs to the query. Return what `undo_query` needs.

    Raise WrongState if nothing of it can be reopened, because it was reopened before or is being judged now.
    """
    Query.objects.filter(pk=query).lock_with_batches()
    # Read after locking, so that nobody changes them meanwhile.
    candidates = list(scope.candidates.filter(query=query).select_related("batch"))
    assignments = list(scope.assignments.filter(batch__query=query))
    if not candidates and not assignments:
        raise nothing_left(scope)
    _end(assignments, record)
    by_number: dict[int, list[Candidate]] = defaultdict(list)
    for candidate in candidates:
        assert candidate.batch
        by_number[candidate.batch.number].append(candidate)
    moved: list[list[Any]] = []  # of each candidate: its key, those of its batch before and after, if it was contested
    under_way = bool(assignments)
    for of_batch in by_number.values():
        edition = _move_into_new_edition(of_batch, record)
        if all(candidate.batch and candidate.batch.state in DONE for candidate in of_batch):
            moved += [[each.pk, each.batch_id, edition.pk, each.escalated] for each in of_batch]
        else:
            under_way = True  # round two had begun
    return {"moved": moved, "under_way": under_way}


def nothing_left(scope: ReopeningScope) -> WrongState:
    return WrongState(f"Nothing of {scope.what} can be reopened: it was reopened before, or is being judged now.")


def _end(assignments: Iterable[Assignment], record: Reopening) -> None:
    """End assignments of a round, so that their judgements never count and others can take the slots."""
    for assignment in assignments:
        assignment.give_back()
        Judgement.objects.filter(assignment=assignment).update(seat=None, reopening=record)


def _move_into_new_edition(candidates: list[Candidate], record: Reopening) -> Batch:
    """Move candidates of one batch into a new edition, where no earlier judgement counts, and return that."""
    old, rows = candidates[0].batch, Candidate.objects.filter(pk__in=[candidate.pk for candidate in candidates])
    assert old
    _end(Assignment.objects.live().filter(batch__candidates__in=rows).distinct(), record)
    Judgement.objects.filter(candidate__in=rows, seat__isnull=False).update(seat=None, reopening=record)
    Flag.objects.filter(candidate__in=rows).handle(record.lead, record)
    Adjudication.objects.filter(candidate__in=rows).undo(record.lead, record)
    Review.objects.filter(batch__in=old.editions).undo(record.lead, record)
    edition = old.newest_edition.edition + 1
    begun = old.query.batches.filter(begun=True).exists()  # unless all grades of the query are reused
    new = Batch.of(old.query, old.number, edition=edition, further=old.further, begun=begun)
    new.save()
    rows.update(batch=new, outcome=Candidate.Outcome.OPEN, grade=None, escalated=False, rule="")
    old.editions.filter(state=Batch.State.REVIEWED).update(state=Batch.State.SETTLED)
    old.editions.filter(candidates__isnull=True).update(state=Batch.State.REPLACED)
    note_closed(old.query)
    summarize([old.query_id])
    prepare(new)
    return new


@all_or_nothing
def undo_query(record: Reopening, query: Query, before: dict[str, Any]) -> str:
    """Undo what was done to the query, as far as nobody has begun to judge it again. Return why something stays."""
    Query.objects.filter(pk=query.pk).lock_with_batches()
    by_edition: dict[int, list[list[Any]]] = defaultdict(list)
    for row in before["moved"]:
        by_edition[row[2]].append(row)
    why = [UNDER_WAY] if before["under_way"] else []
    why += [stays for edition, rows in by_edition.items() if (stays := _undo_edition(record, edition, rows))]
    for number in set(query.batches.values_list("number", flat=True)):
        _restore_review(query, number)
    note_closed(query)
    summarize([query.pk])
    return " ".join(dict.fromkeys(why))


def _undo_edition(record: Reopening, edition: int, rows: list[list[Any]]) -> str:
    """Move the candidates of an edition back into their batches. Return why they stay, if they do."""
    new = Batch.objects.filter(pk=edition).first()
    if new is None or new.assignments.exists():
        return BEGUN
    batches = Batch.objects.in_bulk([batch for _, batch, _, _ in rows])
    keys, back = [row[0] for row in rows], {"reopening": record}
    judgements = list(Judgement.objects.filter(candidate__in=keys, **back).select_related("assignment"))
    for judgement in judgements:
        judgement.seat, judgement.reopening = judgement.assignment.seat, None
    Judgement.objects.bulk_update(judgements, ["seat", "reopening"])
    Flag.objects.filter(candidate__in=keys, **back).update(handled=None, handled_by=None, reopening=None)
    candidates = Candidate.objects.select_related("query__campaign").prefetch_related("judgements").in_bulk(keys)
    for key, batch, _, escalated in rows:
        candidates[key].batch, candidates[key].escalated = batches[batch], escalated
        rounds = batches[batch].round if escalated else 1
        candidates[key].settle(rounds, candidates[key].counted_grades(rounds))
    for adjudication in Adjudication.objects.filter(candidate__in=keys, **back):
        adjudicated = candidates[adjudication.candidate_id]
        adjudicated.outcome, adjudicated.grade = Candidate.Outcome.ADJUDICATED, adjudication.grade
        adjudicated.rule = Candidate.Outcome.ADJUDICATED
    for reuse in ReusedGrade.objects.filter(candidate__in=keys):
        reused = candidates[reuse.candidate_id]
        if reused.batch and reused.batch.edition == 1:  # else annotators have judged it since
            reused.outcome, reused.grade, reused.rule = Candidate.Outcome.REUSED, reuse.grade, REUSED
    Adjudication.objects.filter(candidate__in=keys, **back).restore()
    Candidate.objects.bulk_update(candidates.values(), ["batch", "outcome", "grade", "escalated", "rule"])
    Batch.objects.filter(pk__in=batches, state=Batch.State.REPLACED).update(state=Batch.State.SETTLED)
    new.delete()
    return ""


def _restore_review(query: Query, number: int) -> None:
    """Put the last review of a batch in force again that a reopening undid, if the batch is as it was then."""
    editions = query.batches.filter(number=number)
    newest = editions.order_by("edition").last()
    last = Review.objects.filter(batch__in=editions).order_by("pk").last()
    if last is None or last.reopening_id is None or last.batch_id != (newest and newest.pk):
        return
    if not editions.unfinished().exists():
        Review.objects.filter(pk=last.pk).restore()
        editions.filter(state=Batch.State.SETTLED).update(state=Batch.State.REVIEWED)
