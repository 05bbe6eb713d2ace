"""Reading finished ratings (`pair_id,worker,relevance`), settling them, and counting the defects of their process."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from base.errors import ReeljudgeError
from campaigns.models.campaign import TOLERANCE
from judging.consensus import Outcome, Status, consensus
from metrics import MeasureError
from metrics.formats.ratings import rating_rows

MOST_RATINGS = 4  # of a pair
Ratings = dict[str, list[tuple[str, int]]]


@dataclass
class Settled:
    """The number of ratings and the outcome of each pair, and the pairs with a defect of the rating process."""

    pairs: dict[str, tuple[int, Outcome]] = field(default_factory=dict)
    one_worker_twice: list[str] = field(default_factory=list)
    one_worker_twice_and_differing: list[str] = field(default_factory=list)
    escalated_without_need: list[str] = field(default_factory=list)
    stopped_while_contested: list[str] = field(default_factory=list)
    odd_number: list[str] = field(default_factory=list)

    @property
    def settled(self) -> int:
        return sum(outcome.status == Status.SETTLED for _, outcome in self.pairs.values())

    @property
    def defects(self) -> dict[str, list[str]]:
        """The pairs with each defect, by a description of the defect."""
        return {
            "one worker twice": self.one_worker_twice,
            "one worker twice, with different grades": self.one_worker_twice_and_differing,
            "escalated although all within one": self.escalated_without_need,
            "stopped while still contested": self.stopped_while_contested,
            "neither two nor four ratings": self.odd_number,
        }


def settle(ratings: Ratings) -> Settled:
    """Settle every pair that has two or four ratings, and list the defects.

    A pair is not settled if its rating stopped while it was contested, or after one or three ratings.
    """
    result = Settled()
    for pair, given in ratings.items():
        grades = [grade for _, grade in given]
        outcome = consensus(grades)
        result.pairs[pair] = (len(given), outcome)
        if outcome.status == Status.CONTESTED:
            result.stopped_while_contested.append(pair)
        if outcome.status == Status.OPEN:
            result.odd_number.append(pair)
        if len(given) == 4 and max(grades) - min(grades) <= TOLERANCE:
            result.escalated_without_need.append(pair)
        _one_worker_twice(pair, given, result)
    return result


def _one_worker_twice(pair: str, given: list[tuple[str, int]], result: Settled) -> None:
    if len({worker for worker, _ in given}) == len(given):
        return
    result.one_worker_twice.append(pair)
    if len(set(given)) > len({worker for worker, _ in given}):
        result.one_worker_twice_and_differing.append(pair)


def read(file: Path) -> Ratings:
    """Return the ratings of each pair, in the order of the file.

    Raises
    ------
    ReeljudgeError
        If the file or a rating is wrong, or a pair has more than four ratings; it names the line and the field.
    """
    ratings: Ratings = defaultdict(list)
    try:
        for place, (pair, worker, grade) in rating_rows(file):
            if len(ratings[pair]) == MOST_RATINGS:
                raise place.fail(f"a fifth rating of pair {pair}; expected at most four")
            ratings[pair].append((worker, grade))
    except MeasureError as fault:
        raise ReeljudgeError(str(fault)) from fault
    return ratings
