"""Campaigns with the numbers that a list of them shows."""

from __future__ import annotations

from typing import Any

from django.db.models import Count, F, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from campaigns.models import Campaign
from judging.models import Assignment, Batch, Query


def at_a_glance(campaigns: QuerySet[Campaign]) -> QuerySet[Campaign]:
    """The campaigns with what the list of them says of each, in one question however many they are."""
    pool = Query.objects.pool().filter(campaign=OuterRef("pk"))
    return campaigns.annotate(
        n_queries=number_of(pool),
        n_closed=number_of(pool.filter(closed=True)),
        n_to_review=number_of(Batch.objects.to_review().filter(campaign=OuterRef("pk"))),
        n_at_work=number_of(Assignment.objects.live().filter(annotator__campaign=OuterRef("pk"))),
    )


def number_of(rows: QuerySet[Any]) -> Coalesce:
    """How many rows, as a subquery."""
    counted = rows.order_by().annotate(all=F("pk") * 0).values("all").annotate(n=Count("pk")).values("n")
    return Coalesce(Subquery(counted), 0)
