"""Submitting: an assignment is handed in, and what follows from that for its batch or its annotator."""

from __future__ import annotations

from django.db.models.functions import Now
from django.utils.translation import gettext

from base.errors import WrongState
from base.transactions import all_or_nothing, locked
from campaigns.models import Membership
from judging.models.assignment import Assignment
from judging.models.judgement import Judgement
from judging.models.pool import Batch, Kind
from judging.quality import checks, sittings
from judging.review.reviewing import follow_policy


@all_or_nothing
def submit(assignment: Assignment, fence: int) -> None:
    """Hand an assignment in: its judgements count, and the second annotator's settle the round."""
    if assignment.slot is None:  # what follows may touch the membership; it is locked first, as in a claim
        locked(Membership.objects.filter(pk=assignment.annotator_id)).get()
    batch = locked(Batch.objects.filter(pk=assignment.batch_id)).get()
    assignment.refresh_from_db()
    if assignment.state == Assignment.State.SUBMITTED:
        return
    assignment.hold(fence)
    if missing := assignment.unanswered():
        places = ", ".join(map(str, missing))
        raise WrongState(
            gettext("Not judged yet: {places}. Grade or flag each, then submit.").format(places=places)
        )
    _count(assignment)
    if assignment.slot:
        batch.conclude()
        follow_policy(batch)
    elif batch.kind == Kind.EXAM:
        sittings.hand_in(assignment.annotator)
    elif batch.kind == Kind.CHECK:
        checks.weigh(assignment.annotator)


def _count(assignment: Assignment) -> None:
    """Give the judgements their seat; a candidate that is flagged has no judgement that counts."""
    graded = assignment.candidates.exclude(pk__in=assignment.flags.values("candidate"))
    Judgement.objects.filter(assignment=assignment, candidate__in=graded).update(seat=assignment.seat)
    submitted = {"state": Assignment.State.SUBMITTED, "submitted": Now()}
    Assignment.objects.filter(pk=assignment.pk).update(**submitted)
    assignment.refresh_from_db()
