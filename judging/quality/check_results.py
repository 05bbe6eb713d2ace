"""What the lead watches: checks beside what they should have been, where each annotator stands, and speed."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median
from typing import Any

from django.db.models import Count, F, Max, OuterRef, Q, QuerySet, Subquery, Window
from django.db.models.functions import Abs, Coalesce, Now, RowNumber
from django.db.models.lookups import GreaterThan

from campaigns.models.campaign import Campaign
from campaigns.models.event import Event
from campaigns.models.membership import Membership
from judging.models.judgement import Judgement, Revision
from judging.models.pool import Kind

WINDOW = 20  # newest check pairs that warnings and pauses look at
ENOUGH = 10  # of them before anything follows, and new ones before another warning
FAST = (
    2.0  # seconds; whoever grades sooner can hardly have watched: shown to the lead, and never more than that
)
SPEED_OVER = timedelta(days=30)


@dataclass(frozen=True)
class Standing:
    """An annotator's newest check pairs since her last return to work, and what followed from them."""

    recent: int = 0
    recent_off: int = 0
    since_warning: int = 0  # of the newest checks
    warned: datetime | None = None
    paused: datetime | None = None

    @property
    def share(self) -> float:
        return self.recent_off / self.recent if self.recent else 0.0

    @property
    def tells(self) -> bool:
        """Whether there are enough pairs for the share to mean something."""
        return self.recent >= ENOUGH


@dataclass(frozen=True)
class Checked:
    """All of an annotator's check pairs."""

    pairs: int = 0
    off: int = 0


@dataclass(frozen=True)
class Speed:
    judgements: int
    fast: int
    median: float  # seconds


def check_pairs(campaign: Campaign) -> QuerySet[Any]:
    """The judgements of submitted checks, newest first, with what was `expected` and whether each is `off`."""
    earlier = Judgement.objects.filter(
        candidate=OuterRef("candidate__repeats"), annotator=OuterRef("annotator")
    )
    rows = Judgement.objects.filter(assignment__batch__kind=Kind.CHECK, assignment__state="submitted")
    rows = rows.filter(annotator__campaign=campaign)
    expected = Coalesce("candidate__truth", Subquery(earlier.order_by().values("grade")))
    off = GreaterThan(Abs(F("grade") - F("expected")), campaign.tolerance)
    return rows.annotate(expected=expected).annotate(off=off).order_by("-assignment__submitted", "-pk")


def standings(campaign: Campaign, only: Membership | None = None) -> dict[int, Standing]:
    """Where each annotator with check pairs or events stands now, by the membership's key; in two queries.

    Only the newest checks are read, so many that they hold the window: however long the campaign lasts.
    """
    members = campaign.memberships.filter(**({"pk": only.pk} if only else {}))
    newest_first = Window(
        RowNumber(), partition_by="pk", order_by=("-assignments__submitted", "-assignments")
    )
    checks = members.filter(assignments__batch__kind=Kind.CHECK, assignments__state="submitted")
    newest = checks.annotate(number=newest_first).filter(number__lte=WINDOW).values("assignments")
    marks: dict[int, list[tuple[datetime, bool]]] = defaultdict(list)
    rows = check_pairs(campaign).filter(assignment__in=newest)
    for member, at, off in rows.values_list("annotator", "assignment__submitted", "off"):
        marks[member].append((at, bool(off)))
    events = Event.objects.filter(member__campaign=campaign).order_by().values_list("member", "kind")
    last = {(member, kind): at for member, kind, at in events.annotate(last=Max("at"))}
    return {
        member: _standing(marks[member], {kind: at for (who, kind), at in last.items() if who == member})
        for member in marks.keys() | {member for member, _ in last}
    }


def _standing(newest: list[tuple[datetime, bool]], last: dict[str, datetime]) -> Standing:
    resumed, warned = last.get(Event.Kind.RESUMED), last.get(Event.Kind.WARNED)
    window = [off for at, off in newest if not resumed or at > resumed][:WINDOW]
    return Standing(
        recent=len(window),
        recent_off=sum(window),
        since_warning=sum(not warned or at > warned for at, _ in newest),
        warned=warned,
        paused=last.get(Event.Kind.PAUSED),
    )


def check_totals(campaign: Campaign) -> dict[int, Checked]:
    """Each annotator's check pairs of the whole campaign, by the membership's key; every one is read."""
    rows = check_pairs(campaign).order_by().values_list("annotator")
    counted = rows.annotate(n=Count("pk"), n_off=Count("pk", filter=Q(off=True)))
    return {member: Checked(pairs, off) for member, pairs, off in counted}


# The first press, of the last thirty days, of a known time.
_TIMED = {"number": 1, "seconds__isnull": False, "at__gte": Now() - SPEED_OVER}


def first_grades(campaign: Campaign) -> QuerySet[Revision]:
    """The first press of each judgement of the last thirty days whose time is known."""
    return Revision.objects.filter(judgement__annotator__campaign=campaign, **_TIMED)


def speeds(campaign: Campaign) -> dict[int, Speed]:
    """How fast each annotator judges, by the membership's key; every first press is read."""
    seconds: dict[int, list[float]] = defaultdict(list)
    for member, spent in first_grades(campaign).values_list("judgement__annotator", "seconds"):
        seconds[member].append(spent or 0.0)
    return {
        member: Speed(len(all_), sum(spent < FAST for spent in all_), median(all_))
        for member, all_ in seconds.items()
    }


SHOWN = {
    "all": "All check pairs",
    "off": "Those that were off",
    "newest": "The newest since work began anew",
    "speed": "All work of thirty days, fastest first",
}


def pairs_behind(annotator: Membership, which: str) -> QuerySet[Any]:
    """The judgements that a number of the lead's page was made from, with the seconds `spent` until first graded."""
    rows: QuerySet[Any] = Judgement.objects.all() if which == "speed" else check_pairs(annotator.campaign)
    rows = rows.filter(annotator=annotator).select_related(
        "assignment", "candidate__query", "candidate__clip"
    )
    if which == "speed":
        # Nothing is said after it was handed in: this leaves out most rows before their revisions are read.
        lately = annotator.assignments.filter(Q(submitted=None) | Q(submitted__gte=Now() - SPEED_OVER))
        timed: QuerySet[Any] = rows.filter(
            assignment__in=lately,
            **{f"revisions__{field}": value for field, value in _TIMED.items()},
        )
        timed = timed.annotate(spent=F("revisions__seconds"))
        return timed.order_by("spent", "pk")
    first = Revision.objects.filter(judgement=OuterRef("pk"), number=1).order_by()
    rows = rows.annotate(spent=Subquery(first.values("seconds")))
    if which == "off":
        return rows.filter(off=True)
    return rows.filter(_in_window(annotator))[:WINDOW] if which == "newest" else rows


def _in_window(annotator: Membership) -> Q:
    resumed = annotator.events.filter(kind=Event.Kind.RESUMED).first()
    return Q(assignment__submitted__gt=resumed.at) if resumed else Q()
