"""The places of an assignment as an annotator gets them, and the addresses of their clips.

An address is made for one place of one assignment by a keyed hash, so that nobody can tell that two addresses, perhaps
weeks apart, show the same clip.
"""

from __future__ import annotations

import hmac
from bisect import bisect_left
from typing import Any

from django.http import Http404
from django.urls import reverse
from django.utils.crypto import salted_hmac

from corpus.models import Clip
from judging.models import Assignment, Candidate, Flag
from judging.quality import exam

SIZES = 5  # of the files that an annotator gets of an assignment


def assignment_data(assignment: Assignment, route: str = "place") -> dict[str, Any]:
    """Return what an annotator gets of an assignment, ready for JSON: opaque clip addresses and their own answers.

    `route` is the name of the address of clips. Places say their query if it changes from one to another.
    """
    grades, flags, presses = _answers(assignment)
    queries = {candidate.query.text for candidate in assignment.candidates_in_order()}
    places = [
        {
            "clip": _address(assignment, candidate, route),
            "grade": grades.get(candidate.pk),
            "flag": flags[candidate.pk].reason if candidate.pk in flags else None,
            "comment": flags[candidate.pk].comment if candidate.pk in flags else "",
        }
        | ({"note": exam.reason_for(candidate)} if assignment.is_again else {})
        | ({"query": candidate.query.text} if len(queries) > 1 else {})
        for candidate in assignment.candidates_in_order()
    ]
    numbers = {"fence": assignment.fence, "presses": presses}
    return {"token": assignment.token, **numbers, "places": places}


def _answers(assignment: Assignment) -> tuple[dict[int, int], dict[int, Flag], int]:
    """Return what the annotator has answered: grades and flags by candidate, and the number of the last press."""
    if assignment.is_new:
        return {}, {}, 0
    judgements, flags = assignment.answers
    grades = dict(judgements.not_returned().values_list("candidate", "grade"))
    flagged = {flag.candidate_id: flag for flag in flags.filter(taken_back=None).not_returned()}
    return grades, flagged, assignment.presses


def _address(assignment: Assignment, candidate: Candidate, route: str) -> str | None:
    if candidate.clip is None or not candidate.clip.is_ready:
        return None
    return reverse(route, args=[assignment.token, _key(assignment, candidate.pk)])


def _key(assignment: Assignment, candidate: int) -> str:
    """Return the key of a clip's address. The token is another in each round."""
    return salted_hmac("judging.place", f"{assignment.token}:{candidate}", algorithm="sha256").hexdigest()[:32]


def clip_at(assignment: Assignment, key: str) -> tuple[Clip, int]:
    """Return the ready clip of the place that the key of an address stands for, and the size to which it is filled.

    The clips of an assignment are filled to a few sizes, that of the largest in each fifth, so that a size does not
    tell that two places show the same clip. Raise Http404 if there is no such clip.
    """
    ready = Candidate.objects.filter(pk__in=assignment.places, clip__state=Clip.State.READY).select_related("clip")
    clips = {each.pk: each.clip for each in ready if each.clip}
    here = next((pk for pk in clips if hmac.compare_digest(_key(assignment, pk), key)), None)
    if here is None:
        raise Http404
    sizes = sorted(clip.size or 0 for clip in clips.values())
    least = bisect_left(sizes, clips[here].size or 0)
    fifth = least * SIZES // len(sizes)
    return clips[here], sizes[-(-(fifth + 1) * len(sizes) // SIZES) - 1] or 1
