"""The places of an assignment as an annotator gets them, the addresses of their clips, and how many more there may be.

An address is made for one place of one assignment by a keyed hash, so that nobody can tell that two addresses, perhaps
weeks apart, show the same clip.
"""

from __future__ import annotations

import hmac
from bisect import bisect_left
from datetime import datetime
from typing import Any

from django.db.models import Count, F, OuterRef, Subquery, Sum
from django.db.models.functions import Coalesce
from django.urls import reverse
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext, gettext_noop

from base.database import JSONLength
from base.dates import start_of_day, start_of_week
from campaigns.models import Membership
from campaigns.models.membership import MembershipQuerySet
from corpus.models import Clip
from judging.models import Assignment, Candidate, Flag, Judgement, Kind, Revision
from judging.models.assignment import AssignmentQuerySet
from judging.quality import exam

SIZES = 5  # of the files that an annotator gets of an assignment


def assignment_data(assignment: Assignment, route: str = "place") -> dict[str, Any]:
    """Return what an annotator gets of an assignment, ready for JSON: opaque clip addresses and their own answers.

    `route` is the name of the address of clips. Places say their query if it changes from one to another.
    """
    grades, doubtful, flags, presses = _answers(assignment)
    queries = {candidate.query.text for candidate in assignment.candidates_in_order()}
    places = [
        {
            "clip": _address(assignment, candidate, route),
            "grade": grades.get(candidate.pk),
            "doubt": candidate.pk in doubtful,
            "flag": flags[candidate.pk].reason if candidate.pk in flags else None,
            "comment": flags[candidate.pk].comment if candidate.pk in flags else "",
        }
        | ({"note": exam.reason_for(candidate)} if assignment.is_again else {})
        | ({"query": candidate.query.text} if len(queries) > 1 else {})
        for candidate in assignment.candidates_in_order()
    ]
    numbers = {"fence": assignment.fence, "presses": presses}
    return {"token": assignment.token, **numbers, "places": places}


def _answers(assignment: Assignment) -> tuple[dict[int, int], set[int], dict[int, Flag], int]:
    """Return what the annotator has answered: grades by candidate, which are doubtful, flags, and the last press."""
    if assignment.is_new:
        return {}, set(), {}, 0
    judgements, flags = assignment.answers
    rows = list(judgements.not_returned().values_list("candidate", "grade", "is_doubtful"))
    grades, doubtful = {pair: grade for pair, grade, _ in rows}, {pair for pair, _, doubt in rows if doubt}
    flagged = {flag.candidate_id: flag for flag in flags.filter(taken_back=None).not_returned()}
    return grades, doubtful, flagged, assignment.presses


def _address(assignment: Assignment, candidate: Candidate, route: str) -> str | None:
    if candidate.clip is None or not candidate.clip.is_ready:
        return None
    return reverse(route, args=[assignment.token, _key(assignment, candidate.pk)])


def _key(assignment: Assignment, candidate: int) -> str:
    """Return the key of a clip's address. The token is another in each round."""
    return salted_hmac("judging.place", f"{assignment.token}:{candidate}", algorithm="sha256").hexdigest()[:32]


def clip_at(assignment: Assignment, key: str) -> tuple[Clip, int] | None:
    """Return the ready clip of the place that the key of an address stands for, and the size to which it is filled.

    The clips of an assignment are filled to a few sizes, that of the largest in each fifth, so that a size does not
    tell that two places show the same clip. Return None if there is no such clip.
    """
    ready = Candidate.objects.filter(pk__in=assignment.places, clip__state=Clip.State.READY).select_related("clip")
    clips = {each.pk: each.clip for each in ready if each.clip}
    here = next((pk for pk in clips if hmac.compare_digest(_key(assignment, pk), key)), None)
    if here is None:
        return None
    sizes = sorted(clip.size or 0 for clip in clips.values())
    least = bisect_left(sizes, clips[here].size or 0)
    fifth = least * SIZES // len(sizes)
    return clips[here], sizes[-(-(fifth + 1) * len(sizes) // SIZES) - 1] or 1


def limit_reached(annotator: Membership) -> str:
    """Say which limit leaves no room for a whole batch, and until when; the text is empty while none does.

    What counts is what was graded, hidden places included and exams not, and for the quota of all also what others
    hold. The caller locks the membership and, if there is a quota, the campaign.
    """
    campaign, own = annotator.campaign, annotator.assignments.all()
    if annotator.most_in_all is not None and spent().filter(pk=annotator.pk).exists():
        return gettext(IN_ALL).format(most=annotator.most_in_all)
    everybody = Assignment.objects.filter(annotator__campaign=campaign)
    for most, begin, assignments, words in (
        (campaign.week_quota, start_of_week, everybody, OF_ALL),
        (annotator.most_a_week, start_of_week, own, A_WEEK),
        (annotator.most_a_day, start_of_day, own, A_DAY),
    ):
        if most is not None and _judged(assignments, begin()) + campaign.largest_batch > most:
            return gettext(words).format(most=most)
    return ""


def spent() -> MembershipQuerySet:
    """Return the annotators whose limit in all leaves no room for a whole batch: they get no more work for good."""
    own = Judgement.objects.filter(annotator=OuterRef("pk")).exclude(assignment__batch__kind=Kind.EXAM)
    judged = Coalesce(Subquery(own.order_by().values("annotator").annotate(n=Count("pk")).values("n")), 0)
    batch = F("campaign__batch_size") + F("campaign__hidden_places")
    # Who has no limit is left out first, or the database would count everybody's judgements.
    return Membership.objects.filter(most_in_all__isnull=False).filter(most_in_all__lt=judged + batch)


def _judged(assignments: AssignmentQuerySet, since: datetime) -> int:
    """Return the number of places that were graded since then, and of all that are in hands."""
    work = assignments.exclude(batch__kind=Kind.EXAM)
    held = work.live().alone().aggregate(places=Sum(JSONLength("places")))["places"] or 0
    ended = work.saved_since(since).exclude(state=Assignment.State.LIVE)
    graded = Revision.objects.filter(number=1, at__gte=since, judgement__assignment__in=ended)
    return int(held) + graded.count()


def nothing_for(member: Membership) -> str:
    """Why the annotator asked for a batch and got none."""
    state = exam.exam_state(member)
    if state is None:
        usual = gettext("There is no batch for you right now. Please come back later.")
        return limit_reached(member) or usual
    if state.button:
        return gettext("The next clips of your exam are being prepared. Please come back in a few minutes.")
    return state.words


IN_ALL = gettext_noop("No further batch fits into the {most} clips in all that your lead asked you for. Thank you.")
A_DAY = gettext_noop("No further batch fits into your {most} clips for today. There is more from tomorrow on.")
A_WEEK = gettext_noop("No further batch fits into your {most} clips for this week. There is more from Monday on.")
OF_ALL = gettext_noop(
    "No further batch fits into the {most} clips that all of you judge in a week. There is more from Monday on."
)
