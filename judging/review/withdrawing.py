"""Withdrawing a query from its campaign, and bringing it back. Its judgements are not changed."""

from __future__ import annotations

from django.db.models.functions import Now

from base.transactions import all_or_nothing
from judging.models.assignment import Assignment
from judging.models.pool import Query


@all_or_nothing
def withdraw(query: Query, reason: str) -> None:
    """Withdraw a query: nobody judges it any more, and no export has it. Doing it twice is harmless."""
    Query.objects.filter(pk=query.pk).lock_with_batches()
    Query.objects.filter(pk=query.pk, withdrawn=None).update(withdrawn=Now(), withdrawn_why=reason)
    for assignment in Assignment.objects.live().filter(batch__query=query):
        assignment.give_back()
    query.campaign.touch()


@all_or_nothing
def bring_back(query: Query) -> None:
    """Bring a withdrawn query back. Judging goes on where it was."""
    Query.objects.filter(pk=query.pk).lock_with_batches()
    Query.objects.filter(pk=query.pk).update(withdrawn=None, withdrawn_why="")
    query.campaign.touch()
