"""The list of a campaign's batches, which pages, the API and a file read alike; by itself it is of those to review."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.db.models import Exists, F, OuterRef, Q

from base.listing import NUMBERS, Choices, Column, Listing
from campaigns.models import Campaign
from campaigns.models.membership import LONGEST_GROUP
from judging.models import Batch, Candidate
from judging.models.pool import BatchQuerySet, QueryQuerySet
from judging.models.states import Priority
from judging.review.reviewing import Recommendation, recommendations
from reports.tables.queries import BATCHES_IN_STATES, PairFilters, appearance, chosen_queries, judged_by, queries_of

REVIEW, ALL = "review", "all"
OPEN = Batch.objects.filter(state=Batch.State.OPEN)
REUSED = Candidate.objects.reused()
# Each state's words, and the batches that are in it.
STATES_OF_BATCHES: dict[str, tuple[str, BatchQuerySet]] = {
    REVIEW: ("To review", BATCHES_IN_STATES["review"]),
    ALL: ("All batches", Batch.objects.all()),
    "preparing": ("Clips to come", Batch.objects.filter(state=Batch.State.PREPARING)),
    "open": ("Open", OPEN),
    "work": ("In work", BATCHES_IN_STATES["work"]),
    "contested": ("In round two", BATCHES_IN_STATES["contested"]),
    "stuck": ("Stuck in round two", BATCHES_IN_STATES["stuck"]),
    "waiting": ("Nobody left to judge", BATCHES_IN_STATES["waiting"]),
    "reviewed": ("Reviewed", Batch.objects.filter(state=Batch.State.REVIEWED)),
}


class BatchFilters(PairFilters):
    """The filters of the list of batches."""

    show = forms.ChoiceField(
        required=False, choices=[(key, words) for key, (words, _) in STATES_OF_BATCHES.items()], label="State"
    )
    number = forms.IntegerField(required=False, min_value=1, max_value=1000, label="Batch number")
    group = forms.CharField(required=False, max_length=LONGEST_GROUP, label="For the group")
    reused = forms.BooleanField(required=False, label="With a reused grade")


@dataclass(frozen=True)
class BatchLine:
    """A batch, and what is recommended if it waits for a review."""

    batch: Batch
    recommendation: Recommendation | None

    def __str__(self) -> str:
        return str(self.batch)

    @property
    def tick(self) -> int:
        """What is chosen with the line: its query."""
        return self.batch.query_id

    @property
    def state(self) -> str:
        return appearance(self.batch)[1]

    @property
    def advice(self) -> str:
        """The recommendation with its reason."""
        return self.recommendation.reason if self.recommendation else ""


BATCHES = Listing(
    "batches",
    (
        Column("query", "Query", lambda line: line.batch.query.text, by="text"),
        Column("id", "Id", lambda line: line.batch.query.query_id, is_usual=False),
        Column("split", "Split", lambda line: line.batch.query.split, by="split", is_usual=False),
        Column("number", "Batch", lambda line: line.batch.number, by="number", is_number=True),
        Column("edition", "Edition", lambda line: line.batch.edition, by="edition", is_number=True, is_usual=False),
        Column("state", "State", lambda line: line.state),
        Column("mean", "Last five", lambda line: line.batch.last_mean, "last_mean", NUMBERS, True, places=1),
        Column("contested", "Contested", lambda line: line.batch.contested, by="contested", is_number=True),
        Column("discarded", "Discarded", lambda line: line.batch.discarded, by="discarded", is_number=True),
        Column("flagged", "Flagged", lambda line: line.batch.flagged, by="flagged", is_number=True, is_usual=False),
        Column("pairs", "Pairs", lambda line: line.batch.pairs, by="pairs", is_number=True, is_usual=False),
        Column("group", "Group", lambda line: line.batch.group, by="group", is_usual=False),
        Column("priority", "Comes", lambda line: Priority(line.batch.priority).label, by="priority", is_usual=False),
        Column("advice", "Recommendation", lambda line: line.advice),
    ),
    BatchFilters,
    {
        "show": lambda rows, state: rows,  # the rows are those of the state already
        "q": lambda rows, words: rows.filter(Q(query__text__icontains=words) | Q(query__query_id=words)),
        "split": lambda rows, split: rows.filter(query__split=split),
        "number": lambda rows, number: rows.filter(number=number),
        "mean_from": lambda rows, mean: rows.filter(last_mean__gte=mean),
        "mean_to": lambda rows, mean: rows.filter(last_mean__lte=mean),
        "contested_from": lambda rows, percent: rows.filter(pairs__gt=0, contested__gte=F("pairs") * percent / 100.0),
        "contested_to": lambda rows, percent: rows.filter(pairs__gt=0, contested__lte=F("pairs") * percent / 100.0),
        "worker": lambda rows, worker: judged_by(rows, worker, "batch"),
        "group": lambda rows, group: rows.filter(group=group),
        "flagged": lambda rows, _: rows.filter(flagged__gt=0),
        "discarded": lambda rows, _: rows.filter(discarded__gt=0),
        "reused": lambda rows, _: rows.filter(Exists(REUSED.filter(batch=OuterRef("pk")))),
    },
    show=lambda batches: _lines(batches),
    tab="batches",
)


def batches_of(campaign: Campaign, state: str) -> BatchQuerySet:
    """Return the batches of a campaign's pool in a state."""
    # The campaign, which is the same for all, is read once and not with each row.
    own = STATES_OF_BATCHES[state][1].in_pool(campaign).select_related("query").prefetch_related("query__campaign")
    found: BatchQuerySet = own.annotate(text=F("query__text"), split=F("query__split"))
    return found


def _lines(batches: list[Batch]) -> list[BatchLine]:
    settled = [batch for batch in batches if batch.state == Batch.State.SETTLED]
    found = recommendations(settled)
    return [BatchLine(batch, found.get(batch.pk)) for batch in batches]


def states_of_batches(choices: Choices) -> list[tuple[str, str, None, bool]]:
    """Each state's address and words, without a number, and whether it is chosen."""
    chosen = choices.filters.get("show", REVIEW)
    return [(choices.address(show=key), words, None, key == chosen) for key, (words, _) in STATES_OF_BATCHES.items()]


def queries_of_batches(
    campaign: Campaign, params: Mapping[str, Any], keys: Sequence[Any] | None
) -> tuple[QueryQuerySet, str]:
    """Return the queries with these keys, or without keys those of the batches that filters choose; and how."""
    if keys is not None:
        return chosen_queries(campaign, params, keys)
    choices = BATCHES.choices(params)
    rows: Any = choices.chosen(batches_of(campaign, choices.filters.get("show", REVIEW)))
    return queries_of(campaign, None).filter(pk__in=rows.order_by().values("query")), choices.words or "all to review"
