"""Whether the columns of qrels and runs make sense; what does not is an error, or counted."""

import warnings
from functools import partial
from typing import NamedTuple

import numpy as np

from .arrays import Bools, Floats, Ints
from .columns import Columns
from .errors import MeasureWarning
from .moment_ids import moment_id
from .names import ANY_GRADE, HIGHEST_GRADE

TWICE, SPAN = "moment {moment} stands twice in its query", "timestamp {span}"  # of messages
LATEST = 1e12  # seconds; its milliseconds are exact in float64


class Checks(NamedTuple):
    """How strict reading is.

    lenient: rows that make no sense are kept, counted and warned of; otherwise the first is an error.
    highest: the highest grade of the scale.
    """

    lenient: bool = False
    highest: int = HIGHEST_GRADE


def check_qrels(columns: Columns, checks: Checks) -> Ints:
    """Grades as int64, after all checks of qrels."""
    value, integer = columns.value, "an integer from 0 up"
    finite(columns, "grade (relevance)", value, integer)
    wrong = (value != np.floor(value)) | (value < 0) | (value > ANY_GRADE)
    refuse(columns, "grade (relevance)", value, wrong, integer)
    grades = columns.value.astype(np.int64)
    times(columns, checks)
    beyond = f"it must be at most {checks.highest}, the highest grade of the scale (--scale says another)"
    check = partial(fault, columns, checks)
    check(grades > checks.highest, "grades beyond the scale", f"grade (relevance) {{value:g}}: {beyond}")
    again, differs = repeats(columns, by_value=True)
    two = "moments that stand again with another grade"
    check(differs, two, f"{TWICE}, with different grades; it needs one")
    check(again & ~differs, "moments that stand twice", TWICE)
    return grades


def check_run(columns: Columns, checks: Checks, order: Ints | slice) -> None:
    """All checks of a run, whose queries stand together in that order."""
    finite(columns, "score", columns.value)
    times(columns, checks)
    again, _ = repeats(columns)
    fault(columns, checks, again, "predictions that stand twice", TWICE)
    group = columns.group[order]
    rising = np.unique(group[rises(columns.value[order], group)])
    if rising.size:
        columns.notes.append(
            f"scores of {rising.size} queries rise along the list (the first: query "
            f"{columns.queries[rising[0]]!r}); most conventions take a list in its order, whatever its scores"
        )


def rises(scores: Floats, group: Ints) -> Bools:
    """Which rows have a higher score than the row before them in the list of the same query."""
    rising = np.zeros(scores.size, dtype=np.bool_)
    rising[1:] = (scores[1:] > scores[:-1]) & (group[1:] == group[:-1])
    return rising


def times(columns: Columns, checks: Checks) -> None:
    """Times are finite, from 0 up, and a moment does not end before it starts."""
    for name, values in (("timestamp (start)", columns.start), ("timestamp (end)", columns.end)):
        finite(columns, name, values)
        refuse(columns, name, values, np.abs(values) > LATEST, f"at most {LATEST:g} seconds")
    backwards, negative = columns.end < columns.start, np.minimum(columns.start, columns.end) < 0
    check = partial(fault, columns, checks)
    check(
        backwards,
        "timestamps that end before they start",
        f"{SPAN} ends before it starts; it needs start ≤ end",
    )
    check(negative & ~backwards, "timestamps before 0", f"{SPAN} lies before 0; times are seconds from 0 up")


def finite(columns: Columns, name: str, values: Floats, right: str = "a finite number") -> None:
    """Refuse the first value that is not a finite number."""
    refuse(columns, name, values, ~np.isfinite(values), right)


def refuse(columns: Columns, name: str, values: Floats, wrong: Bools, right: str) -> None:
    """Refuse the first value that is wrong."""
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise columns.fail(row, f"{name} is {values[row]:.10g}; it must be {right}")


def fault(columns: Columns, checks: Checks, wrong: Bools, what: str, message: str) -> None:
    """Refuse the first row that is wrong, or note how many are."""
    rows = np.flatnonzero(wrong)
    if not rows.size:
        return
    row = int(rows[0])
    if checks.lenient:
        columns.notes.append(f"{rows.size} {what} (the first: {columns.where(row)}) are kept and counted")
        return
    span = f"[{columns.start[row]:.10g}, {columns.end[row]:.10g}]"
    moment = repr(moment_id(columns.names[columns.video[row]], columns.start[row], columns.end[row]))
    said = message.format(span=span, moment=moment, value=columns.value[row])
    raise columns.fail(row, f"{said} (--lenient, or lenient=True in Python, counts such moments)")


def repeats(columns: Columns, by_value: bool = False) -> tuple[Bools, Bools]:
    """Which rows stand for the same moment of the same query as a row before; and which of them, if asked
    for, with another value than the first such row.
    """
    again = np.zeros(columns.start.size, dtype=np.bool_)
    if not _may_repeat(columns):
        return again, again
    copy = np.zeros_like(columns.group) if columns.copy is None else columns.copy
    keys = (copy, columns.end, columns.start, columns.video, columns.group)
    order = np.lexsort(keys)
    same = np.ones(order.size - 1, dtype=np.bool_)
    for key in keys:
        same &= key[order[1:]] == key[order[:-1]]
    again[order[1:][same]] = True
    first = order[np.maximum.accumulate(np.where(np.append(True, ~same), np.arange(order.size), 0))]
    differs = np.zeros_like(again)
    if by_value:
        differs[order] = columns.value[order] != columns.value[first]
    return again, differs


def _may_repeat(columns: Columns) -> bool:
    """Whether two rows can be the same: they are not, if 64 bits mixed from each row all differ."""
    mixed = np.zeros(columns.start.size, dtype=np.uint64)
    copy = () if columns.copy is None else (columns.copy,)
    for column in (columns.group, columns.video, columns.start + 0.0, columns.end + 0.0, *copy):
        mixed = (mixed ^ column.view(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    mixed.sort()
    return bool((mixed[1:] == mixed[:-1]).any())


def warn(columns: Columns) -> None:
    """Say what is unusual about a file."""
    for note in columns.notes:
        warnings.warn(f"{columns.source}: {note}", MeasureWarning, stacklevel=4)
