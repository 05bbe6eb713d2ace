"""What holds the frontier back: queries that are not finished, each with why, and what finishing it needs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Exists, OuterRef, QuerySet
from django.urls import reverse

from campaigns.models import Campaign
from judging.models import Batch, Candidate, Query
from judging.pool.clips import cut_clips
from judging.review.frontier import Frontier
from judging.work.claiming import without_annotators


@dataclass(frozen=True)
class Why:
    """A reason for which a query is not finished, and what finishing it needs."""

    code: str
    words: str
    needs: str
    page: str  # where it is done: the name of an address


UNRANKED = Why("unranked", "its candidates are not ranked yet", "It opens by itself.", "campaign-work")
# The most pressing first. A query with several batches has the first reason that holds for one of them.
WHY = [
    Why("uncut", "a clip cannot be cut", "Cut it again, or open the batch without it.", "batch"),
    Why("nobody", "nobody is left who may judge it", "Invite annotators.", "people"),
    Why("flagged", "an annotator flagged a pair", "Grade the pair or have it judged again, then review.", "batch"),
    Why("review", "it waits for your review", "Close it, or open its second batch.", "batch"),
    Why("cutting", "its clips are being cut", "It opens by itself.", "campaign-work"),
    Why("judging", "it is being judged", "It goes on before other queries begin.", "batch"),
    Why("waiting", "it waits for annotators", "It goes on before other queries begin.", "batch"),
    Why("new", "nobody has begun it", "Annotators get it next.", "batch"),
    UNRANKED,
]
BY_CODE = {each.code: each for each in WHY}


@dataclass(frozen=True)
class Held:
    """A query that is not finished. The batch is the one that the reason is about, if it has any."""

    query: Query
    why: Why
    batch: int | None  # its primary key

    @property
    def address(self) -> str:
        name = self.query.campaign.name
        if self.why.page == "batch" and self.batch:
            return reverse("batch", args=[name, self.batch])
        return reverse(self.why.page, args=[name])


def holding(campaign: Campaign, found: Frontier) -> QuerySet[Query]:
    """Return the queries that hold the frontier back, in their order."""
    return campaign.queries.ranked_population().filter(found.holds).order_by("place")


def held_rows(queries: Iterable[Query]) -> list[Held]:
    """Return why each query is not finished, in one statement for all of them."""
    queries = list(queries)
    flagged = Candidate.objects.filter(batch=OuterRef("pk"), outcome=Candidate.Outcome.FLAGGED)
    failed = cut_clips.jobs().failed().filter(row=OuterRef("pk"))
    nobody = without_annotators().filter(pk=OuterRef("pk"))
    columns = ("query", "pk", "state", "taken", "begun", Exists(failed), Exists(flagged), Exists(nobody))
    reasons: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for query, batch, *state in Batch.objects.filter(query__in=queries).unreviewed().values_list(*columns):
        reasons[query].append((WHY.index(BY_CODE[_code(*state)]), batch))
    held = []
    for each in queries:
        number, first = min(reasons[each.pk], default=(WHY.index(UNRANKED), None))
        held.append(Held(each, WHY[number], first))
    return held


def _code(state: str, taken: int, begun: bool, has_failed: bool, is_flagged: bool, has_nobody: bool) -> str:
    if state == Batch.State.PREPARING:
        return "uncut" if has_failed else "cutting"
    if state == Batch.State.SETTLED:
        return "flagged" if is_flagged else "review"
    if has_nobody:
        return "nobody"
    if taken:
        return "judging"
    return "waiting" if begun else "new"
