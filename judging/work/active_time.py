"""Active time: the seconds that the browser measures, bounded by the database's clock.

An annotator holds one assignment at a time, so the active seconds since its claim cannot be more than the seconds that
have passed since then. Everything that the annotator recorded since the claim counts, in any assignment. So the sum
stays bounded when an annotator resumes a lapsed assignment and the browser sends grades that it kept without a network.
"""

from __future__ import annotations

from django.db.models import DurationField, ExpressionWrapper, F, QuerySet, Sum
from django.db.models.functions import Now

from judging.models.assignment import Assignment
from judging.models.judgement import Flag, Revision


def bounded(assignment: Assignment, seconds: float | None) -> float | None:
    """Return the active seconds, cut to what the clock still allows; None if they were not measured.

    The caller holds the assignment's lock.
    """
    if seconds is None:
        return None
    return max(0.0, min(seconds, _since_claim(assignment) - _recorded_since_claim(assignment)))


def add_seconds(earlier: float | None, seconds: float | None) -> float | None:
    """Return the sum of the seconds that are known, or None if none are."""
    return seconds if earlier is None else earlier + (seconds or 0.0)


def _since_claim(assignment: Assignment) -> float:
    elapsed = ExpressionWrapper(Now() - F("claimed"), DurationField())
    row = Assignment.objects.filter(pk=assignment.pk)
    return float(row.values_list(elapsed, flat=True).get().total_seconds())


def _recorded_since_claim(assignment: Assignment) -> float:
    # Every write renews a lease, so assignments whose lease ended before the claim hold nothing written after it.
    recent = assignment.annotator.assignments.filter(lease__gt=assignment.claimed)
    revisions = Revision.objects.filter(judgement__assignment__in=recent, at__gte=assignment.claimed)
    flags = Flag.recorded.filter(assignment__in=recent, at__gte=assignment.claimed)
    return _total(revisions) + _total(flags)


def _total(rows: QuerySet[Revision] | QuerySet[Flag]) -> float:
    return float(rows.aggregate(total=Sum("seconds"))["total"] or 0.0)
