"""Claiming a batch, and resuming an assignment after its lease has run out."""

from __future__ import annotations

from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext

from base.errors import Stale, WrongState
from base.transactions import all_or_nothing, locked
from campaigns.models import Membership
from judging.models.assignment import Assignment
from judging.models.pool import ANNOTATORS, Batch
from judging.quality import checks, sittings
from judging.work.eligibility import claimable_by, with_free_slot


@all_or_nothing
def claim(annotator: Membership) -> Assignment | None:
    """Give the annotator the batch that they hold, or a free one. Return None if there is nothing to judge.

    Raises
    ------
    WrongState
        If the member is no active annotator.
    """
    # One claim at a time for each person: two tabs get the same batch.
    annotator = locked(Membership.objects.filter(pk=annotator.pk)).select_related("campaign").get()
    if not annotator.may_judge:
        raise WrongState(gettext("Your membership of this campaign is not that of an active annotator."))
    if held := _held_by(annotator):
        return held
    if annotator.must_pass_exam:
        return sittings.next_batch(annotator)
    if check := checks.due(annotator):
        return check.lend_to(annotator)
    return _free_batch_for(annotator)


def _held_by(annotator: Membership) -> Assignment | None:
    """Return the assignment in the annotator's hands. End those that others let expire."""
    in_hands = Q(annotator=annotator) | Q(annotator__campaign=annotator.campaign_id, lease__lte=Now())
    live = list(Assignment.objects.live().filter(in_hands))
    own = next((each for each in live if each.annotator_id == annotator.pk), None)
    if held := own and own.take_up():
        return held
    for expired in live:
        expired.lapse()
    return None


def _free_batch_for(annotator: Membership) -> Assignment | None:
    while batch := _free_batch(annotator):
        # The lock protects the batch's row only. Its query may have been withdrawn while this process waited. What the
        # annotator did cannot have changed, because the annotator's row is locked too.
        still_free = batch.in_round.filter(batch__in=with_free_slot().filter(pk=batch.pk))
        still_free = still_free.select_related("clip", "moment")
        if pairs := list(still_free):
            return batch.hand_to(annotator, pairs)
    return None


def _free_batch(annotator: Membership) -> Batch | None:
    """Return the first batch that the annotator may judge, locked."""
    # Batches that others are claiming are skipped, so that nobody waits. If no other is free, wait for one of them.
    for skip_locked in (True, False):
        for free in claimable_by(annotator):
            if batch := locked(free, skip_locked=skip_locked).first():
                return batch
    return None


@all_or_nothing
def resume(assignment: Assignment) -> Assignment:
    """Give a lapsed assignment back to its annotator, under a new fence.

    Raises
    ------
    Stale
        If the batch's slots are taken, the assignment was submitted, or the query is withdrawn.
    WrongState
        If the annotator holds another batch.
    """
    annotator = locked(Membership.objects.filter(pk=assignment.annotator_id)).get()
    batch = locked(Batch.objects.filter(pk=assignment.batch_id)).get()
    assignment.refresh_from_db()
    if assignment.state == Assignment.State.LIVE and (held := assignment.take_up()):
        return held
    if batch.query.withdrawn:
        raise Stale(gettext("This query is no longer judged. What you saved is kept on record."))
    needs_slot = assignment.slot is not None
    free = batch.state == Batch.State.OPEN and batch.round == assignment.round and batch.taken < ANNOTATORS
    if assignment.is_done or (needs_slot and not free) or not annotator.may_judge:
        raise Stale(
            gettext("This batch has gone to others meanwhile, or is submitted. What you saved is kept on record.")
        )
    if annotator.assignments.live().exists():
        raise WrongState(gettext("You have another batch in your hands. Submit that one first."))
    return batch.hand_to(annotator) if needs_slot else batch.lend_to(annotator, assignment.round)
