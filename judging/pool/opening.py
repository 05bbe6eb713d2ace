"""Opening a query's batches: the first holds the best ranks, the second the ranks behind them."""

from __future__ import annotations

from base.errors import WrongState
from base.transactions import all_or_nothing
from judging.models.pool import Batch, Query
from judging.pool.clips import prepare


@all_or_nothing
def open_batch(query: Query, number: int) -> Batch:
    """Return the query's batch of that number. If it does not exist, make it and ask for its clips.

    Raises
    ------
    WrongState
        If the query has no candidates of the batch's ranks.
    """
    size = query.campaign.batch_size
    ranks = (size * (number - 1) + 1, size * number)
    if not query.candidates.filter(rank__range=ranks).exists():
        raise WrongState(f"“{query.text}” has no candidates of ranks {ranks[0]}-{ranks[1]}.")
    batch, made = query.batches.get_or_create(number=number, edition=1, defaults={"kind": query.kind})
    if made:
        query.candidates.filter(rank__range=ranks).update(batch=batch)
        prepare(batch)
    return batch
