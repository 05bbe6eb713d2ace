"""A grade of the lead's own, where annotators reached none. It is marked as such wherever it appears."""

from __future__ import annotations

from base.errors import WrongState
from base.transactions import all_or_nothing, locked
from campaigns.models.membership import Membership
from judging.consensus import RULE
from judging.models.judgement import Flag
from judging.models.pool import Batch, Candidate
from judging.models.review import Adjudication

ADJUDICATED = "adjudicated"  # stands where the exports name the rule of the consensus
Outcome = Candidate.Outcome


@all_or_nothing
def adjudicate(candidate: Candidate, lead: Membership, grade: int, reason: str) -> Adjudication:
    """Give a discarded or flagged candidate a grade, or another one than before. Twice the same is once."""
    row = _held(candidate)
    if row.outcome not in (Outcome.DISCARDED, Outcome.FLAGGED, Outcome.ADJUDICATED):
        raise WrongState(f"This candidate is {row.outcome}; only discarded and flagged ones are adjudicated.")
    earlier: Adjudication | None = row.adjudications.holding().first()
    before = earlier.before if earlier else row.outcome
    if earlier and (earlier.grade, earlier.reason) == (grade, reason):
        return earlier
    row.adjudications.all().undo(lead)
    row.outcome, row.grade, row.rule = Outcome.ADJUDICATED, grade, ADJUDICATED
    row.save(update_fields=["outcome", "grade", "rule"])
    Flag.objects.filter(candidate=row).handle(lead)
    lead.campaign.touch()
    return Adjudication.objects.create(candidate=row, lead=lead, grade=grade, before=before, reason=reason)


@all_or_nothing
def withdraw_adjudication(candidate: Candidate, lead: Membership) -> None:
    """Back to what annotators came to. Doing it twice is harmless."""
    row = _held(candidate)
    if row.outcome != Outcome.ADJUDICATED:
        return
    row.outcome, row.grade, row.rule = row.adjudications.holding().get().before, None, RULE
    row.adjudications.all().undo(lead)
    row.save(update_fields=["outcome", "grade", "rule"])
    lead.campaign.touch()


def _held(candidate: Candidate) -> Candidate:
    """The candidate as it is now, with its batch's lock: nobody reopens it meanwhile."""
    list(locked(Batch.objects.filter(candidates=candidate)))
    return locked(Candidate.objects.filter(pk=candidate.pk)).select_related("query__campaign").get()
