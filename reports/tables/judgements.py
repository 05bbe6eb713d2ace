"""The judgements behind a number of the agreement pages: chosen by what the number counts, newest first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django import forms
from django.db.models import Case, Exists, F, Max, Min, OuterRef, Q, QuerySet, Subquery, When
from django.db.models.functions import Abs
from django.db.models.lookups import GreaterThan

from base.dates import week_bounds
from base.errors import BadValue
from base.forms import LARGEST_KEY
from base.listing import Choose, Column, Listing
from campaigns.models import Campaign, Membership
from corpus.models import Clip
from judging.consensus import ANNOTATORS
from judging.models import Adjudication, Candidate, Judgement, Query, Revision
from judging.models.judgement import PARTNERS
from judging.quality.check_results import FAST

MOST_COUNTED = 1000
Judgements = QuerySet[Judgement]


@dataclass(frozen=True)
class JudgementRow:
    """A judgement, the seconds before its first grade, and the co-judge's of the same round if there is one."""

    judgement: Judgement
    seconds: float | None
    other: Judgement | None
    reader: Membership | None = None  # whom a page shows it to

    def __str__(self) -> str:
        return f"rank {self.judgement.candidate.rank} of {self.judgement.candidate.query}"


class JudgementFilters(forms.Form):
    """The filters of the list of judgements, as a page takes them."""

    worker = forms.IntegerField(required=False, min_value=0, max_value=LARGEST_KEY, label="Worker")
    locals()["with"] = forms.IntegerField(required=False, min_value=0, max_value=LARGEST_KEY, label="With worker")
    week = forms.CharField(required=False, max_length=8, label="Week", help_text="as 2026-W05")
    only = forms.ChoiceField(required=False, label="Only")  # by what is known of the campaign
    own = forms.IntegerField(required=False, min_value=0, max_value=4, label="Grade")
    other = forms.IntegerField(required=False, min_value=0, max_value=4, label="Co-judge’s grade")
    query = forms.IntegerField(
        required=False, min_value=0, max_value=LARGEST_KEY, widget=forms.HiddenInput, label="Query"
    )
    candidate = forms.IntegerField(
        required=False, min_value=0, max_value=LARGEST_KEY, widget=forms.HiddenInput, label="Candidate"
    )

    def clean_week(self) -> str:
        week = str(self.cleaned_data["week"])
        if week:
            try:
                week_bounds(week)
            except BadValue as fault:
                raise forms.ValidationError(fault.fault) from fault
        return week


def counted_judgements(campaign: Campaign) -> Judgements:
    pool = Query.objects.filter(candidates=OuterRef("candidate"), campaign=campaign).pool()
    rows = Judgement.objects.filter(Exists(pool), seat__isnull=False)
    return rows.annotate(partner=Case(*(When(seat=one, then=other) for one, other in PARTNERS.items())))


COLUMNS = (
    Column("query", "Query", lambda line: line.judgement.candidate.query.text),
    Column("rank", "Candidate", lambda line: line.judgement.candidate.rank),
    Column("worker", "Worker", lambda line: line.judgement.annotator.as_worker.worker),
    Column("grade", "Grade", lambda line: line.judgement.grade),
    Column("doubt", "Doubt", lambda line: int(line.judgement.is_doubtful)),
    Column("other", "Co-judge", lambda line: line.other and line.other.annotator.as_worker.worker),
    Column("other_grade", "Co-judge’s grade", lambda line: line.other and line.other.grade),
    Column("seconds", "Seconds", lambda line: line.seconds, is_number=True, places=1),
    Column("submitted", "Submitted", lambda line: line.judgement.assignment.submitted, by="pk", is_time=True),
)


def judgements_listing(reader: Membership) -> Listing:
    """Return the list of judgements for a member. It has the filters and columns of what is known of the campaign's."""
    campaign = reader.campaign

    def chosen_by(name: str) -> Choose:
        return lambda rows, value: FILTERS[name](rows, value, campaign)

    known = list(filters_of(campaign))
    # A field of its own: that of the class is shared by all campaigns.
    words = [(key, key.replace("-", " ")) for key in ONLY if key not in _unknown(campaign)]
    only = forms.ChoiceField(required=False, choices=[("", "all"), *words], label="Only")
    form = type("Filters", (JudgementFilters,), dict.fromkeys(FILTERS.keys() - known) | {"only": only})
    return Listing(
        "judgements",
        tuple(column for column in COLUMNS if column.key not in _unknown(campaign)),
        form,
        {name: chosen_by(name) for name in known},
        usual="-pk",
        show=lambda page: [replace(line, reader=reader) for line in _lines([each.pk for each in page], campaign)],
        most_counted=MOST_COUNTED,
    )


def _lines(keys: Sequence[int], campaign: Campaign) -> list[JudgementRow]:
    rows = Judgement.objects.select_related("candidate__query", "candidate__clip", "assignment")
    found = rows.defer("assignment__places", "assignment__limits").in_bulk(keys)
    page = [found[key] for key in keys if key in found]
    candidates = [judgement.candidate_id for judgement in page] if campaign.rounds_known else []
    partners = Judgement.objects.filter(candidate__in=candidates, seat__isnull=False)
    seats = {(partner.candidate_id, partner.seat): partner for partner in partners}
    first = Revision.objects.filter(judgement__in=page, number=1)
    seconds = dict(first.values_list("judgement", "seconds"))
    people = campaign.memberships.select_related("user", "same_as__user")
    by_key = people.in_bulk({each.annotator_id for each in (*page, *seats.values())})
    for each in (*page, *seats.values()):
        each.annotator = by_key[each.annotator_id]
    for each in page:
        each.candidate.query.campaign = campaign
    return [
        JudgementRow(each, seconds.get(each.pk), seats.get((each.candidate_id, PARTNERS[each.seat or 1])))
        for each in page
    ]


def _memberships(worker: int, campaign: Campaign) -> list[int]:
    """The worker's, and those that imported ratings gave her besides; as keys, which an index can be asked for."""
    own = Q(worker=worker) | Q(same_as__worker=worker)
    return list(campaign.memberships.filter(own).values_list("pk", flat=True))


def _week(rows: Judgements, value: str, campaign: Campaign) -> Judgements:
    start, end = week_bounds(value)
    return rows.filter(assignment__submitted__gte=start, assignment__submitted__lt=end)


def _contested(rows: Judgements, campaign: Campaign) -> Judgements:
    # Not by `_beside`: PostgreSQL expects that many rows pass a comparison, and stops reading once a page is full.
    others = Judgement.objects.filter(candidate=OuterRef("candidate"), seat=OuterRef("partner")).order_by()
    apart = Abs(F("grade") - Subquery(others.values("grade")))
    return rows.filter(GreaterThan(apart, campaign.tolerance), seat__lte=ANNOTATORS)


def _discarded(rows: Judgements, campaign: Campaign) -> Judgements:
    """Of candidates without a consensus, also where the lead graded them since."""
    graded = Adjudication.objects.in_force().filter(candidate=OuterRef("candidate"), before=Candidate.Outcome.DISCARDED)
    return rows.filter(Q(candidate__outcome=Candidate.Outcome.DISCARDED) | Exists(graded))


def _with(rows: Judgements, members: list[int], campaign: Campaign) -> Judgements:
    """Beside these members' in the same round; if rounds are unknown, of candidates that they judged too."""
    if campaign.rounds_known:
        return rows.filter(_beside(annotator__in=members))
    theirs = Judgement.objects.filter(candidate=OuterRef("candidate"), seat__isnull=False, annotator__in=members)
    return rows.filter(Exists(theirs.exclude(pk=OuterRef("pk"))))


def _beside(**fields: Any) -> Exists:
    """Whether the co-judge's judgement of the same candidate in the same round is such a one."""
    others = Judgement.objects.filter(candidate=OuterRef("candidate"), seat=OuterRef("partner"))
    return Exists(others.filter(**fields))


ONLY: dict[str, Callable[[Judgements, Campaign], Judgements]] = {
    "round-one": lambda rows, campaign: rows.filter(_beside(), seat__lte=ANNOTATORS),
    "never-escalated": lambda rows, campaign: rows.filter(_beside(), seat__lte=ANNOTATORS, candidate__escalated=False),
    "contested": _contested,
    "escalated": lambda rows, campaign: rows.filter(candidate__escalated=True),
    "settled": lambda rows, campaign: rows.filter(candidate__outcome=Candidate.Outcome.SETTLED),
    "discarded": _discarded,
    "doubtful": lambda rows, campaign: rows.filter(is_doubtful=True),
    "fast": lambda rows, campaign: rows.filter(revisions__number=1, revisions__seconds__lt=FAST),
}
FILTERS: dict[str, Callable[[Judgements, Any, Campaign], Judgements]] = {
    "worker": lambda rows, worker, campaign: rows.filter(annotator__in=_memberships(worker, campaign)),
    "with": lambda rows, worker, campaign: _with(rows, _memberships(worker, campaign), campaign),
    "week": _week,
    "query": lambda rows, query, campaign: rows.filter(candidate__query=query),
    "candidate": lambda rows, candidate, campaign: rows.filter(candidate=candidate),
    "only": lambda rows, value, campaign: ONLY[value](rows, campaign),
    "own": lambda rows, grade, campaign: rows.filter(grade=grade),
    "other": lambda rows, grade, campaign: rows.filter(_beside(grade=grade)),
}


def widest_pairs(campaign: Campaign, number: int) -> list[Candidate]:
    """Return the pairs with a clip whose raw grades, `lowest` and `highest`, lie farthest apart, one of each query."""
    counted = Q(judgements__seat__isnull=False)
    ends = {"lowest": Min("judgements__grade", filter=counted), "highest": Max("judgements__grade", filter=counted)}
    pairs = Candidate.objects.in_pool(campaign).filter(escalated=True, clip__state=Clip.State.READY).annotate(**ends)
    rows = pairs.select_related("query", "clip").order_by(F("lowest") - F("highest"), "query", "rank")
    firsts: dict[int, Candidate] = {}
    for pair in rows[: 20 * number]:
        firsts.setdefault(pair.query_id, pair)
    return list(firsts.values())[:number]


def contested_queries(campaign: Campaign, rows: Sequence[Sequence[Any]]) -> list[dict[str, Any]]:
    """Return the queries of some rows of agreement by query, each with the lowest and highest grade of its candidates.

    rows: as `by_query` returns them.
    """
    keys, counted = [row[0] for row in rows], Q(judgements__seat__isnull=False)
    queries = campaign.queries.in_bulk(keys)
    candidates = Candidate.objects.filter(query__in=keys, batch__isnull=False).order_by("rank")
    ends = {"low": Min("judgements__grade", filter=counted), "high": Max("judgements__grade", filter=counted)}
    stripes: dict[int, list[tuple[int, int, int, bool]]] = defaultdict(list)
    for query, rank, escalated, low, high in candidates.values_list("query", "rank", "escalated").annotate(**ends):
        if low is not None:
            stripes[query].append((rank, low, high, escalated))
    names = ("pairs", "contested", "discarded", "distance", "mean")
    return [
        {"query": queries[key], "stripes": stripes[key]} | dict(zip(names, rest, strict=True))
        for key, *rest in rows
        if key in queries
    ]


# What the rounds, and what the presses tell. Of imported ratings presses are never known, and rounds seldom.
OF_ROUNDS = {"own", "other", "other_grade", "round-one", "never-escalated", "contested"}
OF_PRESSES = {"week", "fast", "submitted", "doubtful", "doubt"}


def filters_of(campaign: Campaign) -> dict[str, Callable[[Judgements, Any, Campaign], Judgements]]:
    """Return the filters by what is known of the campaign's judgements."""
    return {name: choose for name, choose in FILTERS.items() if name not in _unknown(campaign)}


def _unknown(campaign: Campaign) -> set[str]:
    return (OF_PRESSES if campaign.imported else set()) | (set() if campaign.rounds_known else OF_ROUNDS)
