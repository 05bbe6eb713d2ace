"""The queries of a campaign with their batches, as the desk and the API list them, in a fixed number of SQL queries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.db.models import Count, F, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from base.text import storable
from campaigns.models import Campaign
from judging.models import Assignment, Batch, Kind, Query, Review
from judging.review.reviewing import Recommendation, recommendations
from judging.work.claiming import stuck_batches, without_annotators


def _has(batches: QuerySet[Batch]) -> Q:
    """Queries with such a batch; of these there are few at a time."""
    return Q(pk__in=batches.values("query"))


OPEN = Batch.objects.filter(state=Batch.State.OPEN)
IN_POOL = Q(withdrawn__isnull=True)
# Each filter's words, and which of the pool's queries it shows.
FILTERS: dict[str, tuple[str, Q]] = {
    "": ("All queries", IN_POOL),
    "review": ("To review", IN_POOL & _has(Batch.objects.to_review())),
    "work": ("In work", IN_POOL & _has(OPEN.filter(taken__gt=0))),
    "contested": ("In round two", IN_POOL & _has(OPEN.filter(round=2))),
    "stuck": ("Stuck in round two", IN_POOL & _has(stuck_batches())),
    "waiting": ("Nobody left to judge", IN_POOL & _has(without_annotators())),
    "closed": ("Closed", IN_POOL & Q(closed=True)),
    "withdrawn": ("Withdrawn", Q(withdrawn__isnull=False)),
}
RARE = ("stuck", "waiting")
SORTS = {"": ("as imported", "pk"), "-": ("newest first", "-pk"), "text": ("by text", "text")}


@dataclass(frozen=True)
class Table:
    """Which queries of a campaign the desk lists, and how."""

    show: str = ""
    words: str = ""
    sort: str = ""

    @classmethod
    def from_params(cls, params: Mapping[str, str]) -> Table:
        """What an address asks for; what is not known is as if it were not there."""
        show, sort, words = (params.get(name, "") for name in ("show", "sort", "q"))
        return cls(
            show if show in FILTERS else "",
            words.strip()[:200] if storable(words) else "",
            sort if sort in SORTS else "",
        )

    def queries(self, campaign: Campaign) -> QuerySet[Query]:
        rows = campaign.queries.filter(FILTERS[self.show][1], kind=Kind.POOL)
        if self.words:
            rows = rows.filter(Q(text__icontains=self.words) | Q(query_id=self.words))
        return rows.order_by(*self.order)

    @property
    def sorts(self) -> list[tuple[str, str]]:
        """The orders that there are, with their words."""
        return [(key, words) for key, (words, _) in SORTS.items()]

    @property
    def order(self) -> tuple[str, ...]:
        column = SORTS[self.sort][1]
        return (column,) if column.endswith("pk") else (column, "pk")

    def address(self, **changes: str | int) -> str:
        """The present choice with some changes, as an address."""
        chosen = {"show": self.show, "q": self.words, "sort": self.sort} | changes
        return "?" + urlencode({name: value for name, value in chosen.items() if value})


def filters(campaign: Campaign, table: Table) -> list[tuple[str, str, int, bool]]:
    """Each filter's address, words and number of queries, and whether it is chosen. Rare ones only where some are."""
    numbers = {f"n_{key}": Count("pk", filter=which) for key, (_, which) in FILTERS.items()}
    found = campaign.queries.filter(kind=Kind.POOL).aggregate(**numbers)
    return [
        (table.address(show=key), words, found[f"n_{key}"], key == table.show)
        for key, (words, _) in FILTERS.items()
        if found[f"n_{key}"] or key not in RARE
    ]


ADVICE = {Review.Verdict.SECOND: "second batch", Review.Verdict.CLOSE: "close"}


@dataclass(frozen=True)
class BatchRow:
    """A batch as a small square in the table, and what its end looks like."""

    batch: Batch
    look: str
    words: str
    to_review: bool
    recommendation: Recommendation | None  # once all is settled

    @property
    def advice(self) -> str:
        """The recommendation in a word or two."""
        verdict = self.recommendation.verdict if self.recommendation else None
        return ADVICE[Review.Verdict(verdict)] if verdict else "by hand"

    @property
    def acceptable(self) -> bool:
        """Whether there is a recommendation to follow."""
        return bool(self.to_review and self.recommendation and self.recommendation.verdict)


@dataclass(frozen=True)
class QueryRow:
    query: Query
    batches: list[BatchRow]


def query_rows(queries: list[Query]) -> list[QueryRow]:
    """One row for each query, with its batches; of each number the edition that is in work, or the newest."""
    batches = Batch.objects.filter(query__in=queries).select_related("query__campaign")
    newest: dict[tuple[int, int], Batch] = {}
    for batch in batches.order_by("query", "number", "edition"):
        other = newest.get((batch.query_id, batch.number))
        if other is None or other.is_done:
            newest[batch.query_id, batch.number] = batch
    found = recommendations(batch for batch in newest.values() if batch.is_done)
    by_query: dict[int, list[BatchRow]] = {}
    for batch in newest.values():
        look, words = appearance(batch)
        row = BatchRow(batch, look, words, batch.state == Batch.State.SETTLED, found.get(batch.pk))
        by_query.setdefault(batch.query_id, []).append(row)
    return [QueryRow(query, by_query.get(query.pk, [])) for query in queries]


STATES = {
    Batch.State.PREPARING: "its clips are not all there yet",
    Batch.State.SETTLED: "settled, to review",
    Batch.State.REVIEWED: "reviewed",
    Batch.State.REPLACED: "reopened, in a later edition",
}


def appearance(batch: Batch) -> tuple[str, str]:
    """A batch's state as a class name and as words."""
    if batch.state != Batch.State.OPEN:
        return batch.state, STATES[Batch.State(batch.state)]
    if batch.round == 2:
        return "contested", f"round two, {batch.taken} of 2 places taken"
    return ("work", f"in work, {batch.taken} of 2 places taken") if batch.taken else ("open", "open")


def at_a_glance(campaigns: QuerySet[Campaign]) -> QuerySet[Campaign]:
    """The campaigns with what the list of them says of each, in one question however many they are."""
    pool = Query.objects.pool().filter(campaign=OuterRef("pk"))
    return campaigns.annotate(
        n_queries=number_of(pool),
        n_closed=number_of(pool.filter(closed=True)),
        n_to_review=number_of(Batch.objects.to_review().filter(campaign=OuterRef("pk"))),
        n_at_work=number_of(Assignment.objects.live().alone().filter(annotator__campaign=OuterRef("pk"))),
    )


def number_of(rows: QuerySet[Any]) -> Coalesce:
    """How many rows, as a subquery."""
    counted = rows.order_by().annotate(all=F("pk") * 0).values("all").annotate(n=Count("pk")).values("n")
    return Coalesce(Subquery(counted), 0)
