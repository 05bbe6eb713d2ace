"""What holds the frontier back, each query with why; how work is steered, and what another way of it would lead to."""

from __future__ import annotations

import math
from bisect import bisect
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import Count, Exists, Min, OuterRef, Q, QuerySet
from django.urls import reverse

from base.dates import start_of_day, start_of_week
from base.transactions import all_or_nothing
from campaigns.models import Campaign, Membership
from judging.models import Assignment, Batch, Candidate, Flag, Kind, Query, Revision
from judging.models.states import Priority
from judging.pool.clips import cut_clips
from judging.review.frontier import FINISHED, UNFINISHED, Frontier, reach
from judging.work.claiming import with_free_slot, without_annotators


@dataclass(frozen=True)
class Why:
    """A reason for which a query is not finished, and what finishing it needs."""

    code: str
    words: str
    needs: str
    page: str  # where it is done: the name of an address
    act: str = "Open"  # the words of the button that leads there


UNRANKED = Why("unranked", "its candidates are not ranked yet", "It opens by itself.", "activity")
# The most pressing first. A query with several batches has the first reason that holds for one of them.
WHY = [
    Why("uncut", "a clip cannot be cut", "Cut it again, or open the batch without it.", "batch"),
    Why("nobody", "nobody is left who may judge it", "Invite annotators.", "annotators", "Invite"),
    Why("flagged", "an annotator flagged a pair", "Grade the pair or have it judged again, then review.", "batch"),
    Why("review", "it waits for your review", "Close it, or open its second batch.", "batch", "Review"),
    Why("cutting", "its clips are being cut", "It opens by itself.", "activity"),
    Why("judging", "it is being judged", "It goes on before other queries begin.", "batch"),
    Why("waiting", "it waits for annotators", "It goes on before other queries begin.", "batch"),
    Why("new", "nobody has begun it", "Annotators get it next.", "batch"),
    Why("later", "strata with priority come before it", "It comes when these are finished.", "batch"),
    UNRANKED,
]
LOOKED_AT = 200  # queries, of those that hold the frontier back
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


@dataclass(frozen=True)
class Blocker:
    """A person, a failed clip, a flag or a query that finished queries wait for."""

    kind: str
    subject: Any  # the membership, the failed job, the flagged candidate or the query, by the kind
    held: list[Held]  # the unfinished queries that wait for it themselves, in their order
    freed: int  # see `freed`

    @property
    def first(self) -> Held:
        return self.held[0]


def blockers(campaign: Campaign, found: Frontier) -> list[Blocker]:
    """Return what holds the frontier back, what most finished queries wait for first."""
    queries = list(holding(campaign, found).select_related("campaign"))
    numbers = dict(zip(queries, freed(campaign, found, queries), strict=True))
    rows = held_rows(sorted(queries, key=lambda query: -numbers[query])[:LOOKED_AT])
    groups: dict[tuple[str, Any], list[Held]] = defaultdict(list)
    for key, row in zip(_subjects(rows), rows, strict=True):
        groups[key].append(row)
    listed = [
        Blocker(*key, sorted(held, key=lambda row: row.query.place or 0), sum(numbers[row.query] for row in held))
        for key, held in groups.items()
    ]
    return sorted(listed, key=lambda blocker: (-blocker.freed, blocker.first.query.place))


def _subjects(rows: list[Held]) -> Iterator[tuple[str, Any]]:
    """Yield what each of these queries waits for: of two people who hold a batch, the one who claimed it first."""
    batches: dict[str, list[int]] = defaultdict(list)
    for row in rows:
        batches[row.why.code] += [row.batch] if row.batch else []
    live = Assignment.objects.live().filter(batch__in=batches["judging"]).order_by("-claimed")
    live = live.select_related("annotator__user").defer("places", "limits")
    flags = Flag.objects.waiting(rows[0].query.campaign) if rows else Flag.objects.none()
    flags = flags.filter(candidate__batch__in=batches["flagged"]).select_related("candidate").order_by("-at")
    subjects: dict[int | None, tuple[str, Any]] = {each.batch_id: ("person", each.annotator) for each in live}
    subjects |= {job.row: ("clip", job) for job in cut_clips.jobs().failed().filter(row__in=batches["uncut"])}
    subjects |= {flag.candidate.batch_id: ("flag", flag.candidate) for flag in flags}
    for row in rows:
        yield subjects.get(row.batch, ("query", row.query))


def freed(campaign: Campaign, found: Frontier, queries: list[Query]) -> list[int]:
    """Return how many finished queries lie between each of these, which hold them back, and the next one.

    The last one may have another behind it; then it is there only for the one before it.
    """
    finished = campaign.queries.ranked_population().filter(FINISHED, place__gt=found.end or 0).order_by("place")
    places = list(finished.values_list("place", flat=True))
    ends = [*(query.place for query in queries[1:]), math.inf][: len(queries)]
    return [bisect(places, end) - bisect(places, query.place) for query, end in zip(queries, ends, strict=True)]


def holding(campaign: Campaign, found: Frontier) -> QuerySet[Query]:
    """Return the queries that hold the frontier back, in their order."""
    return campaign.queries.ranked_population().filter(found.holds).order_by("place")


def held_rows(queries: Iterable[Query]) -> list[Held]:
    """Return why each query is not finished, in one statement for all of them."""
    queries = list(queries)
    flagged = Candidate.objects.filter(batch=OuterRef("pk"), outcome=Candidate.Outcome.FLAGGED)
    failed = cut_clips.jobs().failed().filter(row=OuterRef("pk"))
    nobody = without_annotators().filter(pk=OuterRef("pk"))
    free = with_free_slot().filter(campaign=OuterRef("campaign"), priority__lt=OuterRef("priority"))
    has = (Exists(failed), Exists(flagged), Exists(nobody), Exists(free))
    columns = ("query", "pk", "state", "taken", "begun", *has)
    reasons: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for query, batch, *state in Batch.objects.filter(query__in=queries).unreviewed().values_list(*columns):
        reasons[query].append((WHY.index(BY_CODE[_code(*state)]), batch))
    held = []
    for each in queries:
        number, first = min(reasons[each.pk], default=(WHY.index(UNRANKED), None))
        held.append(Held(each, WHY[number], first))
    return held


def _code(
    state: str, taken: int, begun: bool, has_failed: bool, is_flagged: bool, has_nobody: bool, comes_later: bool
) -> str:
    if state == Batch.State.PREPARING:
        return "uncut" if has_failed else "cutting"
    if state == Batch.State.SETTLED:
        return "flagged" if is_flagged else "review"
    if has_nobody:
        return "nobody"
    if taken:
        return "judging"
    if comes_later:
        return "later"
    return "waiting" if begun else "new"


@dataclass(frozen=True)
class StratumRow:
    """The queries of a split and a stratum."""

    split: str
    stratum: str
    queries: int
    finished: int
    in_order: int  # of these, those before the first that is not finished: a random sample of the stratum
    priority: str


@dataclass(frozen=True)
class GroupRow:
    """A group of annotators, and the queries whose round one is for it; without a name, those for everybody."""

    name: str
    annotators: int  # who may judge at present
    queries: int
    finished: int


@dataclass(frozen=True)
class AnnotatorRow:
    """An annotator's limits, and the judgements of today and of this week."""

    member: Membership
    today: int
    week: int


@dataclass(frozen=True)
class Steered:
    """How the work of a campaign is steered."""

    strata: list[StratumRow]
    groups: list[GroupRow]
    annotators: list[AnnotatorRow]
    week: int  # judgements of all
    reach: int | None  # see `judging.review.frontier.reach`


NUMBERS = {"queries": Count("pk"), "finished": Count("pk", filter=FINISHED)}


def steered(campaign: Campaign) -> Steered:
    """Return how the work of a campaign is steered at present."""
    people = _annotator_rows(campaign)
    week = sum(person.week for person in people)
    return Steered(_stratum_rows(campaign), _group_rows(campaign, people), people, week, reach(campaign))


def _stratum_rows(campaign: Campaign) -> list[StratumRow]:
    names = ("split", "stratum")
    population = campaign.queries.ranked_population().order_by(*names)
    numbers: dict[str, Any] = NUMBERS | {"priority": Min("priority"), "end": Min("place", filter=UNFINISHED)}
    rows = list(population.values(*names).annotate(**numbers))
    ends = {(row["split"], row["stratum"]): row.pop("end") for row in rows}
    in_order: Counter[tuple[str, str]] = Counter()
    for split, stratum, place in population.filter(FINISHED).values_list(*names, "place"):
        end = ends[split, stratum]
        in_order[split, stratum] += end is None or place < end
    labels = {row["priority"]: Priority(row["priority"]).label for row in rows}
    return [
        StratumRow(**row | {"priority": labels[row["priority"]]}, in_order=in_order[row["split"], row["stratum"]])
        for row in rows
    ]


def _group_rows(campaign: Campaign, people: Iterable[AnnotatorRow]) -> list[GroupRow]:
    active = Counter(person.member.group for person in people if person.member.is_active)
    rows = campaign.queries.pool().order_by().values_list("group").annotate(**NUMBERS)
    found = {group: numbers for group, *numbers in rows}
    return [GroupRow(name, active[name], *found.get(name, (0, 0))) for name in sorted(found.keys() | active.keys())]


def _annotator_rows(campaign: Campaign) -> list[AnnotatorRow]:
    first = Revision.objects.filter(number=1, at__gte=start_of_week(), judgement__annotator__campaign=campaign)
    work = first.exclude(judgement__assignment__batch__kind=Kind.EXAM).order_by().values_list("judgement__annotator")
    rows = work.annotate(today=Count("pk", filter=Q(at__gte=start_of_day())), week=Count("pk"))
    made = {who: numbers for who, *numbers in rows}
    members = campaign.memberships.reachable().filter(same_as=None).select_related("user").order_by("worker")
    return [AnnotatorRow(member, *made.get(member.pk, (0, 0))) for member in members]


LISTED = 20  # batches


@dataclass(frozen=True)
class Outlook:
    """What a way to steer would lead to."""

    words: str
    number: int  # batches that nobody could judge, and somebody can now
    batches: list[Batch]  # the first of these
    before: int  # batches that nobody can judge now
    reach: int | None  # see `judging.review.frontier.reach`

    @property
    def more(self) -> int:
        """The batches that are not listed."""
        return self.number - len(self.batches)


@all_or_nothing
def outlook(campaign: Campaign, apply: Callable[[], object]) -> Outlook:
    """Return what a way to steer leads to: it is applied, looked at by the rule of claiming, and rolled back."""
    nobody = without_annotators().filter(campaign=campaign).order_by("priority", "place", "pk")
    before = set(nobody.values_list("pk", flat=True))
    words = str(apply())
    fresh = [pk for pk in nobody.values_list("pk", flat=True) if pk not in before]
    by_key = Batch.objects.select_related("query").in_bulk(fresh[:LISTED])
    found = Outlook(words, len(fresh), [by_key[pk] for pk in fresh[:LISTED]], len(before), reach(campaign))
    transaction.set_rollback(True)
    return found
