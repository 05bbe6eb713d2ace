"""Active time: the seconds that the browser measures, and those of them that count.

One press counts no more than the campaign allows for its clip. All presses together count no more than the database's
clock allows: what a person has recorded since a lease began, in this and in other campaigns, is never more than the
time that has passed since then. The time after a lease has run out, until the annotator takes the assignment up again,
belongs to no lease and never counts.

The clock bounds the presses of a lease together and not each gap between two of them, because the browser sends grades
that it kept without a network one right after the other.
"""

from __future__ import annotations

from datetime import datetime

from django.db import connection
from django.db.models import DurationField, ExpressionWrapper, F
from django.db.models.functions import Now

from judging.models.assignment import Assignment

# A lease did not run out before the last press, and an assignment was not submitted before it. An index of each
# annotator's assignments begins with the state.
RECENT = """
    SELECT recent.id FROM judging_assignment AS recent
    JOIN campaigns_membership AS self ON self.id = recent.annotator_id WHERE self.user_id = %(user)s
    AND (recent.state IN ('live', 'lapsed') AND recent.lease >= %(began)s
        OR recent.state = 'submitted' AND recent.submitted >= %(began)s)
"""
RECORDED = f"""
    (SELECT SUM(seconds) FROM judging_revision WHERE at >= %(began)s AND judgement_id IN (
        SELECT same.id FROM judging_judgement AS same WHERE same.assignment_id IN ({RECENT}))),
    (SELECT SUM(seconds) FROM judging_flag WHERE at >= %(began)s AND assignment_id IN ({RECENT}))
"""  # noqa: S608 - of our own parts


def counted(reported: float | None, limit: float, unrecorded: float) -> float | None:
    """Return the seconds that count of those that were reported; None if they were not measured."""
    return None if reported is None else max(0.0, min(reported, limit, unrecorded))


def unrecorded(assignment: Assignment) -> float:
    """Return the seconds since the lease began for which nothing is recorded yet.

    The caller holds the assignment's lock.
    """
    elapsed = ExpressionWrapper(Now() - F("began"), DurationField())
    passed = Assignment.objects.filter(pk=assignment.pk).values_list(elapsed, flat=True).get()
    return float(passed.total_seconds()) - _recorded(assignment.user_id, assignment.began)


def _recorded(user: int, began: datetime) -> float:
    values = {"user": user, "began": connection.ops.adapt_datetimefield_value(began)}
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {RECORDED}", values)
        return sum(seconds or 0.0 for seconds in cursor.fetchone())
