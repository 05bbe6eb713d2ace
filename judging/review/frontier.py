"""The frontier: how far queries are finished in the order that was drawn. Up to it they are a random sample of all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Max, Min, Q, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce

from base.database import compiled
from campaigns.models import Campaign
from judging.models import Query
from judging.models.pool import QueryQuerySet

FINISHED, UNFINISHED = Q(withdrawn=None, closed=True), Q(withdrawn=None, closed=False)

REACH = "how many queries can be up to the frontier before strata that have to wait are begun; null if none has to"
BEYOND_ALL = 2.0  # a place behind every other


@dataclass(frozen=True)
class Frontier:
    """How far the queries of a campaign are finished: closed, with what the lead decided, before every other one."""

    queries: int  # of which those up to the frontier are a sample: N
    sample: int  # queries up to the frontier: n
    beyond: int  # queries that are finished, but have one before them that is not
    left_out: int  # queries up to the frontier that were withdrawn for what judging them showed
    holding: int  # queries that are not finished, before one that is
    end: float | None  # the place of the first query that is not finished; None if there is none
    last: float | None  # the place of the last query that is finished; None if there is none

    @property
    def is_random(self) -> bool:
        """Whether the queries up to the frontier are a random sample of all."""
        return not self.left_out

    @property
    def before(self) -> Q:
        """The condition for a query that lies before the frontier."""
        return Q() if self.end is None else Q(place__lt=self.end)

    @property
    def holds(self) -> Q:
        """The condition for a query that holds the frontier back: not finished, and before one that is, or the next."""
        if self.end is None:
            return Q(pk__in=[])
        return UNFINISHED & Q(place__lte=max(self.end, self.last or 0))


def frontier(campaign: Campaign) -> Frontier:
    """Return where the frontier is now."""
    row = _numbers(campaign.pk)
    return Frontier(*row) if row else Frontier(0, 0, 0, 0, 0, None, None)


def _of_campaign(key: int) -> QuerySet[Query, Any]:
    """Return the numbers of a frontier, in their order, if the campaign has any query."""
    population = Query.objects.filter(campaign=key).ranked_population()
    end = Coalesce(_place(population.filter(UNFINISHED).order_by("place")), Value(BEYOND_ALL))
    last = Coalesce(_place(population.filter(FINISHED).order_by("-place")), Value(0.0))
    numbers = {
        "population": Count("pk"),
        "sample": Count("pk", filter=FINISHED & Q(place__lt=end)),
        "beyond": Count("pk", filter=FINISHED & Q(place__gt=end)),
        "left_out": Count("pk", filter=Q(withdrawn__isnull=False, place__lt=end)),
        "holding": Count("pk", filter=UNFINISHED & Q(place__lt=last)),
        "first_unfinished": Min("place", filter=UNFINISHED),
        "last_finished": Max("place", filter=FINISHED),
    }
    return population.order_by().values("campaign").annotate(**numbers).values_list(*numbers)


_numbers = compiled(_of_campaign)


def reach(campaign: Campaign) -> int | None:
    """Return how many queries can be up to the frontier before a stratum that has to wait begins.

    Return None if none has to wait: all queries that are not finished have the same priority.
    """
    population = campaign.queries.ranked_population()
    first = population.filter(UNFINISHED).order_by("priority").values_list("priority").annotate(place=Min("place"))
    waits = [place for _, place in first][1:]
    return population.filter(place__lt=min(waits)).count() if waits else None


def sample_without(campaign: Campaign, queries: QuerySet[Query], *, withdrawn: bool = False) -> tuple[int, int]:
    """Return how many queries are up to the frontier, and how many if these were not finished; or were withdrawn."""
    population, others = campaign.queries.ranked_population(), ~Q(pk__in=queries.values("pk"))
    unfinished = UNFINISHED & others if withdrawn else UNFINISHED | (Q(withdrawn=None) & ~others)
    ends = [
        Coalesce(_place(population.filter(left).order_by("place")), Value(BEYOND_ALL))
        for left in (UNFINISHED, unfinished)
    ]
    numbers = population.aggregate(
        now=Count("pk", filter=FINISHED & Q(place__lt=ends[0])),
        after=Count("pk", filter=FINISHED & others & Q(place__lt=ends[1])),
    )
    return numbers["now"], numbers["after"]


def _place(queries: QueryQuerySet) -> Subquery:
    return Subquery(queries.values("place")[:1])


def up_to(campaign: Campaign, found: Frontier) -> QueryQuerySet:
    """Return the queries up to the frontier."""
    return campaign.queries.pool().filter(found.before)
