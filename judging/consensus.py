"""The rules of outcomes, on plain values: the consensus, a pure, versioned function, and when a grade is reused.

The rule (TVR-Ranking, section 3.2): if two grades differ by at most the tolerance, their mean is the final grade.
Otherwise two more annotators grade the candidate. Of the four grades the highest and the lowest are dropped. If the
two that remain differ by at most the tolerance, their mean is the final grade; if not, the candidate is discarded.
Means that end in a half are rounded up.

Judging settles candidates by these rules, and the audit and `verify.py` of a release check by them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

ANNOTATORS = 2  # in each round
RULE = "tvr-ranking/1"  # the version; it changes when any input gets another outcome, and exports print it
GRADES = range(5)
LEAST_OVERLAP = 0.9  # of two moments of a video, of which one has the grade that the other got in an earlier campaign


class Status(StrEnum):
    """How far the grades of a candidate have come."""

    OPEN = "open"
    SETTLED = "settled"
    CONTESTED = "contested"
    DISCARDED = "discarded"
    FLAGGED = "flagged"  # an annotator could not judge it


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


def outcome_after(rounds: int, grades: Sequence[int], tolerance: int, *, final: bool = False) -> Outcome:
    """Return the outcome of a candidate of which one or two rounds are complete, from the grades that count.

    Parameters
    ----------
    rounds
        The number of complete rounds, 1 or 2. With fewer grades than the rounds ask for, the candidate is `FLAGGED`.
    final
        Whether nobody will grade the candidate any more, as in imported ratings. It is then `SETTLED` or `DISCARDED`.

    Examples
    --------
    >>> [str(outcome_after(2, grades, 1).status) for grades in ([0, 3, 1, 2], [0, 3, 1])]
    ['settled', 'flagged']
    >>> str(outcome_after(1, [0, 3], 1, final=True).status)
    'discarded'
    """
    outcome = consensus(grades, tolerance)
    if final and outcome.status != Status.SETTLED:
        return Outcome(Status.DISCARDED)
    return Outcome(Status.FLAGGED) if not final and len(grades) < ANNOTATORS * rounds else outcome


@dataclass(frozen=True)
class Reuse:
    """A grade that a candidate has from a candidate of an earlier campaign, with the times of both moments."""

    grade: int
    grades: Sequence[int]
    rule: str
    overlap: float
    moment: tuple[float, float]
    source: tuple[float, float]

    def faults(self, tolerance: int) -> Iterator[str]:
        """Yield what is wrong: the overlap of the moments, or grades that lead to another grade by the present rule."""
        if (common := overlap(self.moment, self.source)) != self.overlap or common < LEAST_OVERLAP:
            yield f"the moments overlap by {common}, not {self.overlap}"
        if self.rule == RULE and consensus(self.grades, tolerance).grade != self.grade:
            yield f"the grades {self.grades} do not lead to {self.grade}"


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
