"""Active time, as the browser measured it and as far as the database's clock allows it.

An annotator holds one assignment at a time, so what she was active since she claimed it cannot be more than what the
clock has run since then. All that was recorded in between counts, in whatever assignment: then the sum is bounded too
when a lapsed assignment is taken up again, with what was said without a network before it lapsed.
"""

from __future__ import annotations

from django.db.models import DurationField, ExpressionWrapper, F, QuerySet, Sum
from django.db.models.functions import Now

from judging.models.assignment import Assignment
from judging.models.judgement import Flag, Revision


def bounded(assignment: Assignment, seconds: float | None) -> float | None:
    """Active seconds, cut to what is left of the clock. The caller holds the assignment's lock."""
    if seconds is None:
        return None
    return max(0.0, min(seconds, _since_claim(assignment) - _recorded_since_claim(assignment)))


def add_seconds(earlier: float | None, seconds: float | None) -> float | None:
    """The sum of both, as far as they are known."""
    return seconds if earlier is None else earlier + (seconds or 0.0)


def _since_claim(assignment: Assignment) -> float:
    run = ExpressionWrapper(Now() - F("claimed"), DurationField())
    mine = assignment.annotator.assignments.filter(pk=assignment.pk)
    return float(mine.values_list(run, flat=True).get().total_seconds())


def _recorded_since_claim(assignment: Assignment) -> float:
    # Whoever wrote after the claim renewed a lease after it: that spares reading all that she ever said.
    hers = assignment.annotator.assignments.filter(lease__gt=assignment.claimed)
    revisions = Revision.objects.filter(judgement__assignment__in=hers, at__gte=assignment.claimed)
    flags = Flag.recorded.filter(assignment__in=hers, at__gte=assignment.claimed)
    return _total(revisions) + _total(flags)


def _total(rows: QuerySet[Revision] | QuerySet[Flag]) -> float:
    return float(rows.aggregate(total=Sum("seconds"))["total"] or 0.0)
