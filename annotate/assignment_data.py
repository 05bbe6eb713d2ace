"""What an annotator is told of an assignment: opaque clip addresses and the annotator's own grades. Nothing else."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext, gettext_noop

from annotate.exam import exam_state, has_just_passed
from campaigns.models import Membership
from corpus.models import Clip
from judging.models import Assignment, Flag, Revision


def assignment_data(assignment: Assignment) -> dict[str, Any]:
    """The whole assignment as the workplace gets it, ready for JSON."""
    grades, flags, presses = _said(assignment)
    places = [
        {
            "clip": _address(candidate.clip),
            "grade": grades.get(candidate.pk),
            "flag": flags[candidate.pk].reason if candidate.pk in flags else None,
            "comment": flags[candidate.pk].comment if candidate.pk in flags else "",
        }
        | ({"note": candidate.why or gettext(AGAIN)} if assignment.is_again else {})
        for candidate in assignment.candidates_in_order()
    ]
    numbers = {"fence": assignment.fence, "presses": presses}
    return {"token": assignment.token, **numbers, "places": places}


def _said(assignment: Assignment) -> tuple[dict[int, int], dict[int, Flag], int]:
    """What the annotator said: grades and flags by candidate, and the number of the last press."""
    if assignment.is_new:
        return {}, {}, 0
    grades = dict(assignment.judgements.not_returned().values_list("candidate", "grade"))
    flags = {flag.candidate_id: flag for flag in assignment.flags.not_returned()}
    return grades, flags, assignment.presses


def first_clip(data: dict[str, Any]) -> str | None:
    """The address of the clip that the workplace shows first: it loads before the scripts are there."""
    open_places = [each for each in data["places"] if each["grade"] is None and each["flag"] is None]
    address: str | None = open_places[0]["clip"] if open_places else None
    return address


# Says that a grade was wrong, but not whether it was too high or too low.
AGAIN = gettext_noop(
    "This clip came back, because your grade is too far from the right one. Watch it again with the guideline open. "
    "Does the action match the query? Is all of it in the picture? Is all of it in the clip, and little else?"
)


def judged_today(member: Membership) -> int:
    """Clips that the annotator judged since midnight, the server's."""
    midnight = timezone.localtime().replace(hour=0, minute=0, second=0, microsecond=0)
    first = Revision.objects.filter(number=1, at__gte=midnight)
    return first.filter(judgement__assignment__in=member.assignments.said_since(midnight)).count()


def _address(clip: Clip | None) -> str | None:
    return reverse("clip", args=[clip.token]) if clip and clip.is_ready else None


def progress(member: Membership) -> dict[str, Any]:
    """What the annotator did in a campaign, and the batch that the annotator holds, if any."""
    live = member.assignments.live().first()
    return {
        "member": member,
        "campaign": member.campaign,
        "live": live,
        "exam": exam_state(member),
        "passed": has_just_passed(member),
        "new": not member.assignments.exists(),
        "left": len(live.unanswered()) if live else 0,
        "batches": member.assignments.submitted().count(),
        "judgements": member.judgements.count(),
        "lease": settings.ASSIGNMENT_LEASE // 60,  # minutes
    }
