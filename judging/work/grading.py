"""Grading: store a grade, a flag or a question for a candidate of an assignment, once for each press of a key."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from django.db.models import F, Max, Q, Sum
from django.db.models.functions import Now
from django.utils.translation import gettext

from base.errors import BadValue, KeyReused, NotFound, WrongState
from base.transactions import all_or_nothing, locked
from campaigns.models import Membership, Message, spend
from judging.models.assignment import Assignment, at_position, taken_from_you
from judging.models.judgement import Flag, Question, Revision
from judging.models.pool import Candidate
from judging.work import saving, saving_in_one
from judging.work.saving import counted, left_at_place, unrecorded

# The limits of what comes with a press.
LARGEST = 2**31 - 1  # of a fence, and of the number of a press
LONGEST = 24 * 3600  # seconds of active work
LONGEST_COMMENT = 500  # characters, of a flag
MOST_WAITING = 20  # questions of one annotator that no lead has answered
AT_A_PLACE = Question.About.CLIP, Question.About.QUERY  # what a question at a place of an assignment can be about


def judge(
    writer: Assignment | saving.Writer,
    position: int,
    grade: int,
    *,
    fence: int,
    key: UUID,
    press: int | None = None,
    seconds: float | None = None,
    input: str = "",
    doubt: bool = False,
) -> Revision:
    """Store a grade. It replaces a flag. A request that comes twice with one key returns the first revision.

    Parameters
    ----------
    writer
        The assignment, or its token and who sends the grade. Whether they may is found out when it is stored.
    position
        The candidate's position in the assignment, counted from 1.
    fence
        The assignment's fence when the browser got it.
    key
        The idempotency key of this press.
    press
        The number that the browser gave the press. If a later press for the candidate came first, this one is stored
        and changes nothing else. None stands for "after all that is stored".
    seconds
        Active seconds, or None if the browser did not measure them.
    input
        How the grade was given; one of `Revision.Input`.
    doubt
        Whether the annotator hesitated between two grades.

    Raises
    ------
    BadValue
        If the assignment has no such position.
    KeyReused
        If the key came before with another grade, doubt or candidate.
    Stale
        If the fence is an old one or the lease has run out.
    NotFound
        If the assignment is not that of the writer, or the writer is no active annotator any more.
    """
    entry = Revision(grade=grade, is_doubtful=doubt, key=key, reported=seconds, input=input)
    if press is not None and saving_in_one.save(writer, fence, position, press, entry):
        return entry
    return _judge(writer, fence, position, press, entry) or _judged_before(writer, position, entry)


@all_or_nothing
def _judge(
    writer: Assignment | saving.Writer, fence: int, position: int, press: int | None, entry: Revision
) -> Revision | None:
    """Store a grade. Return None, and store nothing, if the writer does not hold the assignment or the key is known."""
    held = saving.hold(writer, fence)
    if held is None:
        return None
    candidate = at_position(held.places, position)
    assignment = Assignment(pk=held.assignment, annotator_id=held.annotator, places=held.places)
    press = assignment.presses if press is None else press
    graded = saving.grade(held, candidate, entry.grade, press, entry.key, doubt=entry.is_doubtful)
    if graded is None:
        return None
    limit = left_at_place(at_position(held.limits, position), graded.at_place)
    entry.seconds = counted(entry.reported, limit, held.elapsed - graded.recorded)
    overtaken = press < (graded.last or 0)
    if graded.was_flagged:
        earlier, later = _flags(assignment, candidate, press)
        _take_back(earlier)
        overtaken |= any(flag.taken_back is None for flag in later)
    entry.press, entry.judgement_id, entry.number = press, graded.judgement, graded.revisions + 1
    entry.overtaken = overtaken
    saving.store(entry)
    return entry


def _judged_before(writer: Assignment | saving.Writer, position: int, entry: Revision) -> Revision:
    """Return the revision that has the key already."""
    assignment = Assignment.objects.of(writer.user_id).filter(token=writer.token).first()
    if assignment is None:
        raise NotFound(gettext("Nothing is here for you. It may be gone, or not yours to see."))
    known = Revision.objects.filter(key=entry.key).select_related("judgement__assignment").first()
    if known is None:
        raise taken_from_you()
    stored = (known.judgement.annotator_id, known.judgement.candidate_id, known.grade, known.is_doubtful)
    if stored != (assignment.annotator_id, assignment.candidate_at(position), entry.grade, entry.is_doubtful):
        what = "another grade, doubt or place"
        raise KeyReused(f"key: {entry.key} came before with {what}; expected a new key for each press")
    return known


@all_or_nothing
def flag(
    assignment: Assignment,
    position: int,
    reason: str,
    comment: str,
    *,
    fence: int,
    key: UUID,
    press: int | None = None,
    seconds: float | None = None,
) -> Flag:
    """Flag a candidate that cannot be judged. A grade that it has does not count while the flag is there.

    A new flag replaces the one before. A request that comes twice with one key returns the first flag. For
    parameters and errors see `judge`.
    """
    candidate = assignment.candidate_at(position)
    if known := Flag.recorded.filter(key=key).first():
        stored = (known.assignment.annotator_id, known.candidate_id, known.reason, known.comment)
        if stored == (assignment.annotator_id, candidate, reason, comment):
            return known
        raise KeyReused(f"key: {key} came before with another flag or place; expected a new key for each press")
    assignment.extend_lease(fence)
    press = assignment.presses if press is None else press
    earlier, later = _flags(assignment, candidate, press)
    graded = Revision.objects.filter(judgement__annotator=assignment.annotator_id, judgement__candidate=candidate)
    again = Q(judgement__returned=None) | Q(at__gt=F("judgement__returned"))
    last, returned, before = graded.aggregate(
        last=Max("press"), returned=Max("judgement__returned"), before=Sum("seconds", filter=again)
    ).values()
    overtaken = bool(later) or (last or 0) > press
    flags = [flag for flag in (*earlier, *later) if not returned or flag.at > returned]
    at_place = (before or 0.0) + sum(flag.seconds or 0.0 for flag in flags)
    limit = left_at_place(at_position(assignment.limits, position), at_place)
    if not overtaken:
        _take_back(earlier)
    flag = Flag.objects.create(
        assignment_id=assignment.holder_of(candidate),
        candidate_id=candidate,
        reason=reason,
        comment=comment,
        reported=seconds,
        seconds=counted(seconds, limit, unrecorded(assignment)),
        key=key,
        press=press,
        taken_back=Now() if overtaken else None,
    )
    flag.overtaken = overtaken
    return flag


@all_or_nothing
def unflag(assignment: Assignment, position: int, *, fence: int, key: UUID, press: int | None = None) -> None:
    """Take a flag back, so that an earlier grade counts again.

    A request that comes twice with one key does nothing, even after the submission. For errors see `judge`.
    """
    candidate = assignment.candidate_at(position)
    if earlier := Flag.recorded.filter(taken_back_key=key).first():
        if (earlier.assignment.annotator_id, earlier.candidate_id) == (assignment.annotator_id, candidate):
            return
        raise KeyReused(f"key: {key} took another flag back before; expected a new key for each press")
    assignment.extend_lease(fence)
    flags = Flag.objects.filter(assignment__annotator=assignment.annotator_id, candidate=candidate)
    flags = flags if press is None else flags.filter(press__lte=press)
    flags.update(taken_back=Now(), taken_back_key=key)


def _flags(assignment: Assignment, candidate: int, press: int) -> tuple[list[Flag], list[Flag]]:
    """Return all flags of a candidate, also those that were taken back: those up to a press, and the later ones."""
    flags = list(Flag.recorded.filter(assignment__annotator=assignment.annotator_id, candidate=candidate))
    return [flag for flag in flags if flag.press <= press], [flag for flag in flags if flag.press > press]


def _take_back(flags: list[Flag]) -> None:
    """Take back a candidate's flags, because a grade or another flag replaces them."""
    replaced = [flag.pk for flag in flags if flag.taken_back is None]
    Flag.recorded.filter(pk__in=replaced).update(taken_back=Now())


def ask_at(assignment: Assignment, position: int, about: str, text: str, key: UUID) -> Question:
    """Ask the leads about the clip at a position, or about its query. No grade is needed or changed.

    `about` is one of `AT_A_PLACE`. For the others and for errors see `ask`.
    """
    place = Candidate.objects.select_related("repeats").get(pk=assignment.candidate_at(position))
    pair = place.repeats or place
    about_it = {"query_id": pair.query_id, "assignment_id": assignment.pk}
    if about == Question.About.CLIP:
        about_it |= {"candidate_id": pair.pk, "place_id": place.pk}
    return ask(assignment.annotator, text, key, about=about_it)


@all_or_nothing
def ask(
    annotator: Membership,
    text: str,
    key: UUID,
    *,
    letter: Message | None = None,
    about: Mapping[str, int] | None = None,
) -> Question:
    """Ask the leads something, or answer a message of theirs. A request that comes twice with one key is stored once.

    Parameters
    ----------
    letter
        The message that it answers.
    about
        The columns of a question that say what it is about and where it was asked. Without them it is about nothing in
        particular.

    Raises
    ------
    BadValue
        If the text is empty.
    KeyReused
        If the key came before with another question.
    WrongState
        If the annotator has left, or many of their questions wait for an answer.
    TooManyRequests
        If the person has sent as many questions as the settings allow.
    """
    annotator = locked(Membership.objects.filter(pk=annotator.pk)).get()
    fields = {"annotator_id": annotator.pk, "text": text, "letter_id": letter.pk if letter else None}
    fields |= dict.fromkeys(("query_id", "candidate_id", "assignment_id", "place_id")) | dict(about or {})
    if known := Question.objects.filter(key=key).first():
        if all(getattr(known, field) == value for field, value in fields.items()):
            return known
        raise KeyReused(f"key: {key} came before with another question; expected a new key for each question")
    if not text:
        raise BadValue("text", gettext("empty"), gettext("your question"))
    if annotator.has_left:
        raise WrongState(gettext("Your work here has ended, so nobody would read it."))
    if annotator.questions.filter(handled=None).count() >= MOST_WAITING:
        raise WrongState(gettext("Your lead has not answered your last questions yet. Please wait for the answers."))
    spend(annotator.user_id, "QUESTION_RATE", gettext("You have sent many questions in a short time."))
    return Question.objects.create(**fields, key=key)


def overtaken_by(stored: Revision | Flag) -> dict[str, int]:
    """Return the number of the last press, for a program whose press came after a later one; else nothing."""
    if not stored.overtaken:
        return {}
    holder = stored.judgement.assignment if isinstance(stored, Revision) else stored.assignment
    return {"overtaken": (holder.joined_to or holder).presses}
