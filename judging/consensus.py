"""The consensus: a pure, versioned function from the grades of one candidate to its outcome.

The rule (TVR-Ranking, section 3.2): if two grades differ by at most the tolerance, their mean is the final grade.
Otherwise two more annotators grade the candidate. Of the four grades the highest and the lowest are dropped. If the
two that remain differ by at most the tolerance, their mean is the final grade; if not, the candidate is discarded.
Means that end in a half are rounded up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

RULE = "tvr-ranking/1"  # the version; it changes when any input gets another outcome, and exports print it
GRADES = range(5)
LEAST_OVERLAP = 0.9  # of two moments of a video, of which one has the grade that the other got in an earlier campaign


class Status(StrEnum):
    """How far the grades of a candidate have come."""

    OPEN = "open"
    SETTLED = "settled"
    CONTESTED = "contested"
    DISCARDED = "discarded"


@dataclass(frozen=True)
class Outcome:
    """The status of a candidate, and its final grade if it is settled."""

    status: Status
    grade: int | None = None


def consensus(grades: Sequence[int], tolerance: int = 1) -> Outcome:
    """Return the outcome of a candidate's grades. Their order does not matter.

    Parameters
    ----------
    grades
        Up to four integers from 0 to 4, one for each annotator.
    tolerance
        The largest difference that still counts as agreement; 1 in the paper.

    Returns
    -------
    Outcome
        `OPEN` if the round is not complete (no grade, one or three), `SETTLED` with the final grade,
        `CONTESTED` for two grades that differ, or `DISCARDED` for four grades whose middle two differ.

    Raises
    ------
    ValueError
        If there are more than four grades, or one of them is not an integer from 0 to 4.

    Examples
    --------
    >>> consensus([2, 3])
    Outcome(status=<Status.SETTLED: 'settled'>, grade=3)
    >>> consensus([0, 3])
    Outcome(status=<Status.CONTESTED: 'contested'>, grade=None)
    >>> consensus([0, 3, 2, 1])
    Outcome(status=<Status.SETTLED: 'settled'>, grade=2)
    >>> consensus([0, 4, 0, 4])
    Outcome(status=<Status.DISCARDED: 'discarded'>, grade=None)
    """
    _check(grades)
    if len(grades) not in (2, 4):
        return Outcome(Status.OPEN)
    low, high = sorted(grades)[len(grades) // 2 - 1 : len(grades) // 2 + 1]
    if high - low <= tolerance:
        return Outcome(Status.SETTLED, (low + high + 1) // 2)
    return Outcome(Status.CONTESTED if len(grades) == 2 else Status.DISCARDED)


def overlap(moment: tuple[float, float], other: tuple[float, float]) -> float:
    """Return the intersection over union of two moments of one video: 1 for equal times, also where both are empty.

    Parameters
    ----------
    moment, other
        Start and end in seconds.

    Examples
    --------
    >>> overlap((0, 10), (1, 10)), overlap((0, 10), (10, 20)), overlap((3, 3), (3, 3))
    (0.9, 0.0, 1.0)
    """
    if moment == other:
        return 1.0
    (start, end), (other_start, other_end) = moment, other
    common = max(0.0, min(end, other_end) - max(start, other_start))
    union = end - start + other_end - other_start - common
    return common / union if union > 0 else 0.0


def _check(grades: Sequence[int]) -> None:
    if len(grades) > 4:
        raise ValueError(f"{len(grades)} grades; a candidate has at most four")
    for grade in grades:
        if type(grade) is not int or grade not in GRADES:
            raise ValueError(f"grade {grade!r}; expected an integer from 0 to 4")
