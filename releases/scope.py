"""What exports and releases hold of a campaign, and the order in which they list it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db.models import F, Func
from django.db.models.expressions import Combinable
from django.db.models.functions import Length

from campaigns.models import Campaign
from judging.models import Candidate
from judging.models.pool import CandidateQuerySet, QueryQuerySet


@dataclass(frozen=True)
class Scope:
    """The pool of a campaign, or the part of it that belongs to finished queries."""

    campaign: Campaign
    finished_only: bool = False

    @property
    def queries(self) -> QueryQuerySet:
        pool = self.campaign.queries.pool()
        return pool.finished() if self.finished_only else pool

    @property
    def candidates(self) -> CandidateQuerySet:
        pool = Candidate.objects.in_pool(self.campaign)
        return pool.filter(query__in=self.queries.order_by().values("pk")) if self.finished_only else pool


class _Bytes(Func):
    """A text that is compared byte by byte. SQLite does so anyway; PostgreSQL asks the language of the machine."""

    template = "%(expressions)s"

    def as_postgresql(self, compiler: Any, connection: Any, **options: Any) -> Any:
        return self.as_sql(compiler, connection, template='%(expressions)s COLLATE "C"', **options)


def by_query(path: str = "") -> tuple[Combinable, ...]:
    """Return the order of queries: by their ids, numbers by their value.

    It depends on nothing but the ids, so that two databases that hold the same campaign write the same files.
    """
    return Length(F(f"{path}query_id")), _Bytes(F(f"{path}query_id"))


def by_rank(candidate: str = "") -> tuple[Combinable, ...]:
    """Return the order of candidates: by query, and by rank."""
    return *by_query(f"{candidate}query__"), F(f"{candidate}rank")
