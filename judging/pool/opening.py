"""Opening a query's batches: the first holds the best ranks, the second the ranks behind them."""

from __future__ import annotations

from django.db.models import Q, QuerySet

from base.errors import WrongState
from base.transactions import all_or_nothing
from campaigns.models import Campaign, Event, Membership
from jobs.keys import keys_of
from jobs.models import Job
from judging.models.pool import Batch, Query
from judging.pool.clips import CUT_CLIPS, clips_for, open_when_cut, prepare


@all_or_nothing
def open_batch(query: Query, number: int) -> Batch:
    """Return the query's batch of that number. If it does not exist, make it and ask for its clips.

    Ranks that are in a further batch stay there.

    Raises
    ------
    WrongState
        If the query has no candidates of the batch's ranks.
    """
    size = query.campaign.batch_size
    ranks = (size * (number - 1) + 1, size * number)
    of_ranks = query.candidates.filter(Q(batch=None) | Q(batch__further=False), rank__range=ranks)
    if not of_ranks.exists():
        raise WrongState(f"“{query.text}” has no candidates of ranks {ranks[0]}-{ranks[1]}.")
    known = {"campaign": query.campaign, "kind": query.kind}
    batch, made = query.batches.get_or_create(number=number, edition=1, defaults=known)
    if made:
        of_ranks.update(batch=batch)
        prepare(batch)
    return batch


@all_or_nothing
def open_without_clips(lead: Membership, batch: Batch) -> bool:
    """Open a batch although clips of it are not there, on the lead's word, which is noted in the lead's history.

    Clips that come later are shown to whoever judges then. Doing it twice is harmless.

    Returns
    -------
    bool
        Whether this call has opened the batch.
    """
    to_come = len(open_when_cut(batch))
    if not batch.open():
        return False
    reason = f"batch {batch.number} of query {batch.query.query_id}, without {to_come} of {len(clips_for(batch))} clips"
    lead.events.create(kind=Event.Kind.OPENED, by=lead, reason=reason[:500])
    return True


def batches_without_clips(campaign: Campaign) -> QuerySet[Batch]:
    """Return the batches that wait for the lead's word, because clips of them cannot be cut."""
    preparing = Batch.objects.in_campaign(campaign).filter(state=Batch.State.PREPARING)
    failed = Job.objects.filter(kind=CUT_CLIPS, state=Job.State.FAILED, key__in=keys_of(preparing))
    keys = [key.rpartition(" ")[2] for key in failed.values_list("key", flat=True)]
    return preparing.filter(pk__in=keys).order_by("pk")


def open_all_without_clips(lead: Membership) -> int:
    """Open all batches that wait for clips that cannot be cut, and return how many this has opened."""
    waiting = batches_without_clips(lead.campaign).select_related("query__campaign")
    return sum(open_without_clips(lead, batch) for batch in waiting)
