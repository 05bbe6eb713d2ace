"""Adjudicating: a lead grades a candidate on which annotators reached no consensus. The grade is marked everywhere."""

from __future__ import annotations

from base.errors import WrongState
from base.transactions import all_or_nothing, locked
from campaigns.models.membership import Membership
from judging.consensus import RULE
from judging.models.judgement import Flag
from judging.models.pool import Batch, Candidate
from judging.models.review import Adjudication

Outcome = Candidate.Outcome
ADJUDICATED = Outcome.ADJUDICATED.value  # exports print it in place of the rule of the consensus


@all_or_nothing
def adjudicate(candidate: Candidate, lead: Membership, grade: int, reason: str) -> Adjudication:
    """Give a discarded or flagged candidate a grade, or replace the grade that a lead gave before.

    The same grade with the same reason again changes nothing.

    Raises
    ------
    WrongState
        If the candidate is neither discarded nor flagged nor adjudicated.
    """
    candidate = _lock(candidate)
    if candidate.outcome not in (Outcome.DISCARDED, Outcome.FLAGGED, Outcome.ADJUDICATED):
        raise WrongState(f"This candidate is {candidate.outcome}; only discarded and flagged ones are adjudicated.")
    earlier: Adjudication | None = candidate.adjudications.in_force().first()
    before = earlier.before if earlier else candidate.outcome
    if earlier and (earlier.grade, earlier.reason) == (grade, reason):
        return earlier
    candidate.adjudications.all().undo(lead)
    candidate.outcome, candidate.grade, candidate.rule = Outcome.ADJUDICATED, grade, ADJUDICATED
    candidate.save(update_fields=["outcome", "grade", "rule"])
    Flag.objects.filter(candidate=candidate).handle(lead)
    lead.campaign.touch()
    return candidate.adjudications.create(lead=lead, grade=grade, before=before, reason=reason)


@all_or_nothing
def withdraw_adjudication(candidate: Candidate, lead: Membership) -> None:
    """Restore the outcome of the annotators' grades. Doing it twice is harmless."""
    candidate = _lock(candidate)
    if candidate.outcome != Outcome.ADJUDICATED:
        return
    before = candidate.adjudications.in_force().get().before
    candidate.outcome, candidate.grade, candidate.rule = before, None, RULE
    candidate.adjudications.all().undo(lead)
    candidate.save(update_fields=["outcome", "grade", "rule"])
    lead.campaign.touch()


def _lock(candidate: Candidate) -> Candidate:
    """Lock the candidate and its batch, so that nobody reopens it, and return it as it is now."""
    list(locked(Batch.objects.filter(candidates=candidate)))
    return locked(Candidate.objects.filter(pk=candidate.pk)).select_related("query__campaign").get()
