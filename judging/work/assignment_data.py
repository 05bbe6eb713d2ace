"""What an annotator is told of an assignment: opaque clip addresses and the annotator's own grades. Nothing else."""

from __future__ import annotations

from typing import Any

from django.urls import reverse
from django.utils.translation import gettext, gettext_noop

from corpus.models import Clip
from judging.models.assignment import Assignment
from judging.models.judgement import Flag


def assignment_data(assignment: Assignment, route: str = "clip") -> dict[str, Any]:
    """Return the whole assignment, ready for JSON. `route` is the name of the address of clips."""
    grades, flags, presses = _answers(assignment)
    places = [
        {
            "clip": _address(candidate.clip, route),
            "grade": grades.get(candidate.pk),
            "flag": flags[candidate.pk].reason if candidate.pk in flags else None,
            "comment": flags[candidate.pk].comment if candidate.pk in flags else "",
        }
        | ({"note": candidate.why or gettext(AGAIN)} if assignment.is_again else {})
        for candidate in assignment.candidates_in_order()
    ]
    numbers = {"fence": assignment.fence, "presses": presses}
    return {"token": assignment.token, **numbers, "places": places}


def _answers(assignment: Assignment) -> tuple[dict[int, int], dict[int, Flag], int]:
    """Return what the annotator has answered: grades and flags by candidate, and the number of the last press."""
    if assignment.is_new:
        return {}, {}, 0
    grades = dict(assignment.judgements.not_returned().values_list("candidate", "grade"))
    flags = {flag.candidate_id: flag for flag in assignment.flags.not_returned()}
    return grades, flags, assignment.presses


def _address(clip: Clip | None, route: str) -> str | None:
    return reverse(route, args=[clip.token]) if clip and clip.is_ready else None


# Says that a grade was wrong, but not whether it was too high or too low.
AGAIN = gettext_noop(
    "This clip came back, because your grade is too far from the right one. Watch it again with the guideline open. "
    "Does the action match the query? Is all of it in the picture? Is all of it in the clip, and little else?"
)
