"""Reading finished ratings (`pair_id,worker,relevance`), settling them, and counting the defects of their process."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from base.errors import ReeljudgeError
from campaigns.models.campaign import TOLERANCE
from judging.consensus import Outcome, Status, consensus
from judging.models.pool import ANNOTATORS
from metrics import MeasureError
from metrics.formats.csv_tables import rating_rows

MOST_RATINGS = 4  # of a pair


class Ratings(dict[str, list[tuple[str, int]]]):
    """The workers and grades of each pair: by rounds if the file says them, or else in the order of the file."""

    rounds_known = False


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
    """Return the ratings of each pair.

    Raises
    ------
    ReeljudgeError
        If the file or a rating is wrong, a pair has more than four ratings, or more than two in a round; it names the
        line and the field. If a pair has ratings in round two, but not two in round one; it names the pair.
    """
    ratings, second = Ratings(), dict[str, list[tuple[str, int]]]()
    try:
        for place, (pair, worker, grade, number) in rating_rows(file):
            ratings.rounds_known = number is not None
            given = ratings.setdefault(pair, [])
            if number == 2:
                given = second.setdefault(pair, [])
            if number and len(given) == ANNOTATORS:
                raise place.fail(f"a third rating of pair {pair} in round {number}; expected at most two")
            if len(given) == MOST_RATINGS:
                raise place.fail(f"a fifth rating of pair {pair}; expected at most four")
            given.append((worker, grade))
    except MeasureError as fault:
        raise ReeljudgeError(str(fault)) from fault
    for pair, given in second.items():
        if len(ratings[pair]) < ANNOTATORS:
            raise ReeljudgeError(f"{file}: pair {pair} has ratings of round 2, and not two of round 1")
        ratings[pair] += given
    return ratings
