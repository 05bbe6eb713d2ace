"""The lead's word on settled batches: said, undone, said of many at once, or by the campaign's policy."""

from __future__ import annotations

from django.db.models import Q

from base.errors import WrongState
from base.transactions import all_or_nothing, locked
from campaigns.models.campaign import Campaign
from campaigns.models.membership import Membership
from judging.models.pool import Batch, Query
from judging.models.review import Review
from judging.pool import opening
from judging.review.recommending import CLOSE, SECOND, recommendation, shown


@all_or_nothing
def review(batch: Batch, lead: Membership | None, verdict: str, reason: str = "") -> Review:
    """A second batch, or the query is closed; without a lead, a policy says so. Saying it twice is harmless."""
    batch = locked(Batch.objects.filter(pk=batch.pk)).select_related("query__campaign").get()
    if (earlier := standing(batch)) and earlier.verdict == verdict:
        return earlier
    if batch.state != Batch.State.SETTLED:
        raise WrongState(f"This batch is {batch.state}, not settled; it cannot be reviewed.")
    if not Batch.objects.to_review().filter(pk=batch.pk).exists():
        raise WrongState("A part of this batch is being judged again, or its query is withdrawn.")
    if verdict == SECOND:
        _open_second(batch)
    elif batch.query.batches.filter(number__gt=batch.number).exists():
        raise WrongState("The second batch is there already; close the query from that one.")
    said = Review.objects.create(batch=batch, lead=lead, verdict=verdict, reason=reason)
    note_closed(batch.query)
    batch.editions.filter(state=Batch.State.SETTLED).update(state=Batch.State.REVIEWED)
    if lead:
        lead.campaign.touch()
    return said


def standing(batch: Batch) -> Review | None:
    """The review that holds for the batch."""
    return batch.reviews.holding().first()


def next_to_review(batch: Batch) -> Batch | None:
    """The one that comes after, in the order in which batches were made; after the last, the first."""
    others = Batch.objects.in_campaign(batch.query.campaign).to_review().exclude(pk=batch.pk)
    return others.alias(before=Q(pk__lt=batch.pk)).order_by("before", "pk").first()


def _open_second(batch: Batch) -> None:
    if batch.number != 1 or batch.query.campaign.batches < 2:
        raise WrongState("A query has at most two batches; this was the last one. Close the query instead.")
    opening.open_batch(batch.query, 2)


def note_closed(query: Query) -> None:
    """A query is closed as long as the verdict to close it holds on one of its batches."""
    locked(Query.objects.filter(pk=query.pk)).get()
    verdicts = Review.objects.holding().filter(batch__query=query, verdict=CLOSE)
    Query.objects.filter(pk=query.pk).update(closed=verdicts.exists())


@all_or_nothing
def undo(review: Review, lead: Membership) -> None:
    """Take a review back: the batch is to be reviewed again. Undoing it twice is harmless."""
    query = review.batch.query
    Query.objects.filter(pk=query.pk).hold()
    review.refresh_from_db()
    if review.undone:
        return
    if review.verdict == SECOND:
        _put_back_second(query)
    Review.objects.filter(pk=review.pk).undo(lead)
    note_closed(query)
    review.batch.editions.filter(state=Batch.State.REVIEWED).update(state=Batch.State.SETTLED)
    lead.campaign.touch()


def _put_back_second(query: Query) -> None:
    """Remove the second batch, if nobody has had it; its candidates are then in no batch, as before."""
    seconds = query.batches.filter(number=2)
    if seconds.filter(assignments__isnull=False).exists():
        raise WrongState(
            "Somebody has begun the second batch, so opening it can no longer be undone. What is judged there stays."
        )
    seconds.delete()


@all_or_nothing
def accept(batch: Batch, lead: Membership, verdict: str, seen: str) -> Review:
    """Follow the recommendation that the lead saw in a list; one that has changed meanwhile is refused."""
    locked(Batch.objects.filter(pk=batch.pk)).get()
    now = recommendation(batch)
    if (now.verdict, now.seen) != (verdict, seen):
        raise WrongState(f"meanwhile: {now.reason}")
    return review(batch, lead, verdict, now.reason)


def follow_policy(batch: Batch) -> None:
    """Review what settled this moment as the campaign's policy has it. The caller holds the batch's lock."""
    if batch.state != Batch.State.SETTLED:
        return
    campaign = batch.query.campaign
    if campaign.auto_second_from is None and campaign.auto_close_below is None:
        return
    # Two editions may settle at once: whoever gets this lock last sees that both have.
    locked(Query.objects.filter(pk=batch.query_id)).get()
    settled = Batch.objects.to_review().filter(pk__in=batch.editions)
    newest = locked(settled, skip_locked=True).select_related("query__campaign").first()
    if newest is None or _stays_by_hand(newest):
        return
    said = recommendation(newest)
    if found := _automatic(campaign, said.mean):
        verdict, words = found
        if verdict in said.possible:
            review(newest, None, verdict, f"policy: last five mean {words}")


def _stays_by_hand(batch: Batch) -> bool:
    """Where a candidate is flagged, or a policy's verdict was undone before."""
    undone = Review.objects.filter(batch__in=batch.editions, lead=None, undone__isnull=False)
    return undone.exists() or batch.whole.filter(outcome="flagged").exists()


def _automatic(campaign: Campaign, mean: float | None) -> tuple[str, str] | None:
    """The verdict of the campaign's two thresholds on a mean, and why; None in between."""
    second_from, close_below = campaign.auto_second_from, campaign.auto_close_below
    if mean is not None and second_from is not None and mean >= second_from:
        return SECOND, f"{shown(mean)} ≥ {shown(second_from)}"
    if mean is not None and close_below is not None and mean < close_below:
        return CLOSE, f"{shown(mean)} < {shown(close_below)}"
    return None
