"""Sitting the exam: what an examinee gets next, and how what she hands in is marked.

TVR-Ranking, appendix B.2: the truth of a pair is the median of all first grades; the lead's own grade goes before it.
"""

from __future__ import annotations

from collections import defaultdict
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

QUORUM = 3  # examinees whose grades make a median worth marking by
Truths = dict[int, float]  # by candidate; a median may be a half


class ExamGrades(NamedTuple):
    """One examinee's grades of one pair: the first and the last so far; `back`: whether it is to be judged again."""

    judgement: int
    annotator: int
    candidate: int
    first: int
    last: int
    back: bool


def hand_out(member: Membership) -> Assignment | None:
    """Lend the member the next batch of her exam, if there is one. The caller holds her row's lock."""
    sitting = _open_sitting(member)
    batch = sitting.left().filter(state=Batch.State.OPEN).first() if sitting else None
    return batch.lend_to(member, sitting.round) if sitting and batch else None


def _open_sitting(member: Membership) -> Sitting | None:
    """Her open sitting; the first is made where there is an exam to sit."""
    if not member.sittings.exists() and exam_batches(member.campaign).exists():
        return Sitting.objects.create(member=member)
    return Sitting.objects.filter(member=member, result=Sitting.Result.OPEN).first()


def hand_in(member: Membership) -> None:
    """Mark her sitting once its last batch is submitted, and others that waited for her grades."""
    sitting = Sitting.objects.filter(member=member, result=Sitting.Result.OPEN).first()
    if sitting and not sitting.left().exists():
        Sitting.objects.filter(pk=sitting.pk).update(ended=Now())
        mark_waiting(member.campaign)


@all_or_nothing
def mark_waiting(campaign: Campaign) -> None:
    """Mark every sitting that is handed in, where the truth of its pairs is known."""
    # One at a time: of two who finish together, the second sees the first's grades.
    locked(Campaign.objects.filter(pk=campaign.pk)).get()
    grades = exam_grades(campaign)
    known = truths(campaign, grades)
    waiting = Sitting.objects.waiting().filter(member__campaign=campaign, member__qualified__isnull=True)
    for sitting in waiting.select_related("member__campaign"):
        _mark(sitting, known, grades)


@all_or_nothing
def repeat(member: Membership, lead: Membership, reason: str) -> Sitting:
    """Give who failed another round. Asking twice gives the same round.

    Raises
    ------
    WrongState
        For anybody else than who failed by pairs that are off.
    """
    member = locked(Membership.objects.filter(pk=member.pk)).get()
    last = Sitting.objects.filter(member=member).select_related("member").last()
    if last and last.result == Sitting.Result.OPEN:
        return last
    if not last or not last.may_be_repeated:
        raise WrongState(
            "Another round is for who failed the exam by pairs that are off, and has no work yet."
        )
    words = f"another round of the exam: {reason}"
    Event.objects.create(member=member, kind=Event.Kind.RESUMED, by=lead, words=words)
    return Sitting.objects.create(member=member, round=last.round + 1)


def _mark(sitting: Sitting, known: Truths, grades: list[ExamGrades]) -> None:
    """Compare its grades with the truth, unless some of that is still unknown. Results once given stay."""
    judged = [
        each for each in grades if each.annotator == sitting.member_id and (sitting.round == 1 or each.back)
    ]
    if any(each.candidate not in known for each in judged):
        return
    tolerance = sitting.member.campaign.tolerance
    off = [each.judgement for each in judged if abs(each.last - known[each.candidate]) > tolerance]
    sitting.pairs, sitting.off = len(judged), len(off)
    Judgement.objects.filter(pk__in=[each.judgement for each in judged]).update(returned=None)
    Judgement.objects.filter(pk__in=off).update(returned=Now())
    _conclude(sitting)


def _conclude(sitting: Sitting) -> None:
    """Note the result: passed, back with what was off, or failed."""
    member = sitting.member
    if not sitting.off and not _flagged_too_much(sitting):
        sitting.result = Sitting.Result.PASSED
        Membership.objects.filter(pk=member.pk, qualified__isnull=True).update(qualified=Now())
        _note(member, Event.Kind.QUALIFIED, f"passed the exam in round {sitting.round}")
    elif sitting.off and sitting.round < member.campaign.exam_rounds:
        sitting.result = Sitting.Result.RETURNED
    else:
        sitting.result = Sitting.Result.FAILED
        flagged = "" if sitting.off else "; most pairs were flagged"
        off = f"{sitting.off} of {sitting.pairs} pairs off in round {sitting.round}"
        _note(member, Event.Kind.FAILED, off + flagged)
    sitting.save(update_fields=["pairs", "off", "result"])
    if sitting.result == Sitting.Result.RETURNED:
        Sitting.objects.create(member=member, round=sitting.round + 1)


def _flagged_too_much(sitting: Sitting) -> bool:
    """A flag excuses a pair; who flags most of them has not shown how she grades."""
    handed = Candidate.objects.filter(batch__in=exam_batches(sitting.member.campaign)).count()
    return sitting.round == 1 and 2 * sitting.pairs < handed


def _note(member: Membership, kind: Event.Kind, words: str) -> None:
    Event.objects.create(member=member, kind=kind, words=words)


def exam_grades(campaign: Campaign) -> list[ExamGrades]:
    """All grades of the exam. Who has not handed in the first round does not count yet; a pair that was flagged
    in it is excused."""
    begun = Sitting.objects.filter(member=OuterRef("annotator"), round=1)
    rows = Judgement.objects.filter(candidate__batch__in=exam_batches(campaign))
    rows = rows.annotate(handed_in=Subquery(begun.values("ended"))).filter(handed_in__isnull=False)
    flags = Flag.objects.filter(assignment=OuterRef("assignment"), candidate=OuterRef("candidate"))
    rows = rows.exclude(Exists(flags.filter(at__lte=OuterRef("handed_in"))))
    said = Revision.objects.filter(judgement=OuterRef("pk"), at__lte=OuterRef("handed_in"))
    columns = rows.annotate(said_first=Subquery(said.order_by("-number").values("grade")[:1])).values_list(
        "pk", "annotator", "candidate", "said_first", "grade", "returned"
    )
    return [
        ExamGrades(pk, who, what, first, last, bool(back))
        for pk, who, what, first, last, back in columns.order_by("pk")
    ]


def truths(campaign: Campaign, grades: list[ExamGrades]) -> Truths:
    """The truth of each exam pair that has one: the lead's own grade, else the median of all first grades."""
    graded = Candidate.objects.filter(batch__in=exam_batches(campaign), truth__isnull=False)
    known = {pk: float(truth or 0) for pk, truth in graded.values_list("pk", "truth")}
    handed_in = Sitting.objects.filter(member__campaign=campaign, round=1, ended__isnull=False)
    if handed_in.count() >= QUORUM:
        firsts = defaultdict(list)
        for each in grades:
            firsts[each.candidate].append(each.first)
        known = {candidate: float(median(given)) for candidate, given in firsts.items()} | known
    return known
