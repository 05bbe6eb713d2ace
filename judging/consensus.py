"""Consensus: from the grades of one candidate to its outcome. Pure, and versioned.

The rule (TVR-Ranking, section 3.2): two grades that differ by at most the tolerance settle on their mean.
Otherwise two more are asked for; of the four, the highest and the lowest are dropped, and the middle two pass
the same test or the candidate is discarded. Means are rounded halves up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

RULE = "tvr-ranking/1"  # changes whenever any input would get another outcome; printed in each export
GRADES = range(5)

Status = Literal["open", "settled", "contested", "discarded"]


@dataclass(frozen=True)
class Outcome:
    """What is known of a candidate: its status, and its final grade once settled."""

    status: Status
    grade: int | None = None


def consensus(grades: Sequence[int], tolerance: int = 1) -> Outcome:
    """The outcome of a candidate's grades, in whatever order they were given.

    Parameters
    ----------
    grades : up to four integers in 0-4, one an annotator
    tolerance : the largest difference that still counts as agreement; 1 in the paper

    Returns
    -------
    Outcome
        `open` with fewer grades than the round asks for (none, one or three), else `settled` with a grade,
        `contested` (two that differ) or `discarded` (four whose middle two differ).

    Raises
    ------
    ValueError
        For more than four grades, or one that is not an integer in 0-4.

    Examples
    --------
    >>> consensus([2, 3])
    Outcome(status='settled', grade=3)
    >>> consensus([0, 3])
    Outcome(status='contested', grade=None)
    >>> consensus([0, 3, 2, 1])
    Outcome(status='settled', grade=2)
    >>> consensus([0, 4, 0, 4])
    Outcome(status='discarded', grade=None)
    """
    _check(grades)
    if len(grades) not in (2, 4):
        return Outcome("open")
    low, high = sorted(grades)[len(grades) // 2 - 1 : len(grades) // 2 + 1]
    if high - low <= tolerance:
        return Outcome("settled", (low + high + 1) // 2)
    return Outcome("contested" if len(grades) == 2 else "discarded")


def _check(grades: Sequence[int]) -> None:
    if len(grades) > 4:
        raise ValueError(f"{len(grades)} grades; a candidate has at most four")
    for grade in grades:
        if type(grade) is not int or grade not in GRADES:
            raise ValueError(f"grade {grade!r}; expected an integer from 0 to 4")
