"""A campaign's candidates and counted judgements as arrays: read once, row by row, whatever their number."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from django.db.models import Case, F, FilteredRelation, IntegerField, OuterRef, Q, Subquery, When
from django.db.models.functions import Coalesce
from django.utils import timezone
from numpy.typing import NDArray

from campaigns.models import Campaign
from judging.models import Adjudication, Assignment, Candidate, Judgement, Kind
from judging.models.pool import ANNOTATORS

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Records = NDArray[np.void]

SEATS = 2 * ANNOTATORS
NOBODY = -1
CHUNK = 5000  # rows in memory as Python objects
CANDIDATE = np.dtype(
    [
        *((name, "i8") for name in ("pk", "query", "moment", "rank")),
        ("similarity", "f8"),
        ("outcome", "U12"),  # what annotators came to, whatever the lead graded since
        ("escalated", "?"),
        ("grade", "i8"),  # NOBODY's without a consensus
        ("adjudicated", "?"),
    ]
)
JUDGEMENT = np.dtype(
    [
        *((name, "i8") for name in ("candidate", "annotator", "assignment", "seat", "grade")),
        ("seconds", "f8"),  # before the first grade; negative when nobody knows
    ]
)


class Judged(NamedTuple):
    """Counted judgements, one an entry; every array has the shape (judgements,)."""

    candidate: Ints  # place among the candidates
    annotator: Ints
    seat: Ints
    grade: Ints
    seconds: Floats
    week: Ints  # of submission: 202605 is the fifth of 2026; 0 when nobody knows
    co_judge: Ints  # who else judged the candidate in that round; NOBODY until both have submitted
    other: Ints  # that one's grade

    def where(self, mask: NDArray[Any]) -> Judged:
        """Those that a mask, or indices, choose."""
        return Judged(*(column[mask] for column in self))

    @property
    def paired(self) -> Judged:
        return self.where(self.co_judge != NOBODY)


class Read(NamedTuple):
    candidates: Records
    judged: Judged


def read(campaign: Campaign, kind: Kind = Kind.POOL) -> Read:
    """The candidates in batches of one kind, without withdrawn queries, and what counts of their judgements."""
    return joined(candidates_of(campaign, kind), _judgements(campaign, kind), _weeks(campaign, kind))


def joined(candidates: Records, judgements: Records, weeks: dict[int, int]) -> Read:
    """Judgements beside their co-judges'.

    Parameters
    ----------
    candidates : records of CANDIDATE, ascending by key
    judgements : records of JUDGEMENT, no seat of a candidate twice
    weeks : by key of assignment
    """
    place = np.searchsorted(candidates["pk"], judgements["candidate"])
    partner = _partners(place, judgements["seat"], len(candidates))
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


def candidates_of(campaign: Campaign, kind: Kind) -> Records:
    rows = Candidate.objects.filter(**_of_kind("query__", campaign, kind), batch__isnull=False)
    said = Adjudication.objects.in_force().filter(candidate=OuterRef("pk"))
    by_lead = Q(outcome=Candidate.Outcome.ADJUDICATED)
    columns = rows.order_by("pk").values_list(
        *("pk", "query", "moment", "rank", "similarity"),
        Case(When(by_lead, then=Subquery(said.values("before"))), default="outcome"),
        "escalated",
        Case(When(by_lead, then=NOBODY), default=Coalesce("grade", NOBODY), output_field=IntegerField()),
        Case(When(by_lead, then=True), default=False),
    )
    return np.fromiter(columns.iterator(chunk_size=CHUNK), CANDIDATE)


def _judgements(campaign: Campaign, kind: Kind) -> Records:
    rows = Judgement.objects.filter(
        **_of_kind("candidate__query__", campaign, kind), candidate__batch__isnull=False, seat__isnull=False
    )
    rows = rows.annotate(first=FilteredRelation("revisions", condition=Q(revisions__number=1)))
    columns = rows.order_by().values_list(
        "candidate",
        Coalesce("annotator__same_as", "annotator"),
        "assignment",
        "seat",
        "grade",
        Coalesce(F("first__seconds"), -1.0),
    )
    return np.fromiter(columns.iterator(chunk_size=CHUNK), JUDGEMENT)


def _of_kind(path: str, campaign: Campaign, kind: Kind) -> dict[str, Any]:
    return {f"{path}campaign": campaign, f"{path}kind": kind, f"{path}withdrawn__isnull": True}


def _weeks(campaign: Campaign, kind: Kind) -> dict[int, int]:
    """The week in which each assignment was submitted; of imported ratings nobody knows it."""
    if campaign.imported:
        return {}
    rows = Assignment.objects.filter(batch__query__campaign=campaign, batch__kind=kind)
    columns = rows.filter(submitted__isnull=False).values_list("pk", "submitted")
    return {pk: week_of(submitted) for pk, submitted in columns.iterator(chunk_size=CHUNK)}


def week_of(moment: Any) -> int:
    """The ISO week of a time, as a number: 202605 is the fifth of 2026."""
    year, week, _ = timezone.localtime(moment).isocalendar()
    return int(100 * year + week)


def _partners(place: Ints, seat: Ints, candidates: int) -> Ints:
    """For each judgement the place of the co-judge's in the same round, or NOBODY."""
    held = np.full((candidates, SEATS), NOBODY)
    held[place, seat - 1] = np.arange(len(place))
    rounds = held.reshape(-1, ANNOTATORS)
    first, second = rounds[(rounds != NOBODY).all(axis=1)].T
    partner = np.full(len(place), NOBODY)
    partner[first], partner[second] = second, first
    return partner
