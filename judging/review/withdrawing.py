"""A query taken out of its campaign, and brought back. Nothing that was said of it is touched."""

from __future__ import annotations

from django.db.models.functions import Now

from base.transactions import all_or_nothing
from judging.models.assignment import Assignment
from judging.models.pool import Query


@all_or_nothing
def withdraw(query: Query, reason: str) -> None:
    """Nobody gets it to judge any more, and no export holds it. Doing it twice is harmless."""
    Query.objects.filter(pk=query.pk).hold()
    Query.objects.filter(pk=query.pk, withdrawn=None).update(withdrawn=Now(), withdrawn_why=reason)
    for assignment in Assignment.objects.live().filter(batch__query=query):
        assignment.give_back()
    query.campaign.touch()


@all_or_nothing
def bring_back(query: Query) -> None:
    """As if it had never been withdrawn: what was begun goes on."""
    Query.objects.filter(pk=query.pk).hold()
    Query.objects.filter(pk=query.pk).update(withdrawn=None, withdrawn_why="")
    query.campaign.touch()
