"""Grading: storing a grade or a flag for a candidate of an assignment, each press exactly once."""

from __future__ import annotations

from uuid import UUID

from django.db.models.functions import Now

from base.errors import KeyReused
from base.transactions import all_or_nothing
from judging.models.assignment import Assignment
from judging.models.judgement import Flag, Judgement, Revision
from judging.work.active_time import add_seconds, bounded


def judge(
    assignment: Assignment,
    position: int,
    grade: int,
    *,
    fence: int,
    key: UUID,
    seconds: float | None = None,
    input: str = "",
) -> Revision:
    """Store a grade, which takes back a flag. The same key again gives the first answer again."""
    return _judge(assignment, assignment.at(position), grade, fence, key, seconds, input)


@all_or_nothing
def _judge(
    assignment: Assignment,
    candidate: int,
    grade: int,
    fence: int,
    key: UUID,
    seconds: float | None,
    input: str,
) -> Revision:
    if earlier := Revision.objects.filter(key=key).select_related("judgement").first():
        stored = (earlier.judgement.assignment_id, earlier.judgement.candidate_id, earlier.grade)
        if stored == (assignment.pk, candidate, grade):
            return earlier
        raise KeyReused(
            f"key: {key} came before with another grade or place; expected a new key for each press"
        )
    assignment.hold(fence)
    seconds = bounded(assignment, add_seconds(_replace_flag(assignment, candidate), seconds))
    judgement, _ = Judgement.objects.get_or_create(
        candidate_id=candidate,
        annotator=assignment.annotator,
        defaults={"assignment": assignment, "grade": grade},
    )
    return judgement.revise(grade, key, seconds, input)


def flag(
    assignment: Assignment,
    position: int,
    reason: str,
    comment: str,
    *,
    fence: int,
    key: UUID,
    seconds: float | None = None,
) -> Flag:
    """Say that a candidate cannot be judged as it is; a grade that it had does not count then.

    The same key again changes nothing; another flag replaces the first.
    """
    return _flag(assignment, assignment.at(position), reason, comment, fence, key, seconds)


@all_or_nothing
def _flag(
    assignment: Assignment,
    candidate: int,
    reason: str,
    comment: str,
    fence: int,
    key: UUID,
    seconds: float | None,
) -> Flag:
    if earlier := Flag.recorded.filter(key=key).first():
        stored = (earlier.assignment_id, earlier.candidate_id, earlier.reason, earlier.comment)
        if stored == (assignment.pk, candidate, reason, comment):
            return earlier
        raise KeyReused(
            f"key: {key} came before with another flag or place; expected a new key for each press"
        )
    assignment.hold(fence)
    seconds = bounded(assignment, add_seconds(_replace_flag(assignment, candidate), seconds))
    return assignment.flags.create(
        candidate_id=candidate, reason=reason, comment=comment, seconds=seconds, key=key
    )


def unflag(assignment: Assignment, position: int, *, fence: int, key: UUID) -> None:
    """Take a flag back: the grade that was there counts again. The same key again changes nothing."""
    _unflag(assignment, assignment.at(position), fence, key)


@all_or_nothing
def _unflag(assignment: Assignment, candidate: int, fence: int, key: UUID) -> None:
    assignment.hold(fence)
    if not Flag.recorded.filter(taken_back_key=key).exists():
        assignment.flags.filter(candidate=candidate).update(taken_back=Now(), taken_back_key=key)


def _replace_flag(assignment: Assignment, candidate: int) -> float | None:
    """Take back the candidate's flag, if there is one, in favour of what is stored now.

    Returns
    -------
    float or None
        The active seconds of its flags, also of those taken back before; they go to what replaces them.
    """
    flags = Flag.recorded.filter(assignment=assignment, candidate=candidate)
    if not (spent := list(flags.values_list("seconds", flat=True))):
        return None
    flags.filter(taken_back=None).update(taken_back=Now())
    flags.update(seconds=None)
    known = [seconds for seconds in spent if seconds is not None]
    return sum(known) if known else None
