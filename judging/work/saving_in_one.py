"""A save as one statement of PostgreSQL: the three of `judging.work.saving`, for a press at a place without a flag.

PostgreSQL decides what a statement sees before it waits for a lock. So this one stores nothing if another transaction
has changed the assignment since it began: the row that it then finds has another ctid. It stores no grade, either, if
the press was stored before (`GRADE` looks), or if the place has a flag. The caller then runs the three.
"""

from __future__ import annotations

from functools import cache

from django.conf import settings
from django.db import IntegrityError, OperationalError, connection

from base.database import first_prepared, with_clock
from judging.models import Assignment, Revision
from judging.work.saving import GRADE, HOLD, HOLDER, PRESSES_A_PLACE, Writer

CANDIDATE = "(judging_assignment.places ->> (%(position)s - 1))::bigint"
NOTHING_IN_BETWEEN = f"""
    AND ctid = (SELECT ctid FROM judging_assignment WHERE token = %(token)s)
    AND %(position)s > 0 AND {CANDIDATE} IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM judging_flag WHERE assignment_id = {HOLDER} AND candidate_id = %(candidate)s)
"""  # noqa: S608 - of our own parts
SAVE = f"""
WITH held (assignment, annotator, places, limits, began, elapsed) AS ({{hold}}),
place AS (
    SELECT *, (places ->> (%(position)s - 1))::bigint AS candidate,
        (limits ->> (%(position)s - 1))::float8 AS most
    FROM held
),
graded (judgement, revisions, last, was_flagged, grades_here, flags_here, grades, flags, lists, practice) AS ({{grade}})
INSERT INTO judging_revision (judgement_id, number, press, grade, is_doubtful, reported, seconds, input, key)
SELECT judgement, revisions + 1, %(press)s, %(grade)s, %(doubt)s, %(reported)s::float8,
    CASE WHEN %(reported)s::float8 IS NOT NULL THEN GREATEST(0, LEAST(
        %(reported)s::float8,
        most,
        {PRESSES_A_PLACE} * most - COALESCE(grades_here, 0) - COALESCE(flags_here, 0),
        elapsed - COALESCE(grades, 0) - COALESCE(flags, 0) - COALESCE(lists, 0) - COALESCE(practice, 0)
    )) END,
    %(input)s::text, %(key)s::uuid
FROM graded, place
RETURNING id, judgement_id, number, seconds, (SELECT last FROM graded)
"""  # noqa: S608 - of our own parts
OF_THE_PLACE = ("assignment", "annotator", "candidate", "began")


@cache
def _statement() -> str:
    condition = NOTHING_IN_BETWEEN.replace("%(assignment)s", "judging_assignment.id")
    hold = with_clock(HOLD).replace("RETURNING", f"{condition.replace('%(candidate)s', CANDIDATE)} RETURNING")
    grade = GRADE.replace("WHERE NOT EXISTS", "FROM place WHERE NOT EXISTS")
    for name in OF_THE_PLACE:
        grade = grade.replace(f"%({name})s", f"(SELECT {name} FROM place)")  # noqa: S608
    return SAVE.format(hold=hold, grade=grade)


def save(writer: Writer | Assignment, fence: int, position: int, press: int, revision: Revision) -> bool:
    """Store a grade and its revision. Return False if nothing was stored, and the three statements have to do it.

    The revision has what came with the press. The rest of it is set.
    """
    if connection.vendor != "postgresql":
        return False
    values = {"token": writer.token, "user": writer.user_id, "fence": fence, "lease": settings.ASSIGNMENT_LEASE}
    values |= {"position": position, "press": press, "doubt": revision.is_doubtful, "key": revision.key.hex}
    values |= {field: getattr(revision, field) for field in ("grade", "reported", "input")}
    try:
        row = first_prepared(_statement(), values)
    except (IntegrityError, OperationalError):
        if connection.in_atomic_block:
            raise
        return False
    if row is None:
        return False
    revision.pk, revision.judgement_id, revision.number, revision.seconds, last = row
    revision.press, revision.overtaken = press, press < (last or 0)
    return True
