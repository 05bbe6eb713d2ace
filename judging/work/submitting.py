"""Submitting an assignment, and what follows for its batch or its annotator."""

from __future__ import annotations

from django.db.models.functions import Now
from django.utils.translation import gettext

from base.errors import Stale, WrongState
from base.transactions import all_or_nothing, locked
from campaigns.events import Happened, tell
from campaigns.models import Membership
from judging.models import Assignment, Batch, Judgement, Kind
from judging.quality import checks, exam
from judging.review.reviewing import follow_policy
from judging.summaries import note_submission, summarize
from judging.work.saving import counted, unrecorded

LIST_SECONDS = 3  # for each clip, that count


@all_or_nothing
def submit(assignment: Assignment, fence: int, list_seconds: float | None = None) -> None:
    """Submit an assignment, so that its judgements count. The second submission of a round settles the round.

    Submitting twice is harmless. `list_seconds` are the active seconds that the annotator spent in the list of all
    clips; of them `LIST_SECONDS` for each clip count at most. Raise WrongState if a candidate has neither a grade nor
    a flag, and Stale if the fence is an old one or the lease has run out.
    """
    # The membership may change below. It is locked before the batch, as in a claim.
    if assignment.slot is None or assignment.hidden:
        own = locked(Membership.objects.filter(pk=assignment.annotator_id))
        assignment.annotator = own.select_related("campaign", "user").get()
    joined = list(assignment.joined.live()) if assignment.round > 1 else []
    batches = Batch.objects.filter(pk__in=[each.batch_id for each in (assignment, *joined)])
    held = {batch.pk: batch for batch in locked(batches).select_related("query__campaign").order_by("pk")}
    if not _holds(assignment, fence):
        return
    if missing := assignment.unanswered():
        positions = ", ".join(map(str, missing))
        raise WrongState(gettext("Not judged yet: {places}. Grade or flag each, then submit.").format(places=positions))
    if list_seconds:
        seconds = counted(list_seconds, LIST_SECONDS * len(assignment.places), unrecorded(assignment))
        assignment.list_times.create(reported=list_seconds, seconds=seconds or 0.0)
    for each in (assignment, *(assignment.joined.live() if joined else [])):  # some may have ended meanwhile
        _count(each)
        _conclude(each, held[each.batch_id])
    if assignment.hidden:
        checks.warn_or_pause(assignment.annotator)


def _holds(assignment: Assignment, fence: int) -> bool:
    """Lock the assignment, whose lease runs, and return True, or False if it is submitted. Raise Stale otherwise."""
    try:
        assignment.extend_lease(fence)
    except Stale:
        assignment.refresh_from_db(fields=["state"])
        if assignment.state != Assignment.State.SUBMITTED:
            raise
        return False
    return True


def _conclude(assignment: Assignment, batch: Batch) -> None:
    """Do what follows for the batch of a submitted assignment, or for the annotator if it is one of the exam."""
    if assignment.slot:
        if batch.conclude():
            summarize([batch.query_id])
        else:
            note_submission(batch.query_id)
        if batch.state == Batch.State.SETTLED:
            tell(batch.campaign_id, Happened.BATCH_SETTLED, batch=batch.pk, query=batch.query_id)
        follow_policy(batch)
    elif batch.kind == Kind.EXAM:
        exam.finish_round(assignment.annotator)


def _count(assignment: Assignment) -> None:
    """Give the judgements their seat, except those of flagged candidates, and mark the assignment submitted."""
    graded = assignment.candidates.exclude(pk__in=assignment.flags.values("candidate"))
    Judgement.objects.filter(assignment=assignment, candidate__in=graded).update(seat=assignment.seat)
    submitted = {"state": Assignment.State.SUBMITTED, "submitted": Now()}
    Assignment.objects.filter(pk=assignment.pk).update(**submitted)
    assignment.state = Assignment.State.SUBMITTED
