"""A campaign's candidates and counted judgements as NumPy arrays, which are read once, row by row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache, wraps
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np
from django.db.models import Case, F, FilteredRelation, IntegerField, OuterRef, Q, QuerySet, Subquery, When
from django.db.models.functions import Coalesce
from django.utils.timezone import localtime
from numpy.typing import NDArray

from base.dates import iso_week
from campaigns.models import Campaign
from judging.consensus import ANNOTATORS
from judging.models import Adjudication, Assignment, Candidate, Judgement, Kind, Revision, states

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Records = NDArray[np.void]

SEATS = 2 * ANNOTATORS
NOBODY = -1
# Outcomes as the arrays hold them.
OPEN, CONTESTED, SETTLED = (
    outcome.value for outcome in (Candidate.Outcome.OPEN, Candidate.Outcome.CONTESTED, Candidate.Outcome.SETTLED)
)
WITH_CONSENSUS = [outcome.value for outcome in states.WITH_CONSENSUS]
DISCARDED, FLAGGED = Candidate.Outcome.DISCARDED.value, Candidate.Outcome.FLAGGED.value
REUSED = Candidate.Outcome.REUSED.value
CHUNK = 5000  # rows that are in memory as Python objects at a time
CANDIDATE = np.dtype(
    [
        *((name, "i8") for name in ("pk", "query", "batch", "moment", "rank")),
        ("similarity", "f8"),  # NaN of what runs found
        ("outcome", "U12"),  # of the annotators' grades, even if a lead graded the candidate since
        ("escalated", "?"),
        ("grade", "i8"),  # NOBODY without a consensus
        ("adjudicated", "?"),
    ]
)
JUDGEMENT = np.dtype(
    [
        *((name, "i8") for name in ("candidate", "annotator", "assignment", "seat", "grade")),
        ("seconds", "f8"),  # before the first grade; negative if unknown
    ]
)
TIME = np.dtype([("candidate", "i8"), ("seat", "i8"), ("at", "f8"), ("hour", "i8")])


class Judged(NamedTuple):
    """Counted judgements. Every array has the shape (judgements,)."""

    candidate: Ints  # index into the candidates
    annotator: Ints
    seat: Ints
    grade: Ints
    seconds: Floats
    week: Ints  # of submission: 202605 is the fifth week of 2026; 0 if unknown
    co_judge: Ints  # the other annotator of the candidate in that round; NOBODY until both have submitted
    other: Ints  # the co-judge's grade

    def where(self, mask: NDArray[Any]) -> Judged:
        """Return the judgements that a mask or indices select."""
        return Judged(*(column[mask] for column in self))

    @property
    def paired(self) -> Judged:
        """The judgements that have a co-judge."""
        return self.where(self.co_judge != NOBODY)


class Read(NamedTuple):
    """The arrays of one campaign."""

    candidates: Records
    judged: Judged


@dataclass(frozen=True)
class _SamePool:
    """A pool that is equal to another with the same contents."""

    digest: bytes
    pool: Read = field(compare=False)


def remembered(count: Callable[[Read, int, bool], Any]) -> Callable[..., Any]:
    """Keep what a function has counted for the last pools; pages of small campaigns count at each request."""
    kept = lru_cache(maxsize=8)(lambda same, tolerance, rounds_known: count(same.pool, tolerance, rounds_known))

    @wraps(count)
    def counted(pool: Read, tolerance: int, rounds_known: bool = True) -> Any:
        contents = sha256(pool.candidates.tobytes())
        for column in pool.judged:
            contents.update(column.tobytes())
        return kept(_SamePool(contents.digest(), pool), tolerance, rounds_known)

    return counted


def read(campaign: Campaign, kind: Kind = Kind.POOL, queries: QuerySet[Any] | None = None) -> Read:
    """Read the candidates in batches of one kind and their counted judgements, without withdrawn queries.

    With `queries`, their primary keys, it reads those of these queries only.
    """
    candidates, judgements = candidates_of(campaign, kind, queries), _judgements(campaign, kind, queries)
    return joined(candidates, judgements, _weeks(campaign, kind), campaign.rounds_known)


def joined(candidates: Records, judgements: Records, weeks: dict[int, int], rounds_known: bool = True) -> Read:
    """Put each judgement beside its co-judge's.

    Parameters
    ----------
    candidates
        Records of `CANDIDATE`, in ascending order of their keys.
    judgements
        Records of `JUDGEMENT`, with each seat of a candidate once at most.
    weeks
        The week of submission by the assignment's key.
    rounds_known
        Whether the seats tell the rounds. If they do not, nobody is known to have a co-judge.
    """
    place = np.searchsorted(candidates["pk"], judgements["candidate"])
    partner = _partners(place, judgements["seat"], len(candidates))
    if not rounds_known:
        partner = np.full(len(place), NOBODY)
    alone = partner == NOBODY
    annotator, grade = judgements["annotator"], judgements["grade"]
    judged = Judged(
        place,
        annotator,
        judgements["seat"],
        grade,
        judgements["seconds"],
        np.array([weeks.get(pk, 0) for pk in judgements["assignment"].tolist()], np.int64),
        np.where(alone, NOBODY, annotator[partner]),
        np.where(alone, NOBODY, grade[partner]),
    )
    return Read(candidates, judged)


def beside(judged: Judged, rounds_known: bool) -> Judged:
    """Return each grade beside each one that it is compared with, a row for every two of them and direction.

    These are the co-judge's of the same round; if rounds are unknown, those of all other annotators of the candidate.
    What one person gave a candidate twice, as imported ratings have it, is compared with nobody's.
    """
    if rounds_known:
        return judged.where((judged.co_judge != NOBODY) & (judged.co_judge != judged.annotator))
    order = np.argsort(judged.candidate, kind="stable")
    _, starts, times = np.unique(judged.candidate[order], return_index=True, return_counts=True)
    number = np.repeat(times, times)
    own = np.repeat(np.arange(len(order)), number)
    place = np.arange(len(own)) - np.repeat(np.cumsum(number) - number, number)
    other = np.repeat(np.repeat(starts, times), number) + place
    own, other = order[own], order[other]
    different = judged.annotator[own] != judged.annotator[other]
    own, other = own[different], other[different]
    return judged.where(own)._replace(co_judge=judged.annotator[other], other=judged.grade[other])


def candidates_of(campaign: Campaign, kind: Kind, queries: QuerySet[Any] | None = None) -> Records:
    candidates = Candidate.objects.filter(**_of_kind("query", campaign, kind, queries), batch__isnull=False)
    adjudications = Adjudication.objects.in_force().filter(candidate=OuterRef("pk"))
    by_lead = Q(outcome=Candidate.Outcome.ADJUDICATED)
    columns = candidates.order_by("pk").values_list(
        *("pk", "query", "batch", "moment", "rank", "similarity"),
        Case(When(by_lead, then=Subquery(adjudications.values("before"))), default="outcome"),
        "escalated",
        Case(When(by_lead, then=NOBODY), default=Coalesce("grade", NOBODY), output_field=IntegerField()),
        Case(When(by_lead, then=True), default=False),
    )
    return np.fromiter(columns.iterator(chunk_size=CHUNK), CANDIDATE)


def _judgements(campaign: Campaign, kind: Kind, queries: QuerySet[Any] | None) -> Records:
    of_kind = _of_kind("candidate__query", campaign, kind, queries)
    judgements = Judgement.objects.filter(**of_kind, candidate__batch__isnull=False, seat__isnull=False)
    judgements = judgements.annotate(first=FilteredRelation("revisions", condition=Q(revisions__number=1)))
    columns = judgements.order_by().values_list(
        "candidate",
        Coalesce("annotator__same_as", "annotator"),
        "assignment",
        "seat",
        "grade",
        Coalesce(F("first__seconds"), -1.0),
    )
    return np.fromiter(columns.iterator(chunk_size=CHUNK), JUDGEMENT)


def times_of(campaign: Campaign) -> Records:
    """Return when each counted judgement was made first; `hour` is that of the week, from Monday, 0 o'clock.

    Nobody knows when imported ratings were made.
    """
    if campaign.imported:
        return np.empty(0, TIME)
    of_pool = _of_kind("judgement__candidate__query", campaign, Kind.POOL, None)
    made = Revision.objects.filter(**of_pool, number=1, judgement__seat__isnull=False).order_by()
    made = made.filter(judgement__candidate__batch__isnull=False)
    columns = made.values_list("judgement__candidate", "judgement__seat", "at").iterator(chunk_size=CHUNK)
    local = ((candidate, seat, localtime(at)) for candidate, seat, at in columns)
    rows = ((candidate, seat, at.timestamp(), 24 * at.weekday() + at.hour) for candidate, seat, at in local)
    return np.fromiter(rows, TIME)


def _of_kind(path: str, campaign: Campaign, kind: Kind, queries: QuerySet[Any] | None) -> dict[str, Any]:
    of_kind = {f"{path}__campaign": campaign, f"{path}__kind": kind, f"{path}__withdrawn__isnull": True}
    return of_kind if queries is None else of_kind | {f"{path}__in": queries}


def _weeks(campaign: Campaign, kind: Kind) -> dict[int, int]:
    """Return the week in which each assignment was submitted. It is unknown for imported ratings."""
    if campaign.imported:
        return {}
    assignments = Assignment.objects.filter(batch__campaign=campaign, batch__kind=kind)
    columns = assignments.filter(submitted__isnull=False).values_list("pk", "submitted")
    return {pk: iso_week(submitted) for pk, submitted in columns.iterator(chunk_size=CHUNK) if submitted}


def _partners(place: Ints, seat: Ints, candidates: int) -> Ints:
    """Return for each judgement the index of the co-judge's in the same round, or NOBODY."""
    held = np.full((candidates, SEATS), NOBODY)
    held[place, seat - 1] = np.arange(len(place))
    rounds = held.reshape(-1, ANNOTATORS)
    first, second = rounds[(rounds != NOBODY).all(axis=1)].T
    partner = np.full(len(place), NOBODY)
    partner[first], partner[second] = second, first
    return partner
