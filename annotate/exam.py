"""Where an annotator stands in the exam, in words for her home."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext, ngettext

from campaigns.models import Membership
from judging.models import Candidate, Sitting
from judging.models.sitting import exam_batches


@dataclass(frozen=True)
class Standing:
    words: str
    button: str = ""  # what can be pressed, if anything


def standing(member: Membership) -> Standing | None:
    """Her standing in the exam; none where no exam stands between her and work."""
    if not member.must_pass_exam:
        return None
    sitting = member.sittings.last()
    if sitting is None:
        return _not_begun(member)
    if sitting.result == Sitting.Result.FAILED:
        return Standing(gettext("You have not passed the exam. Your lead will tell you more."))
    if sitting.is_waiting:
        return Standing(gettext("Your exam is handed in. Results come when the others have finished."))
    if sitting.round > 1:
        return _came_back(member)
    return Standing(gettext("You are in the middle of the exam."), gettext("Continue the exam"))


def _not_begun(member: Membership) -> Standing:
    clips = Candidate.objects.filter(batch__in=exam_batches(member.campaign)).count()
    if not clips:
        return Standing(
            gettext("Before you get work there is an exam. It is not made yet; look in again later.")
        )
    words = gettext(
        "Before you get work there is an exam: %(clips)s clips, judged as in all work. Those that you grade far "
        "from the others, or from your lead, come back with an explanation."
    )
    return Standing(words % {"clips": clips}, gettext("Begin the exam"))


def _came_back(member: Membership) -> Standing:
    back = member.judgements.filter(returned__isnull=False).count()
    words = ngettext(
        "%(back)s clip of your exam came back, with an explanation. Judge it once more.",
        "%(back)s clips of your exam came back, with explanations. Judge them once more.",
        back,
    )
    return Standing(words % {"back": back}, gettext("Judge what came back"))


def nothing_for(member: Membership) -> str:
    """Why a claim brought nothing."""
    where = standing(member)
    if where is None:
        return gettext("There is nothing to judge for you right now. Look in again later.")
    if where.button:
        return gettext("The next clips of your exam are being prepared. Look in again in some minutes.")
    return where.words
