"""Grading: store a grade or a flag for a candidate of an assignment, exactly once for each press of a key."""

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
    """Store a grade. It replaces a flag. A request that comes twice with one key returns the first revision.

    Parameters
    ----------
    position
        The candidate's position in the assignment, counted from 1.
    fence
        The assignment's fence when the browser got it.
    key
        The idempotency key of this press.
    seconds
        Active seconds, or None if the browser did not measure them.
    input
        How the grade was given; one of `Revision.Input`.

    Raises
    ------
    BadValue
        If the assignment has no such position.
    KeyReused
        If the key came before with another grade or candidate.
    Stale
        If the fence is an old one or the lease has run out.
    """
    return _judge(assignment, assignment.candidate_at(position), grade, fence, key, seconds, input)


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
    assignment.extend_lease(fence)
    seconds = bounded(assignment, seconds)
    seconds = add_seconds(_replace_flag(assignment, candidate), seconds)
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
    """Flag a candidate that cannot be judged. A grade that it has does not count while the flag is there.

    A new flag replaces the one before. A request that comes twice with one key returns the first flag. For
    parameters and errors see `judge`.
    """
    return _flag(assignment, assignment.candidate_at(position), reason, comment, fence, key, seconds)


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
    assignment.extend_lease(fence)
    seconds = bounded(assignment, seconds)
    seconds = add_seconds(_replace_flag(assignment, candidate), seconds)
    return assignment.flags.create(
        candidate_id=candidate, reason=reason, comment=comment, seconds=seconds, key=key
    )


def unflag(assignment: Assignment, position: int, *, fence: int, key: UUID) -> None:
    """Take a flag back, so that an earlier grade counts again.

    A request that comes twice with one key does nothing, even after the submission. For errors see `judge`.
    """
    _unflag(assignment, assignment.candidate_at(position), fence, key)


@all_or_nothing
def _unflag(assignment: Assignment, candidate: int, fence: int, key: UUID) -> None:
    if earlier := Flag.recorded.filter(taken_back_key=key).first():
        if (earlier.assignment_id, earlier.candidate_id) == (assignment.pk, candidate):
            return
        raise KeyReused(f"key: {key} took another flag back before; expected a new key for each press")
    assignment.extend_lease(fence)
    assignment.flags.filter(candidate=candidate).update(taken_back=Now(), taken_back_key=key)


def _replace_flag(assignment: Assignment, candidate: int) -> float | None:
    """Take back the candidate's flag, if there is one, because a grade or another flag replaces it.

    Returns
    -------
    float or None
        The active seconds of all its flags, which the replacement takes over; None if none are known.
    """
    flags = Flag.recorded.filter(assignment=assignment, candidate=candidate)
    if not (spent := list(flags.values_list("seconds", flat=True))):
        return None
    flags.filter(taken_back=None).update(taken_back=Now())
    flags.update(seconds=None)
    known = [seconds for seconds in spent if seconds is not None]
    return sum(known) if known else None
