"""The figures about work: hours, learning, agreement within a sitting, and what becomes of pairs; by hand."""

from __future__ import annotations

import numpy as np
import pytest

from reports.figures.catalogue import tell_flow, tell_hours, tell_learning, tell_sitting
from reports.figures.numbers import FigureSubject, flow, hours_of_week, learning
from reports.statistics.agreement import work
from reports.statistics.arrays import CANDIDATE, DISCARDED, JUDGEMENT, OPEN, SETTLED, TIME, Read, joined

ANN, BEN = 1, 2
MINUTE = 60.0


def pool(grades: list[tuple[int, int]], batches: list[int] | None = None) -> Read:
    """Candidates 1, 2, … that Ann and Ben graded; those within 1 are settled on the mean, rounded down."""
    rows, judged = [], []
    for key, (ann, ben) in enumerate(grades, 1):
        far = abs(ann - ben) > 1
        batch = batches[key - 1] if batches else 1
        outcome, grade = (DISCARDED, -1) if far else (SETTLED, (ann + ben) // 2)
        rows.append((key, 1, batch, key, key, 0.5, outcome, far, grade, False))
        judged += [(key, ANN, batch, 1, ann, 1.0), (key, BEN, batch, 2, ben, 1.0)]
    return joined(np.array(rows, CANDIDATE), np.array(judged, JUDGEMENT), {})


def times(at: list[tuple[int, int, float]]) -> np.ndarray:
    """Candidate, seat, minute."""
    return np.array([(key, seat, minute * MINUTE, 0) for key, seat, minute in at], TIME)


def test_judgements_by_hour_of_the_week() -> None:
    at = np.array([(1, 1, 0.0, 9), (1, 2, 0.0, 9), (2, 1, 0.0, 24 * 5 + 23)], TIME)
    rows = hours_of_week(work(pool([(1, 1), (2, 2)]), at), FigureSubject(None))  # type: ignore[arg-type]
    found = {(row["weekday"], row["hour"]): row["judgements"] for row in rows if row["judgements"]}
    assert found == {("Mon", 9): 2, ("Sat", 23): 1}
    assert tell_hours(rows) == "Busiest: Mon, 9:00 to 10:00, with 2 of 3 judgements. Weekends: 33 %."


def test_the_learning_curve_follows_each_annotators_own_order() -> None:
    """Ann judges batch 7 first, Ben batch 8. The consensus of (1, 2) is 1, so that Ben is 1 off there."""
    of_pool = pool([(1, 2), (3, 3)], batches=[7, 8])
    found = work(of_pool, times([(1, 1, 0), (2, 1, 5), (2, 2, 0), (1, 2, 5)]))
    assert found["batches"] == [[ANN, 1, 1, 0.0], [ANN, 2, 1, 0.0], [BEN, 1, 1, 0.0], [BEN, 2, 1, 1.0]]
    assert found["learning"] == [[1, 2, 0.0, None, None], [2, 2, 0.5, None, None]]
    rows = learning(found, FigureSubject(None))  # type: ignore[arg-type]
    assert tell_learning(rows) == ("0.00 grades from the consensus in batch 1, 0.50 in batch 2 (2 of 2 annotators).")


def test_a_break_of_half_an_hour_begins_a_new_sitting() -> None:
    """Ann judges at minutes 0, 12 and 60, the last of which is minute 0 of her second sitting; Ben all at once."""
    of_pool = pool([(0, 0), (4, 4), (2, 2)])
    found = work(of_pool, times([(1, 1, 0), (2, 1, 12), (3, 1, 60), (1, 2, 0), (2, 2, 0), (3, 2, 0)]))
    assert [(row["minute"], row["judgements"]) for row in found["sitting"]] == [(0, 5), (10, 1)]
    assert found["sitting"][0]["alpha"] == pytest.approx(1)
    assert tell_sitting(found["sitting"][:1]) == "Alpha is 1.00 from minute 0."


def test_what_becomes_of_pairs() -> None:
    of_pool = pool([(1, 1), (2, 2), (3, 3), (0, 4)])
    of_pool.candidates["escalated"][2] = True  # settled by four
    rows = flow(work(of_pool, times([])), FigureSubject(None))  # type: ignore[arg-type]
    assert [(row["round_one"], row["end"], row["pairs"]) for row in rows] == [
        ("agreed", "settled", 2),
        ("contested", "settled", 1),
        ("contested", "discarded", 1),
    ]
    assert tell_flow(rows) == "50 % of the pairs are contested, 1 of these are settled, 1 of these are discarded."


def test_what_nobody_judged_has_no_rows() -> None:
    of_pool = pool([(1, 1)])
    of_pool.candidates["outcome"] = OPEN
    found = work(of_pool, times([]))
    assert (found["learning"], found["sitting"], sum(found["hours"])) == ([], [], 0)
    assert tell_flow(flow(found, FigureSubject(None))) == "No round is complete yet."  # type: ignore[arg-type]
