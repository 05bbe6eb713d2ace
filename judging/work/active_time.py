"""Active time: the seconds that the browser measures, bounded by the database's clock.

An annotator holds one assignment at a time. So the active seconds that are recorded in a lease cannot be more than the
seconds that have passed since the lease began. The time after a lease has run out, until the annotator takes the
assignment up again, belongs to no lease and never counts.

The bound holds for all presses of a lease together and not for each gap between two of them, because the browser sends
grades that it kept without a network one right after the other.
"""

from __future__ import annotations

from django.db.models import DurationField, ExpressionWrapper, F, OuterRef, QuerySet, Subquery, Sum
from django.db.models.functions import Now

from judging.models.assignment import Assignment
from judging.models.judgement import Flag, Revision


def bounded(seconds: float | None, unrecorded: float) -> float | None:
    """Return the active seconds, cut to what the clock still allows; None if they were not measured."""
    return None if seconds is None else max(0.0, min(seconds, unrecorded))


def add_seconds(earlier: float | None, seconds: float | None) -> float | None:
    """Return the sum of the seconds that are known, or None if none are."""
    return seconds if earlier is None else earlier + (seconds or 0.0)


def unrecorded(assignment: Assignment) -> float:
    """Return the seconds since the lease began for which nothing is recorded yet.

    The caller holds the assignment's lock.
    """
    elapsed = ExpressionWrapper(Now() - F("began"), DurationField())
    since = {"at__gte": OuterRef("began")}
    revisions = _total(Revision.objects.filter(judgement__assignment=OuterRef("pk"), **since), "judgement__")
    flags = _total(Flag.recorded.filter(assignment=OuterRef("pk"), **since))
    row = Assignment.objects.filter(pk=assignment.pk).values_list(elapsed, revisions, flags)
    passed, *recorded = row.get()
    return float(passed.total_seconds()) - sum(seconds or 0.0 for seconds in recorded)


def _total(rows: QuerySet[Revision] | QuerySet[Flag], of: str = "") -> Subquery:
    totals = rows.order_by().values(f"{of}assignment").annotate(total=Sum("seconds"))
    return Subquery(totals.values("total"))
