"""How far an annotator has come in the exam, in words for the annotator's home page."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Exists, OuterRef, Q
from django.utils.translation import gettext, ngettext

from campaigns.models import Membership
from judging.models import Candidate, Flag, Kind, Sitting
from judging.models.sitting import exam_batches


@dataclass(frozen=True)
class ExamState:
    words: str
    button: str = ""  # what can be pressed, if anything


def exam_state(member: Membership) -> ExamState | None:
    """Returns None where no exam stands between the annotator and work."""
    if not member.must_pass_exam:
        return None
    sitting = member.sittings.last()
    if sitting is None:
        return _not_begun(member)
    if sitting.result == Sitting.Result.FAILED:
        return ExamState(gettext("You have not passed the exam. Your lead will tell you more."))
    if sitting.is_waiting:
        return ExamState(gettext("You have submitted your exam. You get the result when the others have finished."))
    if sitting.round > 1:
        return _came_back(member)
    return ExamState(gettext("You are in the middle of the exam."), gettext("Continue the exam"))


def _not_begun(member: Membership) -> ExamState:
    clips = Candidate.objects.filter(batch__in=exam_batches(member.campaign)).count()
    if not clips:
        return ExamState(gettext("Before you get work there is an exam. It is not ready yet. Please come back later."))
    words = gettext(
        "Before you get work there is an exam: %(clips)s clips, judged like any others. A clip whose grade is far "
        "from the others' grades, or from your lead's, comes back to you with an explanation."
    )
    return ExamState(words % {"clips": clips}, gettext("Begin the exam"))


def _came_back(member: Membership) -> ExamState:
    returned = member.judgements.filter(returned__isnull=False)
    pair = {"assignment": OuterRef("assignment"), "candidate": OuterRef("candidate")}
    answered = Q(pk__in=returned.not_returned()) | Exists(Flag.objects.filter(**pair, at__gt=OuterRef("returned")))
    back, left = returned.count(), returned.exclude(answered).count()
    if left == back:
        words = ngettext(
            "%(back)s clip of your exam came back with an explanation. Please judge it once more.",
            "%(back)s clips of your exam came back with explanations. Please judge them once more.",
            back,
        )
    elif left:
        words = gettext("Clips of your exam came back: %(left)s of %(back)s are still to judge once more.")
    else:
        words = gettext("You have judged all clips of your exam that came back. Submit them now.")
    return ExamState(words % {"back": back, "left": left}, gettext("Judge the clips that came back"))


def has_just_passed(member: Membership) -> bool:
    """Return whether the annotator passed the exam and has had no other work yet."""
    sitting = member.sittings.last()
    passed = sitting is not None and sitting.result == Sitting.Result.PASSED
    return passed and not member.assignments.exclude(batch__kind=Kind.EXAM).exists()


def nothing_for(member: Membership) -> str:
    """Why the annotator asked for a batch and got none."""
    state = exam_state(member)
    if state is None:
        return gettext("There is no batch for you right now. Please come back later.")
    if state.button:
        return gettext("The next clips of your exam are being prepared. Please come back in a few minutes.")
    return state.words
