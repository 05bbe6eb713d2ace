"""The statements of a save, in SQL: lock the assignment; store the grade and learn what is stored already; revise.

The first two are not one, because PostgreSQL decides what a statement sees before it waits for a lock: the second sees
what was stored by a press that the first has waited for. On PostgreSQL, `judging.work.saving_in_one` first tries all
three as one.

One press counts no more seconds than the campaign allows for its clip, and all presses at a place, flags included, no
more than twice that: a first visit and a change. All presses together count no more than the database's clock allows:
what a person has recorded since a lease began, in this and other campaigns and in practice, is never more than the time
that has passed since then. The clock bounds the presses of a lease together and not each gap between two of them,
because the browser sends grades that it kept without a network one right after the other. The time after a lease has
run out, until the annotator takes the assignment up again, belongs to no lease and never counts.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django.conf import settings
from django.db import connection

from base.database import first_prepared, with_clock
from judging.models import Assignment, Practice, Revision

PRESSES_A_PLACE = 2  # whose seconds may count at a place: a first visit, and a change
HOLD = """
UPDATE judging_assignment SET lease = {later_of}(lease, {lease_end})
WHERE token = %(token)s AND fence = %(fence)s AND state = 'live' AND lease > {now} AND EXISTS (
    SELECT 1 FROM campaigns_membership AS member WHERE member.id = judging_assignment.annotator_id
    AND member.user_id = %(user)s AND member.state = 'active' AND member.role = 'annotator')
RETURNING id, annotator_id, places, limits, began, {since_began}
"""
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
    (SELECT SUM(seconds) FROM judging_flag WHERE at >= %(began)s AND assignment_id IN ({RECENT})),
    (SELECT SUM(seconds) FROM judging_listtime WHERE at >= %(began)s AND assignment_id IN ({RECENT})),
    (SELECT SUM(seconds) FROM judging_practice WHERE at >= %(began)s AND annotator_id IN (
        SELECT own.id FROM campaigns_membership AS own WHERE own.user_id = %(user)s))
"""  # noqa: S608 - of our own parts
# Seconds at the place so far, since it was returned if it was.
AT_PLACE = """
    (SELECT SUM(own.seconds) FROM judging_revision AS own
        JOIN judging_judgement AS before ON before.id = own.judgement_id
        WHERE before.candidate_id = %(candidate)s AND before.annotator_id = %(annotator)s
        AND (before.returned IS NULL OR own.at > before.returned)),
    (SELECT SUM(flag.seconds) FROM judging_flag AS flag
        JOIN judging_assignment AS holder ON holder.id = flag.assignment_id
        LEFT JOIN judging_judgement AS before
            ON before.candidate_id = flag.candidate_id AND before.annotator_id = holder.annotator_id
        WHERE flag.candidate_id = %(candidate)s AND holder.annotator_id = %(annotator)s
        AND (before.returned IS NULL OR flag.at > before.returned))
"""
# The assignment itself, or the one that is joined to it and holds the candidate.
HOLDER = """COALESCE((SELECT joined.id FROM judging_assignment AS joined
    JOIN judging_candidate AS pair ON pair.batch_id = joined.batch_id
    WHERE joined.joined_to_id = %(assignment)s AND pair.id = %(candidate)s), %(assignment)s)"""
LATER = """EXISTS (SELECT 1 FROM judging_revision AS later
    WHERE later.judgement_id = judging_judgement.id AND later.press > %(press)s)"""
GRADE = f"""
INSERT INTO judging_judgement (assignment_id, candidate_id, annotator_id, grade, is_doubtful)
SELECT {HOLDER}, %(candidate)s, %(annotator)s, %(grade)s, %(doubt)s
WHERE NOT EXISTS (SELECT 1 FROM judging_revision WHERE key = %(key)s)
ON CONFLICT (candidate_id, annotator_id) DO UPDATE SET
    grade = CASE WHEN {LATER} THEN judging_judgement.grade ELSE excluded.grade END,
    is_doubtful = CASE WHEN {LATER} THEN judging_judgement.is_doubtful ELSE excluded.is_doubtful END
RETURNING id,
    (SELECT COUNT(*) FROM judging_revision AS own WHERE own.judgement_id = judging_judgement.id),
    (SELECT MAX(own.press) FROM judging_revision AS own WHERE own.judgement_id = judging_judgement.id),
    EXISTS (SELECT 1 FROM judging_flag WHERE assignment_id = {HOLDER} AND candidate_id = %(candidate)s),
    {AT_PLACE}, {RECORDED}
"""  # noqa: S608 - of our own parts
REVISE = """
INSERT INTO judging_revision (judgement_id, number, press, grade, is_doubtful, reported, seconds, input, key)
VALUES (
    %(judgement)s, %(number)s, %(press)s, %(grade)s, %(is_doubtful)s, %(reported)s, %(seconds)s, %(input)s, %(key)s)
RETURNING id
"""


class Writer(NamedTuple):
    """Who asks to write, and into which assignment. Nothing has been checked."""

    token: str
    user_id: int


class Hold(NamedTuple):
    """An assignment that is locked, and whose lease was extended."""

    assignment: int  # this and the next two are primary keys
    annotator: int
    user: int
    places: list[int]
    limits: list[float]  # seconds that one press may count, for each place
    began: datetime | str  # as the database gives it
    elapsed: float  # seconds since it began


class Graded(NamedTuple):
    """A judgement that has the new grade, and what was stored before."""

    judgement: int
    revisions: int
    last: int | None  # the highest number of a press among the revisions
    was_flagged: bool
    at_place: float  # seconds that counted at the place before
    recorded: float  # active seconds of the person since this lease began


def hold(writer: Writer | Assignment, fence: int) -> Hold | None:
    """Lock the writer's assignment and extend its lease. Return None if the writer does not hold it.

    The writer must be an active annotator, the fence the present one, and the lease must not have run out.
    """
    values = {"token": writer.token, "user": writer.user_id, "fence": fence, "lease": settings.ASSIGNMENT_LEASE}
    if (row := first_prepared(with_clock(HOLD), values)) is None:
        return None
    assignment, annotator, places, limits, began, elapsed = row
    return Hold(assignment, annotator, writer.user_id, json.loads(places), json.loads(limits), began, float(elapsed))


def grade(held: Hold, candidate: int, grade: int, press: int, key: UUID, *, doubt: bool = False) -> Graded | None:
    """Store the grade, unless a later press for the candidate is stored. Return None if the key came before."""
    values = {
        "assignment": held.assignment,
        "annotator": held.annotator,
        "user": held.user,
        "began": held.began,
        "candidate": candidate,
        "grade": grade,
        "doubt": doubt,
        "press": press,
        "key": key.hex,
    }
    if (row := first_prepared(GRADE, values)) is None:
        return None
    judgement, revisions, last, was_flagged, *seconds = row
    at_place, recorded = _sum(seconds[:2]), _sum(seconds[2:])
    return Graded(judgement, revisions, last, bool(was_flagged), at_place, recorded)


def store(revision: Revision) -> None:
    """Insert the revision, as its `save` does, without Django's work of writing the statement anew each time."""
    fields = ("number", "press", "grade", "is_doubtful", "reported", "seconds", "input")
    values = {"judgement": revision.judgement_id, "key": revision.key.hex}
    values |= {field: getattr(revision, field) for field in fields}
    row = first_prepared(REVISE, values)
    assert row
    revision.pk = row[0]


def counted(reported: float | None, limit: float, unrecorded: float) -> float | None:
    """Return the seconds that count of those that were reported; None if they were not measured."""
    return None if reported is None else max(0.0, min(reported, limit, unrecorded))


def left_at_place(limit: float, before: float) -> float:
    """Return the seconds that a press may count, given its limit and the seconds that counted at its place before."""
    return min(limit, PRESSES_A_PLACE * limit - before)


def unrecorded(begun: Assignment | Practice) -> float:
    """Return the seconds since the lease, or the practice, began for which nothing is recorded of the person yet.

    The caller holds the lock of the assignment or of the member.
    """
    values = {"user": begun.annotator.user_id, "began": connection.ops.adapt_datetimefield_value(begun.began)}
    statement = f"SELECT {{since_began}}, {RECORDED} FROM {begun._meta.db_table} WHERE id = %(begun)s"  # noqa: S608
    row = first_prepared(with_clock(statement), values | {"begun": begun.pk})
    assert row
    return float(row[0]) - _sum(row[1:])


def _sum(parts: Iterable[float | None]) -> float:
    return sum(seconds or 0.0 for seconds in parts)
