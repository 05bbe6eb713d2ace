"""Which unjudged moments would decide between runs, how much, and how a pool favours its runs: known answers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from metrics import Run, calc, qrels_from_dict, run_from_dict
from metrics.analysis.pooling import influence, means_of_part, means_without_own, undecided
from metrics.measures.ground import Ground

K, MU = 5, 0.5
MEASURE = f"nDCG_IoU(iou={MU})@{K}"
JUDGED = {"1": [("a", 0.0, 10.0, 4), ("a", 20.0, 30.0, 0), ("b", 0.0, 10.0, 2)], "2": [("c", 0.0, 10.0, 3)]}


def run(name: str, **found: list[tuple[str, float, float]]) -> Run:
    rows = {query[1:]: [(*span, 10.0 - n) for n, span in enumerate(spans)] for query, spans in found.items()}
    return run_from_dict(rows, name)


ONE = run(
    "one",
    q1=[("a", 0, 10), ("d", 0, 10), ("a", 20, 30), ("d", 1, 11), ("b", 50, 60), ("e", 0, 10)],
    q2=[("c", 0, 10), ("c", 40, 50)],
)
OTHER = run("other", q1=[("d", 2, 12), ("b", 0, 9), ("b", 49, 59)], q2=[("c", 1, 10), ("f", 0, 5)])


def test_what_matches_nothing_that_was_judged_is_found_once_with_its_best_ranks() -> None:
    """The judged moment of grade 0 is decided; rank 6 is too deep; predictions of one place are one moment."""
    found = undecided(Ground(qrels_from_dict(JUDGED)), [ONE, OTHER], K, MU)
    expected = {
        (found.queries[q], found.names[v], start, end): ranks
        for q, v, start, end, ranks in zip(
            found.query, found.video, found.start, found.end, found.ranks.tolist(), strict=True
        )
    }
    assert expected == {
        # The other run has it first, and so its times: the IoU with ranks 2 and 4 of the first is 8/12 and 9/11.
        ("1", "d", 2.0, 12.0): [4, 1],
        ("1", "d", 0.0, 10.0): [2, 0],
        ("1", "b", 49.0, 59.0): [5, 3],
        ("2", "c", 40.0, 50.0): [2, 0],
        ("2", "f", 0.0, 5.0): [0, 2],
    }


def test_a_second_prediction_of_a_judged_moment_that_is_taken_matches_nothing() -> None:
    twice = run("twice", q1=[("a", 0, 10), ("a", 0, 9)], q2=[("c", 0, 10)])
    found = undecided(Ground(qrels_from_dict(JUDGED)), [twice], K, MU)
    assert (len(found), found.end.tolist(), found.ranks.tolist()) == (1, [9.0], [[2]])


def test_spans_without_length_and_unknown_queries_are_left_out() -> None:
    odd = run("odd", q1=[("d", 5, 5)], q9=[("d", 0, 5)])
    assert len(undecided(Ground(qrels_from_dict(JUDGED)), [odd], K, MU)) == 0


@pytest.mark.parametrize("convention", ["paper", "released", "spr"])
def test_influence_is_what_scoring_anew_with_a_perfect_moment_says(convention: str) -> None:
    """By the slow way: each moment is added to the qrels with grade 4, and both runs are scored again."""
    runs, ground = [ONE, OTHER], Ground(qrels_from_dict(JUDGED))
    found = undecided(ground, runs, K, MU, convention)
    before = [calc([MEASURE], JUDGED, each, convention).table()[:, 0] for each in runs]
    gap = abs(np.mean(before[0]) - np.mean(before[1]))
    slow = []
    for n in range(len(found)):
        query, span = found.queries[int(found.query[n])], (float(found.start[n]), float(found.end[n]))
        more = (found.names[int(found.video[n])], *span, 4)
        judged = JUDGED | {query: [*JUDGED[query], more]}
        # A neighbour that overlaps it by half would take it too; influence asks about the moment alone.
        alone = [only_at(each, query, more[:3], found.ranks[n, r]) for r, each in enumerate(runs)]
        after = [calc([MEASURE], judged, each, convention).table()[:, 0] for each in alone]
        change = abs((np.mean(after[0]) - np.mean(after[1])) - (np.mean(before[0]) - np.mean(before[1])))
        slow.append(change / (gap + change))
    assert influence(found, ground, runs, K, MU, convention) == pytest.approx(slow, abs=1e-9)


def only_at(run: Run, query: str, span: tuple[str, float, float], rank: int) -> Run:
    """The run with exactly this span at this rank, and with no other prediction that overlaps it; 0 for no rank."""
    video, start, end = span
    names = (*run.names, "nowhere", video)
    rows = dict(run.slices())[query]
    columns: dict[str, Any] = {"video": run.video.copy(), "start": run.start.copy(), "end": run.end.copy()}
    for row in range(rows.start, rows.stop):
        overlaps = names[columns["video"][row]] == video and columns["start"][row] < end and start < columns["end"][row]
        if overlaps:
            columns["video"][row] = len(names) - 2
    if rank:
        at = rows.start + rank - 1
        columns["video"][at], columns["start"][at], columns["end"][at] = len(names) - 1, start, end
    return replace(run, names=names, **columns)


def test_runs_that_have_it_at_the_same_rank_cannot_change_places_by_it() -> None:
    ground = Ground(qrels_from_dict(JUDGED))
    same = [run(name, q1=[("d", 0, 10)], q2=[("c", 0, 10)]) for name in ("x", "y")]
    assert influence(undecided(ground, same, K, MU), ground, same, K, MU).tolist() == [0.0]


def test_a_better_rank_and_a_smaller_gap_matter_more() -> None:
    ground = Ground(qrels_from_dict(JUDGED))
    runs = [
        run("x", q1=[("d", 0, 10), ("a", 0, 10), ("e", 0, 10)], q2=[("c", 0, 10)]),
        run("y", q1=[("f", 0, 10), ("a", 0, 10)], q2=[("c", 0, 10)]),
        run("z", q1=[("a", 0, 10)], q2=[("g", 0, 10)]),
    ]
    found = undecided(ground, runs, K, MU)
    weight = dict(zip([found.names[v] for v in found.video], influence(found, ground, runs, K, MU), strict=True))
    assert weight["d"] == weight["f"] > weight["e"] > 1  # x and y are tied: that pair counts 1
    assert 0 < weight["g"] < 2  # it lies between z and both others, which are far away


def test_leaving_a_system_out_takes_what_only_it_found() -> None:
    """Rows 1 and 2 are of the enlarged pool: the first was found by group 0 alone, the second by both."""
    qrels = qrels_from_dict({"1": [("a", 0, 10, 4), ("b", 0, 10, 4), ("c", 0, 10, 4)]})
    finders = np.array([[False, False], [True, False], [True, True]])
    runs = [run(f"s{n}", q1=[("b", 0, 10), ("c", 0, 10), ("a", 0, 10)]) for n in range(2)]
    runs.append(run("t", q1=[("c", 0, 10)]))
    without = means_without_own(qrels, finders, runs, [0, 0, 1], [MEASURE])[:, 0]
    gains = 4 / np.log2([2, 3, 4])
    # Nothing of t's is its own.
    assert without == pytest.approx([gains[1:].sum() / gains[:2].sum()] * 2 + [gains[0] / gains.sum()])
    first = means_of_part(qrels, np.array([True, False, False]), runs, [MEASURE])[:, 0]
    assert first == pytest.approx([gains[2] / gains[0]] * 2 + [0.0])
