"""Checks of columns: what makes no sense is an error, or counted, or one of the faults of an uploaded run."""

import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from . import ANY_GRADE, HIGHEST_GRADE
from .arrays import Bools, Floats, Ints
from .columns import END, FINITE, INTEGER, START, Columns, Flaw
from .errors import Faults, MeasureError, MeasureWarning, Place, setting, show
from .moment_ids import moment_id
from .plausibility import doubts_about_queries, doubts_about_times, doubts_about_videos

TWICE, SPAN = "moment {moment} stands twice in its query", "timestamp {span}"  # of messages
MOST_OF_A_KIND = 5  # messages about one way of being wrong
LATEST = 1e12  # seconds; its milliseconds are exact in float64
SLACK = 2.0  # seconds by which a moment may lie outside its video: clips are whole, and regressed times are not exact


class Checks(NamedTuple):
    """How strict reading is.

    lenient: rows that make no sense are kept, counted and warned of; False: the first is an error; None: they are kept,
    are flaws of the table, by which a strict convention refuses it.
    highest: the highest grade of the scale.
    """

    lenient: bool | None = False
    highest: int = HIGHEST_GRADE


def check_qrels(columns: Columns, checks: Checks) -> None:
    """All checks of qrels."""
    value = columns.value
    finite(columns, "grade (relevance)", value, INTEGER)
    wrong = (value != np.floor(value)) | (value < 0) | (value > ANY_GRADE)
    refuse(columns, "grade (relevance)", value, wrong, INTEGER)
    times(columns, checks)
    beyond = f"it must be at most {checks.highest}, the highest grade of the scale ({setting('highest')} says another)"
    check = partial(fault, columns, checks)
    check(value > checks.highest, "grades beyond the scale", f"grade (relevance) {{value:g}}: {beyond}")
    again, differs = repeats(columns, by_value=True)
    two = "moments that stand again with another grade"
    check(differs, two, f"{TWICE}, with different grades; it needs one")
    check(again & ~differs, "moments that stand twice", TWICE)


def check_run(columns: Columns, checks: Checks) -> None:
    """All checks of a run, but of its order, which depends on what it is used for."""
    finite(columns, "score", columns.value)
    times(columns, checks)
    again, _ = repeats(columns)
    fault(columns, checks, again, "predictions that stand twice", TWICE)


def rises(scores: Floats, group: Ints) -> Bools:
    """Which rows have a higher score than the row before them in the list of the same query."""
    rising = np.zeros(scores.size, dtype=np.bool_)
    rising[1:] = (scores[1:] > scores[:-1]) & (group[1:] == group[:-1])
    return rising


def times(columns: Columns, checks: Checks) -> None:
    """Times are finite, from 0 up, and a moment does not end before it starts."""
    for name, values in ((START, columns.start), (END, columns.end)):
        finite(columns, name, values)
        refuse(columns, name, values, np.abs(values) > LATEST, f"at most {LATEST:g} seconds")
    backwards, negative = columns.end < columns.start, np.minimum(columns.start, columns.end) < 0
    check = partial(fault, columns, checks)
    check(backwards, "timestamps that end before they start", f"{SPAN} ends before it starts; it needs start ≤ end")
    check(negative & ~backwards, "timestamps before 0", f"{SPAN} lies before 0; times are seconds from 0 up")


def finite(columns: Columns, name: str, values: Floats, right: str = FINITE) -> None:
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
    note = f"{rows.size} {what} (the first: {columns.where(row)}) are kept and counted"
    if checks.lenient:
        columns.notes.append(note)
        return
    moment = repr(moment_id(columns.names[columns.video[row]], columns.start[row], columns.end[row]))
    text = message.format(span=_span(columns, row), moment=moment, value=columns.value[row])
    problem = columns.fail(row, f"{text} ({setting('lenient', True)} counts such moments)")
    if checks.lenient is False:
        raise problem
    columns.flaws.append(Flaw(str(problem), f"{columns.source}: {note}"))


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


class Known(NamedTuple):
    """What a run may name: the ids of queries, and the seconds of each video."""

    queries: Collection[str]
    durations: Mapping[str, float]


class Check(NamedTuple):
    """The rows that are wrong in one way, what they are called together, and what to say of one of them."""

    wrong: Bools
    what: str
    says: Callable[[int], str]


def usable(columns: Columns, known: Known) -> Columns:
    """The predictions for known queries, each moment of a query once, its first; notes count what is left out.

    Raises MeasureError if no query is known.
    """
    is_known = np.array([query in known.queries for query in columns.queries], dtype=np.bool_)
    if not is_known.all():
        unknown = columns.queries[int(np.argmin(is_known))]
        if not is_known.any():
            example = next(iter(known.queries), None)
            there = "there are none" if example is None else f"such as {show(example)}"
            wrong = f"the query is unknown{', as are all others of the run' if is_known.size > 1 else ''}"
            place = Place(columns.source, f"query {unknown!r}")
            raise place.fail(f"{wrong}; it must be one of the campaign's, {there}")
        columns = columns.of_queries(is_known)
        number = int((~is_known).sum())
        columns.notes.append(f"unknown queries that are left out: {number:,} (the first: {unknown!r})")
    again = repeats(columns)[0]
    if again.any():
        first = columns.where(int(np.argmax(again)))
        columns.notes.append(f"repeated predictions that are left out: {int(again.sum()):,} (the first: {first})")
    return columns.kept(~again)


def find_faults(columns: Columns, known: Known, faults: Faults) -> None:
    """Add what is wrong with the predictions, in the order of the file: the first rows that are wrong in one way, then
    how many more there are.
    """
    numbers = {"score": columns.value, START: columns.start, END: columns.end}
    checks = [_finite(name, values) for name, values in numbers.items()]
    checks += [*_times(columns, known), _unknown_video(columns, known), _rising(columns)]
    rows = [np.flatnonzero(check.wrong) for check in checks]
    first = [(row, n) for n, wrong in enumerate(rows) for row in wrong[:MOST_OF_A_KIND].tolist()]
    for row, n in sorted(first):
        faults.add(columns.fail(row, checks[n].says(row)))
    for check, wrong in zip(checks, rows, strict=True):
        if (more := wrong.size - MOST_OF_A_KIND) > 0:
            faults.add(MeasureError(f"{columns.source}: {check.what}: {more:,} more"))
            faults.count += more - 1


def doubts_about_run(columns: Columns, known: Known) -> Iterator[str]:
    """Yield what makes one doubt that a run is right, as far as the videos' names and lengths tell."""
    seconds = np.array([known.durations[name] for name in columns.names if name in known.durations])
    yield from doubts_about_queries(columns.queries)
    yield from doubts_about_videos(columns.names, known.durations, "corpus", "rename")
    expected = seconds if seconds.size else np.fromiter(known.durations.values(), np.float64, len(known.durations))
    yield from doubts_about_times(columns.start, columns.end, expected, "the videos")


def cut(columns: Columns, known: Known) -> Columns:
    """The predictions, cut to their videos where they begin a little before 0 or end a little late; a note counts them.
    Those that are then like one before them in the list are left out.
    """
    seconds = _seconds(columns, known)
    outside = (columns.start < 0) | (columns.end > seconds)
    if not outside.any():
        return columns
    first = columns.where(int(np.flatnonzero(outside)[0]))
    columns = replace(columns, start=np.maximum(columns.start, 0.0), end=np.minimum(columns.end, seconds))
    again = repeats(columns)[0]
    text = f"{int(outside.sum())} predictions that lie a little outside their video are cut (the first: {first})"
    gone = f"; {int(again.sum())} then stand in their list before, and are left out" if again.any() else ""
    columns.notes.append(text + gone)
    return columns.kept(~again)


def _finite(name: str, values: Floats) -> Check:
    what, message = f"values of {name} that are not finite", f"{name} is {{}}; it must be {FINITE}"
    return Check(~np.isfinite(values), what, lambda row: message.format(values[row]))


def _times(columns: Columns, known: Known) -> Iterator[Check]:
    start, end, seconds = columns.start, columns.end, _seconds(columns, known)

    def says(message: str) -> Callable[[int], str]:
        return lambda row: f"timestamp {_span(columns, row)} {message}"

    def beyond(row: int) -> str:
        video, long = columns.names[columns.video[row]], f"{seconds[row]:.10g}"
        return says(f"lies outside video {show(video)}, which is {long} s long")(row)

    with np.errstate(invalid="ignore"):
        early, late = (start < -SLACK) | ((start < 0) & (end <= 0)), (start >= seconds) | (end > seconds + SLACK)
    message = f"begins before 0; times are seconds, at most {SLACK:g} s below 0"
    yield Check(early, "timestamps that begin before 0", says(message))
    yield Check(end < start, "timestamps that end before they start", says("ends before it starts; needs start ≤ end"))
    yield Check(late, "timestamps that lie outside their video", beyond)


def _seconds(columns: Columns, known: Known) -> Floats:
    """The length of each row's video, far beyond any time where it is not known: shape (rows,)."""
    seconds: Floats = np.array([known.durations.get(name, LATEST) for name in columns.names])[columns.video]
    return seconds


def _unknown_video(columns: Columns, known: Known) -> Check:
    """Check the first row of each video."""
    unknown = np.array([name not in known.durations for name in columns.names], dtype=np.bool_)
    first = np.zeros(columns.video.size, dtype=np.bool_)
    first[np.unique(columns.video, return_index=True)[1]] = True
    number = np.bincount(columns.video, minlength=len(columns.names))

    def says(row: int) -> str:
        video = columns.video[row]
        more = f" ({number[video]:,} predictions)" if number[video] > 1 else ""
        return f"video {show(columns.names[video])} is unknown{more}; it must be one of the campaign's corpus"

    return Check(first & unknown[columns.video], "videos that are unknown", says)


def _rising(columns: Columns) -> Check:
    """Check that scores do not rise along the list of a query; those that are no numbers have a check of their own."""
    score = columns.value
    rising = rises(score, columns.group) & np.isfinite(score)

    def says(row: int) -> str:
        before = f"{columns.value[row - 1]:.10g}"
        return f"score is {columns.value[row]:.10g}, after {before}; a list needs its best prediction first"

    return Check(rising, "scores that rise along a list", says)


def _span(columns: Columns, row: int) -> str:
    return f"[{columns.start[row]:.10g}, {columns.end[row]:.10g}]"
