"""The places of an assignment as an annotator gets them, and the addresses of their clips.

An address is made for one place of one assignment by a keyed hash, so that nobody can tell that two addresses, perhaps
weeks apart, show the same clip.
"""

from __future__ import annotations

import hmac
from typing import Any

from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext, gettext_noop

from corpus.models import Clip
from judging.models import Assignment, Candidate, Flag


def assignment_data(assignment: Assignment, route: str = "place") -> dict[str, Any]:
    """Return what an annotator gets of an assignment, ready for JSON: opaque clip addresses and their own answers.

    `route` is the name of the address of clips.
    """
    grades, flags, presses = _answers(assignment)
    places = [
        {
            "clip": _address(assignment, candidate, route),
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


def _address(assignment: Assignment, candidate: Candidate, route: str) -> str | None:
    if candidate.clip is None or not candidate.clip.is_ready:
        return None
    return reverse(route, args=[assignment.token, _key(assignment, candidate.pk)])


def _key(assignment: Assignment, candidate: int) -> str:
    """Return the key of a clip's address. The token is another in each round."""
    return salted_hmac("judging.place", f"{assignment.token}:{candidate}", algorithm="sha256").hexdigest()[:32]


def clip_at(assignment: Assignment, key: str) -> Clip:
    """Return the ready clip of the place that the key of an address stands for. Raise Http404 if there is none."""
    here = [candidate for candidate in assignment.places if hmac.compare_digest(_key(assignment, candidate), key)]
    return get_object_or_404(Clip, candidates__in=here, state=Clip.State.READY)


# Says that a grade was wrong, but not whether it was too high or too low.
AGAIN = gettext_noop(
    "This clip came back, because your grade is too far from the right one. Watch it again with the guideline open. "
    "Does the action match the query? Is all of it in the picture? Is all of it in the clip, and little else?"
)
