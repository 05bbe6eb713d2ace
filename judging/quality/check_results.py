"""The results of checks, and how fast annotators judge. Leads watch both."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from statistics import median
from typing import Any

import numpy as np
import numpy.typing as npt
from django.db.models import Case, Count, F, Max, OuterRef, Prefetch, Q, QuerySet, Subquery, Value, When
from django.db.models.functions import Abs, Coalesce, Now
from django.db.models.lookups import GreaterThan

from campaigns.models.campaign import Campaign
from campaigns.models.membership import Event, Membership
from judging.models.assignment import Assignment
from judging.models.judgement import Judgement, Revision
from judging.models.states import AssignmentState, Kind

WINDOW = 20  # the newest check pairs decide about warnings and pauses
ENOUGH = 8  # check pairs needed before anything follows, and new ones before a second warning
# Seconds; a faster grade was hardly watched. Leads see how many there are; nothing follows from it.
FAST = 2.0
EVER = datetime(2000, 1, 1, tzinfo=UTC)  # earlier than any submission
SPEED_OVER = timedelta(days=30)


@dataclass(frozen=True)
class RecentChecks:
    """An annotator's newest check pairs since the last pause ended, and what followed from them."""

    recent: int = 0  # pairs
    recent_missed: int = 0  # missed pairs: further from the expected grade than the tolerance
    since_warning: int = 0  # pairs since the last warning
    warned: datetime | None = None
    paused: datetime | None = None

    @property
    def share(self) -> float:
        return self.recent_missed / self.recent if self.recent else 0.0

    @property
    def tells(self) -> bool:
        """Whether there are enough pairs to act on the share."""
        return self.recent >= ENOUGH


@dataclass(frozen=True)
class Checked:
    """How many check pairs an annotator judged in all, and how many of them were missed."""

    pairs: int = 0
    missed: int = 0


@dataclass(frozen=True)
class Speed:
    """How many judgements an annotator made in the last thirty days, and how fast."""

    judgements: int
    fast: int
    median: float  # seconds


SOURCES = When(candidate__repeats=None, then=Value("distractor")), When(own__isnull=False, then=Value("repeat"))


def check_pairs(campaign: Campaign) -> QuerySet[Any]:
    """Return the judgements of hidden places whose right grade is known, in submitted assignments, newest first.

    Each has its `source`, "gold", "repeat" or "distractor"; its `expected` grade, which is the truth or the annotator's
    own of the pair; and whether it was `missed`.
    """
    pairs = _of_copies(campaign).exclude(expected=None)
    found: QuerySet[Any] = pairs.annotate(source=Case(*SOURCES, default=Value("gold")))
    return found


def _of_copies(campaign: Campaign) -> QuerySet[Any]:
    """Return the judgements of copies; where one only fills a batch, its `expected` grade and `missed` are null."""
    own = Judgement.objects.filter(candidate=OuterRef("candidate__repeats"), annotator=OuterRef("annotator"))
    # None has a seat, as few others: the database need not look at all candidates.
    copies = {"candidate__query__kind": Kind.CHECK, "candidate__query__campaign": campaign}
    judgements: QuerySet[Any] = Judgement.objects.filter(**copies, seat=None)
    judgements = judgements.filter(assignment__state=AssignmentState.SUBMITTED)
    judgements = judgements.annotate(own=Subquery(own.order_by().values("grade")))
    judgements = judgements.annotate(expected=Coalesce("own", "candidate__truth"))
    judgements = judgements.annotate(missed=GreaterThan(Abs(F("grade") - F("expected")), campaign.tolerance))
    return judgements.order_by("-assignment__submitted", "-pk")


def recent_checks(campaign: Campaign, only: Membership | None = None) -> dict[int, RecentChecks]:
    """Return the recent checks of each annotator with check pairs or events, by the membership's key.

    This takes two database queries. It reads only as many of the newest checks as can fill the window.
    """
    members = campaign.memberships.filter(**({"pk": only.pk} if only else {}))
    # An index has each annotator's assignments with hidden places in the order of submission.
    with_checks = {"hidden__gt": 0, "state": AssignmentState.SUBMITTED}
    own = Assignment.objects.filter(annotator=OuterRef("pk"), **with_checks).order_by("-submitted").values("submitted")
    members = members.annotate(first=Coalesce(Subquery(own[WINDOW - 1 : WINDOW]), Value(EVER)))
    checks = {f"assignments__{field}": value for field, value in with_checks.items()}
    newest = members.filter(**checks, assignments__submitted__gte=F("first")).values("assignments")
    results: dict[int, list[tuple[datetime, bool]]] = defaultdict(list)
    # What has no expected grade is left out here, so that the database looks for each own grade once.
    pairs = _of_copies(campaign).filter(assignment__in=newest)
    for member, at, missed in pairs.values_list("annotator", "assignment__submitted", "missed"):
        if missed is not None:
            results[member].append((at, missed))
    events = Event.objects.filter(member__campaign=campaign).order_by().values_list("member", "kind")
    last = {(member, kind): at for member, kind, at in events.annotate(last=Max("at"))}
    return {
        member: _recent_checks(results[member], {kind: at for (who, kind), at in last.items() if who == member})
        for member in results.keys() | {member for member, _ in last}
    }


def _recent_checks(newest: list[tuple[datetime, bool]], last: dict[str, datetime]) -> RecentChecks:
    resumed, warned = last.get(Event.Kind.RESUMED), last.get(Event.Kind.WARNED)
    window = [missed for at, missed in newest if not resumed or at > resumed][:WINDOW]
    return RecentChecks(
        recent=len(window),
        recent_missed=sum(window),
        since_warning=sum(not warned or at > warned for at, _ in newest),
        warned=warned,
        paused=last.get(Event.Kind.PAUSED),
    )


CAREFUL, BATCHES, DRAWS = 0.05, 100, 2000


@dataclass(frozen=True)
class Catch:
    """What the hidden places of a campaign catch, by simulating annotators whose checks are distractors."""

    # After which half of those who grade at random are paused; None if fewer are within `BATCHES` batches.
    places: int | None
    # Share of those who miss `CAREFUL` of the checks that is paused within `BATCHES` batches.
    wrongly: float


def catch_of(campaign: Campaign) -> Catch:
    """Simulate the pauses of a campaign with hidden places, for grades at random and for careful work."""
    rules = campaign.hidden_places, campaign.check_pause
    paused = [_paused_after(*rules, missed) for missed in ((4 - campaign.tolerance) / 5, CAREFUL)]
    half = np.median(paused[0])
    places = None if half > BATCHES else math.ceil(half) * campaign.largest_batch
    return Catch(places, float(np.mean(paused[1] <= BATCHES)))


@cache
def _paused_after(hidden: int, pause: float, missed: float) -> npt.NDArray[np.intp]:
    """Return after how many batches each simulated annotator is paused; one more than `BATCHES` for who is not."""
    misses = np.random.default_rng(1).random((DRAWS, BATCHES * hidden)) < missed
    sums = np.pad(np.cumsum(misses, axis=1), ((0, 0), (1, 0)))
    ends = np.arange(1, BATCHES + 1) * hidden
    window = np.minimum(ends, WINDOW)
    shares = (sums[:, ends] - sums[:, ends - window]) / window
    paused = (shares >= pause) & (ends >= ENOUGH)
    return np.where(paused.any(axis=1), paused.argmax(axis=1) + 1, BATCHES + 1)


def check_totals(campaign: Campaign) -> dict[int, Checked]:
    """Return each annotator's check pairs of the whole campaign, by the membership's key. This reads all of them."""
    rows = check_pairs(campaign).order_by().values_list("annotator")
    counted = rows.annotate(n=Count("pk"), n_missed=Count("pk", filter=Q(missed=True)))
    return {member: Checked(pairs, missed) for member, pairs, missed in counted}


# First revisions of the last thirty days whose time is known.
_TIMED = {"number": 1, "seconds__isnull": False, "at__gte": Now() - SPEED_OVER}


def speeds(campaign: Campaign) -> dict[int, Speed]:
    """Return how fast each annotator judges, by the membership's key. This reads every first revision."""
    seconds: dict[int, list[float]] = defaultdict(list)
    first = Revision.objects.filter(judgement__annotator__campaign=campaign, **_TIMED)
    for member, spent in first.values_list("judgement__annotator", "seconds"):
        seconds[member].append(spent or 0.0)
    return {
        member: Speed(len(all_), sum(spent < FAST for spent in all_), median(all_)) for member, all_ in seconds.items()
    }


SELECTIONS = {
    "all": "All check pairs",
    "missed": "Missed check pairs",
    "newest": "The newest check pairs since work began anew",
    "speed": "All judgements of thirty days, fastest first",
}


def pairs_behind(annotator: Membership, which: str, only: Collection[int] | None = None) -> QuerySet[Any]:
    """Return the judgements behind a number on the lead's page of checks; `which` is a key of `SELECTIONS`.

    With `only`, primary keys, return those among them. Each has the seconds `spent` before its first grade.
    """
    judgements: QuerySet[Any] = Judgement.objects.all() if which == "speed" else check_pairs(annotator.campaign)
    # Prefetched, so that what a line shows is read for the lines of a page only.
    assignments = Prefetch("assignment", Assignment.objects.defer("places", "limits"))
    judgements = judgements.filter(annotator=annotator).prefetch_related(
        assignments, "candidate__query", "candidate__clip"
    )
    judgements = judgements if only is None else judgements.filter(pk__in=only)
    if which == "speed":
        # No revision is newer than the submission: this excludes most judgements before their revisions are read.
        lately = annotator.assignments.filter(Q(submitted=None) | Q(submitted__gte=Now() - SPEED_OVER))
        timed: QuerySet[Any] = judgements.filter(
            assignment__in=lately, **{f"revisions__{field}": value for field, value in _TIMED.items()}
        )
        timed = timed.annotate(spent=F("revisions__seconds"))
        return timed.order_by("spent", "pk")
    first = Revision.objects.filter(judgement=OuterRef("pk"), number=1).order_by()
    judgements = judgements.annotate(spent=Subquery(first.values("seconds")))
    if which == "missed":
        return judgements.filter(missed=True)
    return judgements.filter(_in_window(annotator))[:WINDOW] if which == "newest" else judgements


def _in_window(annotator: Membership) -> Q:
    resumed = annotator.events.filter(kind=Event.Kind.RESUMED).first()
    return Q(assignment__submitted__gt=resumed.at) if resumed else Q()
