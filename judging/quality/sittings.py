"""Sitting the exam: which batch an examinee gets next, and how a submitted round is marked.

TVR-Ranking, appendix B.2: the truth of a pair is the median of all first grades. If the lead set a truth, that counts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from statistics import median
from typing import NamedTuple

from django.db.models import Exists, OuterRef, Subquery
from django.db.models.functions import Now

from base.errors import WrongState
from base.transactions import all_or_nothing, locked
from campaigns.models import Campaign, Event, Membership
from judging.models.assignment import Assignment
from judging.models.judgement import Flag, Judgement, Revision
from judging.models.pool import Batch, Candidate
from judging.models.sitting import Sitting, exam_batches

LONGEST_REASON = 400  # characters

QUORUM = 3  # examinees; with fewer, a median says too little to mark by
Truths = dict[int, float]  # by the candidate's key; a median can end in a half


class ExamGrades(NamedTuple):
    """One examinee's first and last grade of one pair."""

    judgement: int  # this and the next two are primary keys
    annotator: int
    candidate: int
    first: int
    last: int
    back: bool  # whether the pair was returned, to be judged again


def next_batch(member: Membership) -> Assignment | None:
    """Give the member the next batch of the exam, or return None. The caller holds the member's lock."""
    sitting = _open_sitting(member)
    batch = sitting.remaining_batches().filter(state=Batch.State.OPEN).first() if sitting else None
    return batch.lend_to(member, sitting.round) if sitting and batch else None


def _open_sitting(member: Membership) -> Sitting | None:
    """Return the member's open sitting. If they have none yet and there is an exam, make the first."""
    if not member.sittings.exists() and exam_batches(member.campaign).exists():
        return Sitting.objects.create(member=member)
    return Sitting.objects.filter(member=member, result=Sitting.Result.OPEN).first()


def finish_round(member: Membership) -> None:
    """End the member's round if its last batch is submitted, and mark all sittings that can be marked now."""
    sitting = Sitting.objects.filter(member=member, result=Sitting.Result.OPEN).first()
    if sitting and not sitting.remaining_batches().exists():
        Sitting.objects.filter(pk=sitting.pk).update(ended=Now())
        mark_waiting(member.campaign)


@all_or_nothing
def mark_waiting(campaign: Campaign) -> None:
    """Mark every submitted sitting whose pairs all have a truth."""
    # The lock makes two processes mark one after the other, so that the second sees the first examinee's grades.
    locked(Campaign.objects.filter(pk=campaign.pk)).get()
    grades = exam_grades(campaign)
    known = truths(campaign, grades)
    waiting = Sitting.objects.waiting().filter(member__campaign=campaign, member__qualified__isnull=True)
    for sitting in waiting.select_related("member__campaign"):
        _mark(sitting, known, grades)


@all_or_nothing
def repeat(member: Membership, lead: Membership, reason: str) -> Sitting:
    """Give a member who failed the exam another round, and return it. If it is open already, return that.

    Raises
    ------
    WrongState
        If the member has not failed, failed without a missed pair, or has work all the same.
    """
    member = locked(Membership.objects.filter(pk=member.pk)).get()
    last = Sitting.objects.filter(member=member).select_related("member").last()
    if last and last.result == Sitting.Result.OPEN:
        return last
    if not last or not last.may_be_repeated:
        raise WrongState("Another round is for annotators who failed the exam by missed pairs, and have no work yet.")
    reason = f"another round of the exam: {reason}"
    Event.objects.create(member=member, kind=Event.Kind.RESUMED, by=lead, reason=reason)
    return Sitting.objects.create(member=member, round=last.round + 1)


def _mark(sitting: Sitting, known: Truths, grades: list[ExamGrades]) -> None:
    """Compare the sitting's grades with the truths, if all of them are known."""
    judged = [each for each in grades if each.annotator == sitting.member_id and (sitting.round == 1 or each.back)]
    if any(each.candidate not in known for each in judged):
        return
    tolerance = sitting.member.campaign.tolerance
    missed = [each.judgement for each in judged if abs(each.last - known[each.candidate]) > tolerance]
    sitting.pairs, sitting.missed = len(judged), len(missed)
    Judgement.objects.filter(pk__in=[each.judgement for each in judged]).update(returned=None)
    Judgement.objects.filter(pk__in=missed).update(returned=Now())
    _conclude(sitting)


def _conclude(sitting: Sitting) -> None:
    """Store the result: passed, returned with the missed pairs, or failed."""
    member = sitting.member
    if not sitting.missed and not _flagged_too_much(sitting):
        sitting.result = Sitting.Result.PASSED
        Membership.objects.filter(pk=member.pk, qualified__isnull=True).update(qualified=Now())
        _note(member, Event.Kind.QUALIFIED, f"passed the exam in round {sitting.round}")
    elif sitting.missed and sitting.round < member.campaign.exam_rounds:
        sitting.result = Sitting.Result.RETURNED
    else:
        sitting.result = Sitting.Result.FAILED
        flagged = "" if sitting.missed else "; most pairs were flagged"
        missed = f"{sitting.missed} of {sitting.pairs} pairs missed in round {sitting.round}"
        _note(member, Event.Kind.FAILED, missed + flagged)
    sitting.save(update_fields=["pairs", "missed", "result"])
    if sitting.result == Sitting.Result.RETURNED:
        Sitting.objects.create(member=member, round=sitting.round + 1)


def _flagged_too_much(sitting: Sitting) -> bool:
    """Return whether more than half of the pairs were flagged in round one, where a flag excuses a pair."""
    pairs = Candidate.objects.filter(batch__in=exam_batches(sitting.member.campaign)).count()
    return sitting.round == 1 and 2 * sitting.pairs < pairs


def _note(member: Membership, kind: Event.Kind, reason: str) -> None:
    Event.objects.create(member=member, kind=kind, reason=reason)


def exam_grades(campaign: Campaign) -> list[ExamGrades]:
    """Return the grades of all examinees who have submitted round one, without the pairs that they flagged in it.

    The first grade of a pair is the last one before round one was submitted.
    """
    round_one = Sitting.objects.filter(member=OuterRef("annotator"), round=1)
    judgements = Judgement.objects.filter(candidate__batch__in=exam_batches(campaign))
    judgements = judgements.annotate(ended=Subquery(round_one.values("ended"))).filter(ended__isnull=False)
    flags = Flag.objects.filter(assignment=OuterRef("assignment"), candidate=OuterRef("candidate"))
    judgements = judgements.exclude(Exists(flags.filter(at__lte=OuterRef("ended"))))
    revisions = Revision.objects.filter(judgement=OuterRef("pk"), at__lte=OuterRef("ended"))
    first = Subquery(revisions.order_by("-press", "-number").values("grade")[:1])
    columns = judgements.annotate(first=first).values_list("pk", "annotator", "candidate", "first", "grade", "returned")
    return [
        ExamGrades(pk, annotator, candidate, first, last, bool(back))
        for pk, annotator, candidate, first, last, back in columns.order_by("pk")
    ]


def truths(campaign: Campaign, grades: list[ExamGrades]) -> Truths:
    """Return the truth of each pair that has one: the lead's grade, or the median of all first grades.

    There are medians only if at least `QUORUM` examinees have submitted round one.
    """
    graded = Candidate.objects.filter(batch__in=exam_batches(campaign), truth__isnull=False)
    known = {pk: float(truth or 0) for pk, truth in graded.values_list("pk", "truth")}
    submitted = Sitting.objects.filter(member__campaign=campaign, round=1, ended__isnull=False)
    if submitted.count() >= QUORUM:
        firsts = defaultdict(list)
        for each in grades:
            firsts[each.candidate].append(each.first)
        known = {candidate: float(median(given)) for candidate, given in firsts.items()} | known
    return known


# What a lead decides on an examinee: work in spite of the exam, or another round of it.
VERDICTS: dict[str, Callable[[Membership, Membership, str], object]] = {"qualify": Membership.qualify, "repeat": repeat}
