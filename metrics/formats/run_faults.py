"""Everything that is wrong with a run, so that its maker can mend all of it at once."""

from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

import numpy as np

from .arrays import Bools, Floats
from .checks import LATEST, repeats, rises
from .columns import Columns
from .errors import MOST_TOLD, Faults
from .place import Place
from .showing import show

SLACK = 2.0  # seconds; a system that cuts videos into clips ends its last one a little after the video


class Known(NamedTuple):
    """What a run may name: the ids of queries, and the seconds of each video."""

    queries: Collection[str]
    durations: Mapping[str, float]


class Check(NamedTuple):
    """The rows that are wrong in one way, and what to say of one of them."""

    wrong: Bools
    says: Callable[[int], str]


def find_faults(columns: Columns, known: Known, faults: Faults) -> None:
    """Add what is wrong with the predictions, in the order of the file.

    A query that nobody knows is told once; each other fault belongs to one prediction.
    """
    for number in np.flatnonzero(np.bincount(columns.group, minlength=len(columns.queries)) == 0).tolist():
        if columns.queries[number] not in known.queries:
            place = Place(columns.source, f"query {columns.queries[number]!r}")
            faults.add(place.fail(_unknown_query(columns, known).says(0)))
    checks = [_unknown_query(columns, known), *_numbers(columns), *_times(columns, known)]
    checks += [_unknown_video(columns, known), _again(columns), _rising(columns)]
    found = [
        (row, n) for n, check in enumerate(checks) for row in np.flatnonzero(check.wrong)[:MOST_TOLD].tolist()
    ]
    for row, n in sorted(found)[:MOST_TOLD]:
        faults.add(columns.fail(row, checks[n].says(row)))
    faults.count += sum(int(check.wrong.sum()) for check in checks) - min(len(found), MOST_TOLD)


def _unknown_query(columns: Columns, known: Known) -> Check:
    unknown = np.array([query not in known.queries for query in columns.queries], dtype=np.bool_)
    first = np.zeros(columns.group.size, dtype=np.bool_)
    first[np.unique(columns.group, return_index=True)[1]] = True
    return Check(
        first & unknown[columns.group], lambda row: "the query is unknown; it must be one of the campaign's"
    )


def _numbers(columns: Columns) -> list[Check]:
    named = {"score": columns.value, "timestamp (start)": columns.start, "timestamp (end)": columns.end}
    return [_finite(name, values) for name, values in named.items()]


def _finite(name: str, values: Floats) -> Check:
    return Check(~np.isfinite(values), lambda row: f"{name} is {values[row]}; it must be a finite number")


def _times(columns: Columns, known: Known) -> list[Check]:
    start, end = columns.start, columns.end
    seconds = np.array([known.durations.get(name, LATEST) for name in columns.names])[columns.video]

    def beyond(row: int) -> str:
        video, long = columns.names[columns.video[row]], f"{seconds[row]:.10g}"
        return f"timestamp {_span(columns, row)} lies outside video {show(video)}, which is {long} s long"

    with np.errstate(invalid="ignore"):
        return [
            Check(
                start < 0, lambda row: f"timestamp {_span(columns, row)} begins before 0; times are seconds"
            ),
            Check(
                end < start,
                lambda row: f"timestamp {_span(columns, row)} ends before it starts; needs start ≤ end",
            ),
            Check((start >= seconds) | (end > seconds + SLACK), beyond),
        ]


def _unknown_video(columns: Columns, known: Known) -> Check:
    unknown = np.array([name not in known.durations for name in columns.names], dtype=np.bool_)[columns.video]

    def says(row: int) -> str:
        return f"video {show(columns.names[columns.video[row]])} is unknown; it must be one of the campaign's corpus"

    return Check(unknown, says)


def _again(columns: Columns) -> Check:
    def says(row: int) -> str:
        video = show(columns.names[columns.video[row]])
        return f"{video} {_span(columns, row)} stands in the list before; a moment may stand once for a query"

    return Check(repeats(columns)[0], says)


def _rising(columns: Columns) -> Check:
    """Check that scores do not rise along the list of a query; those that are no numbers have a check of their own."""
    score = columns.value
    rising = rises(score, columns.group) & np.isfinite(score)

    def says(row: int) -> str:
        before = f"{columns.value[row - 1]:.10g}"
        return f"score is {columns.value[row]:.10g}, after {before}; a list needs its best prediction first"

    return Check(rising, says)


def _span(columns: Columns, row: int) -> str:
    return f"[{columns.start[row]:.10g}, {columns.end[row]:.10g}]"
