"""The list of a campaign's queries with their batches, which the desk, the API and a file read alike."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.db.models import Case, Count, Exists, F, FloatField, OuterRef, Q, QuerySet, Subquery, When
from django.db.models.functions import Cast, Coalesce, JSONObject
from django.utils import timezone

from base.database import counts_for
from base.listing import NUMBERS, TIMES, Choices, Column, Listing
from base.text import storable
from campaigns.models import Campaign
from judging.models import Assignment, Batch, Candidate, Kind, Query, Review
from judging.models.pool import BatchQuerySet, QueryQuerySet
from judging.review.frontier import frontier
from judging.review.reviewing import Recommendation, recommendations
from judging.work.claiming import stuck_batches, without_annotators

OPEN = Batch.objects.filter(state=Batch.State.OPEN)
# The batches by which queries are in a state; of these there are few at a time.
BATCHES_IN_STATES: dict[str, BatchQuerySet] = {
    "review": Batch.objects.to_review(),
    "work": OPEN.filter(taken__gt=0),
    "contested": OPEN.filter(round=2),
    "stuck": stuck_batches(),
    "waiting": without_annotators(),
}


def _has(state: str) -> Q:
    """Queries of the pool with such a batch."""
    return IN_POOL & Q(pk__in=BATCHES_IN_STATES[state].values("query"))


IN_POOL = Q(withdrawn__isnull=True)
BEGUN = Q(changed__isnull=False) | _has("work")  # somebody submitted a batch, or has one
# Each state's words, and which of the pool's queries are in it.
STATES_OF_QUERIES: dict[str, tuple[str, Q]] = {
    "": ("All queries", IN_POOL),
    "review": ("To review", _has("review")),
    "work": ("In work", _has("work")),
    "contested": ("In round two", _has("contested")),
    "stuck": ("Stuck in round two", _has("stuck")),
    "waiting": ("Nobody left to judge", _has("waiting")),
    "begun": ("Begun, not closed", IN_POOL & Q(closed=False) & BEGUN),
    "new": ("Not begun", IN_POOL & Q(closed=False) & ~BEGUN),
    "closed": ("Closed", IN_POOL & Q(closed=True)),
    "withdrawn": ("Withdrawn", Q(withdrawn__isnull=False)),
}
RARE = ("stuck", "waiting")
OF_QUERIES, ALL = ("", "begun", "closed", "withdrawn"), "all"  # states that the query's own row tells, mostly
OF_PROGRESS = ("begun", "new")  # what the line of progress leads to
LONGEST_SEARCH = 200  # characters
LONGEST_AGE = 3650  # days


class PairFilters(forms.Form):
    """The filters that the lists of queries and of batches share."""

    q = forms.CharField(
        required=False, max_length=LONGEST_SEARCH, label="Text", help_text="words of the query, or its id in runs"
    )
    split = forms.CharField(required=False, max_length=20, label="Split")
    mean_from = forms.FloatField(required=False, min_value=0, max_value=4, label="Last five from")
    mean_to = forms.FloatField(required=False, min_value=0, max_value=4, label="Last five to")
    contested_from = forms.IntegerField(required=False, min_value=0, max_value=100, label="Contested % from")
    contested_to = forms.IntegerField(required=False, min_value=0, max_value=100, label="Contested % to")
    worker = forms.IntegerField(required=False, min_value=1, max_value=2**31 - 1, label="Judged by worker")
    flagged = forms.BooleanField(required=False, label="With a flagged pair")
    discarded = forms.BooleanField(required=False, label="With a discarded pair")

    def clean_q(self) -> str:
        words = str(self.cleaned_data["q"])
        if not storable(words):
            raise forms.ValidationError("This has characters that no query has.")
        return words


class QueryFilters(PairFilters):
    """The filters of the list of queries."""

    show = forms.ChoiceField(
        required=False, choices=[(key, words) for key, (words, _) in STATES_OF_QUERIES.items()], label="State"
    )
    similarity_from = forms.FloatField(required=False, min_value=-1, max_value=1, label="Similarity from")
    similarity_to = forms.FloatField(required=False, min_value=-1, max_value=1, label="Similarity to")
    days_from = forms.IntegerField(required=False, min_value=0, max_value=LONGEST_AGE, label="Idle days from")
    days_to = forms.IntegerField(required=False, min_value=0, max_value=LONGEST_AGE, label="Idle days to")


def judged_by(rows: QuerySet[Any], worker: int, row: str = "batch__query") -> QuerySet[Any]:
    """Return the rows of which a worker submitted something; `row` leads there from an assignment."""
    own = Assignment.objects.filter(annotator__worker=worker, annotator__campaign=OuterRef("campaign"))
    return rows.filter(Exists(own.filter(**{row: OuterRef("pk")}, submitted__isnull=False)))


def _days_ago(days: int) -> datetime:
    return timezone.now() - timedelta(days=days)


def _share(name: str) -> Case:
    """The share of a query's candidates in batches; null while it has none."""
    return Case(When(pairs__gt=0, then=Cast(name, FloatField()) / F("pairs")), output_field=FloatField())


QUERIES = Listing(
    "queries",
    (
        Column("id", "Id", lambda row: row.query.query_id, by="pk", is_usual=False),
        Column("text", "Query", lambda row: row.query.text, by="text"),
        Column("split", "Split", lambda row: row.query.split, by="split", is_usual=False),
        Column("place", "Order of judging", lambda row: row.query.place, "place", NUMBERS, True, False, 4),
        Column("batches", "Batches", lambda row: " ".join(f"{each.batch.number}:{each.look}" for each in row.batches)),
        Column("grades", "Grades", lambda row: "".join(pair.sign for pair in row.pairs)),
        Column("mean", "Last five", lambda row: row.query.last_mean, "last_mean", NUMBERS, True, places=1),
        Column(
            "contested",
            "Contested",
            lambda row: None if row.query.contested_share is None else round(100 * row.query.contested_share, 1),
            "contested_share",
            NUMBERS,
            is_number=True,
        ),
        Column("discarded", "Discarded", lambda row: row.query.discarded, by="discarded", is_number=True),
        Column("flagged", "Flagged", lambda row: row.query.flagged, by="flagged", is_number=True, is_usual=False),
        Column("pairs", "Pairs", lambda row: row.query.pairs, by="pairs", is_number=True, is_usual=False),
        Column("similarity", "Similarity", lambda row: row.query.similarity, "similarity", NUMBERS, True, False, 2),
        Column("changed", "Last batch", lambda row: row.query.changed, "changed", TIMES, is_usual=False),
        Column("advice", "Recommendation", lambda row: row.advice),
    ),
    QueryFilters,
    {
        "show": lambda rows, state: rows,  # the rows are those of the state already
        "q": lambda rows, words: rows.filter(Q(text__icontains=words) | Q(query_id=words)),
        "split": lambda rows, split: rows.filter(split=split),
        "mean_from": lambda rows, mean: rows.filter(last_mean__gte=mean),
        "mean_to": lambda rows, mean: rows.filter(last_mean__lte=mean),
        "contested_from": lambda rows, percent: rows.filter(contested_share__gte=percent / 100),
        "contested_to": lambda rows, percent: rows.filter(contested_share__lte=percent / 100),
        "similarity_from": lambda rows, similarity: rows.filter(similarity__gte=similarity),
        "similarity_to": lambda rows, similarity: rows.filter(similarity__lte=similarity),
        "worker": judged_by,
        "days_from": lambda rows, days: rows.filter(changed__lte=_days_ago(days)),
        "days_to": lambda rows, days: rows.filter(changed__gte=_days_ago(days)),
        "flagged": lambda rows, _: rows.filter(flagged__gt=0),
        "discarded": lambda rows, _: rows.filter(discarded__gt=0),
    },
    show=lambda queries: query_rows(queries),
)


def queries_of(campaign: Campaign, state: str | None = "") -> QueryQuerySet:
    """Return the queries of a campaign's pool in a state, or with None in any, with what their list sorts by."""
    rows: QueryQuerySet = campaign.queries.filter(kind=Kind.POOL)  # each knows the campaign without reading it
    rows = rows if state is None else rows.filter(STATES_OF_QUERIES[state][1])
    annotated: QueryQuerySet = rows.annotate(contested_share=_share("contested"))
    return annotated


def chosen_queries(
    campaign: Campaign, params: Mapping[str, Any], keys: Sequence[Any] | None
) -> tuple[QueryQuerySet, str]:
    """Return the queries with these keys, or without keys those that filters choose; and how they were chosen."""
    if keys is not None:
        return queries_of(campaign, None).filter(pk__in=keys), "ticked in the list"
    choices = QUERIES.choices(params)
    found: Any = choices.chosen(queries_of(campaign, choices.filters.get("show", "")))
    return found, choices.words or "all queries"


def ready_line(campaign: Campaign, rows: QuerySet[Query]) -> tuple[int, str] | None:
    """Return the key of the first query of a list, in the order of judging, that is not ready, and words above it."""
    found = frontier(campaign)
    later = rows.none() if found.end is None else rows.filter(place__gte=found.end).order_by("place", "pk")
    key = later.values_list("pk", flat=True).first()
    return (key, f"Ready to release: {found.sample:,}") if key else None


def states_of_queries(numbers: dict[str, int], choices: Choices) -> list[tuple[str, str, int, bool]]:
    """Each state's address, words and number of queries, and whether it is chosen. Rare ones only where some are."""
    chosen = choices.filters.get("show", "")
    return [
        (choices.address(show=key), words, numbers[key], key == chosen)
        for key, (words, _) in STATES_OF_QUERIES.items()
        if key == chosen or (key not in OF_PROGRESS and (numbers[key] or key not in RARE))
    ]


def _numbers_of_states() -> dict[str, Any]:
    """Return how many queries of a campaign, the outer row, are in the states of batches, as subqueries.

    How many are in the other states is one subquery, so that the queries are read once.
    """
    own = Query.objects.filter(campaign=OuterRef("pk"), kind=Kind.POOL).order_by().values("campaign")
    each = {key or ALL: Count("pk", filter=STATES_OF_QUERIES[key][1]) for key in OF_QUERIES}
    numbers: dict[str, Any] = {QUERIES.key: Subquery(own.annotate(numbers=JSONObject(**each)).values("numbers"))}
    for state, batches in BATCHES_IN_STATES.items():
        of_campaign = batches.filter(campaign=OuterRef("pk"), kind=Kind.POOL, query__withdrawn=None)
        numbers[state] = number_of(of_campaign, Count("query", distinct=True))
    return numbers


_counted_in_states = counts_for(Campaign, _numbers_of_states)


def numbers_in_states(campaign: int) -> dict[str, int]:
    """Return how many of the campaign's queries are in each state; what is not begun is what is left."""
    numbers = _counted_in_states(campaign)
    of_queries = numbers.pop(QUERIES.key) or dict.fromkeys((ALL, *OF_QUERIES), 0)
    found = {key: of_queries[key or ALL] for key in OF_QUERIES} | numbers
    return found | {"new": found[""] - found["begun"] - found["closed"]}


ADVICE = {Review.Verdict.SECOND: "second batch", Review.Verdict.CLOSE: "close"}


@dataclass(frozen=True)
class BatchRow:
    """A batch as a small square in the table, and what its end looks like."""

    batch: Batch
    look: str
    words: str
    recommendation: Recommendation | None  # while it waits for a review

    @property
    def advice(self) -> str:
        """The recommendation in a word or two."""
        verdict = self.recommendation.verdict if self.recommendation else None
        return ADVICE[Review.Verdict(verdict)] if verdict else "resolve flag" if self.batch.flagged else "decide"


@dataclass(frozen=True)
class PairMark:
    """A candidate of a batch as one square."""

    grade: int | None
    escalated: bool

    @property
    def sign(self) -> str:
        """The grade as a file has it."""
        return "-" if self.grade is None else str(self.grade)


@dataclass(frozen=True)
class QueryRow:
    query: Query
    batches: list[BatchRow]
    pairs: list[PairMark]  # by rank

    def __str__(self) -> str:
        return self.query.text

    @property
    def advice(self) -> str:
        """What is to do with the query, or became of it, in a word or two."""
        if self.query.withdrawn:
            return f"withdrawn: {self.query.withdrawn_why}"
        advice = [batch.advice for batch in self.batches if batch.recommendation]
        return ", ".join((["closed"] if self.query.closed else []) + advice)


def query_rows(queries: list[Query]) -> list[QueryRow]:
    """One row for each query, with its batches; of each number the edition that is in work, or the newest."""
    by_key = {query.pk: query for query in queries}
    newest: dict[tuple[int, int], Batch] = {}
    with_second = set()
    for batch in Batch.objects.filter(query__in=by_key).order_by("query", "number", "edition"):
        batch.query = by_key[batch.query_id]
        if batch.number == 2:
            with_second.add(batch.query_id)
        other = newest.get((batch.query_id, batch.number))
        if other is None or other.is_done:
            newest[batch.query_id, batch.number] = batch
    settled = [batch for batch in newest.values() if batch.state == Batch.State.SETTLED]
    found = recommendations(settled, with_second)
    by_query: dict[int, list[BatchRow]] = {}
    pairs: dict[int, list[PairMark]] = defaultdict(list)
    in_batches = Candidate.objects.filter(query__in=by_key, batch__isnull=False).order_by("query", "rank")
    for query, grade, escalated in in_batches.values_list("query_id", "grade", "escalated"):
        pairs[query].append(PairMark(grade, escalated))
    for batch in newest.values():
        look, words = appearance(batch)
        row = BatchRow(batch, look, words, found.get(batch.pk))
        by_query.setdefault(batch.query_id, []).append(row)
    return [QueryRow(query, by_query.get(query.pk, []), pairs[query.pk]) for query in queries]


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
        n_at_work=number_of(Assignment.objects.in_turn().filter(turn=0, annotator__campaign=OuterRef("pk"))),
    )


def number_of(rows: QuerySet[Any], count: Count | None = None) -> Coalesce:
    """How many rows, as a subquery; or what else is to be counted of them."""
    counted = rows.order_by().annotate(all=F("pk") * 0).values("all").annotate(n=count or Count("pk")).values("n")
    return Coalesce(Subquery(counted), 0)
