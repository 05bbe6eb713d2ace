"""What the grades and the order of systems would have been with fewer raw grades; bias and variance in theory."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from judging.consensus import GRADES, Status, consensus
from metrics import Run, as_pool, calc, qrels_from_dict, run_from_dict
from metrics.analysis.noise import axiou_error, noise_error, success_error
from metrics.analysis.other_judging import (
    Judged,
    RawGrades,
    changes,
    final_grades,
    half_of_each_query,
    one_of_each_pair,
    with_grades,
)
from metrics.measures.conventions import convention_named


def raw(*rows: tuple[int, int, int, int]) -> RawGrades:
    return RawGrades(*np.array(rows, dtype=np.int64).T)


@pytest.mark.parametrize("tolerance", [0, 1, 2])
@pytest.mark.parametrize("number", [2, 4])
def test_of_two_and_of_four_grades_it_is_the_consensus(number: int, tolerance: int) -> None:
    cases = list(product(GRADES, repeat=number))
    rows = [(pair, who, 0, grade) for pair, grades in enumerate(cases) for who, grade in enumerate(grades)]
    given = raw(*rows[::-1])
    final = final_grades(given, np.ones(len(rows), dtype=bool), np.full(len(cases), 9), tolerance)
    outcomes = [consensus(grades, tolerance) for grades in cases]
    assert final.tolist() == [-1 if each.grade is None else each.grade for each in outcomes]
    assert Status.SETTLED in {each.status for each in outcomes}


def test_a_pair_without_a_raw_grade_keeps_its_final_one() -> None:
    given = raw((0, 1, 1, 4), (2, 1, 1, 0))
    assert final_grades(given, given.annotator != 1, np.array([3, 2, -1])).tolist() == [3, 2, -1]


def test_half_of_each_query_and_one_of_each_pair() -> None:
    query = np.repeat(np.arange(3), [4, 5, 1])
    many = np.array([half_of_each_query(query, np.random.default_rng(seed)) for seed in range(300)])
    for number, half in enumerate((2, 3, 1)):
        assert (many[:, query == number].sum(axis=1) == half).all()
    assert np.abs(many[:, :4].mean(axis=0) - 0.5).max() < 0.1
    given = raw((0, 1, 1, 0), (0, 2, 1, 3), (0, 3, 2, 1), (0, 4, 2, 1), (1, 1, 1, 2), (1, 2, 1, 2))
    drawn = np.array([one_of_each_pair(given, np.random.default_rng(seed)) for seed in range(200)])
    assert (drawn[:, :4].sum(axis=1) == 1).all()
    assert not drawn[:, 2:4].any()
    assert 70 < drawn[:, 0].sum() < 130


def world() -> tuple[Judged, list[Run]]:
    """Annotator 3 graded two moments of a query quite unlike the others. Systems a and b find one of them each."""
    pairs = qrels_from_dict({"q": [("a", 0.0, 10.0, 2), ("b", 0.0, 10.0, 3)], "r": [("a", 0.0, 10.0, 1)]})
    first = [(0, 1, 1, 3), (0, 3, 1, 0), (0, 2, 2, 3), (0, 4, 2, 1)]
    second = [(1, 2, 1, 2), (1, 3, 1, 4)]
    given = raw(*first, *second, (2, 1, 1, 1), (2, 2, 1, 1))
    runs = [run_from_dict({"q": [(video, 0.0, 10.0, 1.0)], "r": [("a", 0.0, 10.0, 1.0)]}, video) for video in "ab"]
    return Judged(pairs, given), runs


def test_the_order_of_systems_changes_without_one_annotator() -> None:
    judged, runs = world()
    found = list(changes(judged, ["nDCG_IoU(iou=0.5)@1"], runs, convention_named("paper"), trials=30))
    assert [each.change for each in found] == ["half", "one", *["without"] * 4]
    assert [each.annotator for each in found[2:]] == [1, 2, 3, 4]
    half, one, *without = found
    assert half.means.shape == one.means.shape == (30, 2, 1)
    assert {tuple(row) for row in half.means[:, :, 0].tolist()} == {(1.0, 0.5), (0.5, 1.0)}
    # Without annotator 3 the moments have grades 3 and 2; without annotator 2, grades 1 and 4.
    assert without[2].means[0, :, 0].tolist() == pytest.approx([1, (1 + 2 / 3) / 2])
    assert without[1].means[0, :, 0].tolist() == pytest.approx([(1 + 1 / 4) / 2, 1])


def test_a_share_of_the_queries_is_drawn_plain_and_corrected() -> None:
    pairs = {f"q{n}": [("a", 0.0, 10.0, 1 + n % 3), ("b", 0.0, 10.0, 2 + n % 2)] for n in range(40)}
    pool = as_pool({query: [moment[:3] for moment in held] for query, held in pairs.items()} | {"more": [("c", 0, 1)]})
    runs = [run_from_dict({query: [(video, 0.0, 10.0, 1.0)] for query in pairs}, video) for video in "ab"]
    judged = Judged(qrels_from_dict(pairs), raw(*((n, 1 + n % 2, 1, 2) for n in range(80))))
    arguments = (judged, ["nDCG_IoU(iou=0.5)@1"], runs, convention_named("paper"))
    found = {each.change: each.means for each in changes(*arguments, trials=10, pool=pool)}
    assert [*found] == ["half", "queries", "estimated", "one", "without"]
    truth = np.array([calc(arguments[1], judged.pairs, run).table().mean() for run in runs])
    assert found["queries"].shape == found["estimated"].shape == (10, 2, 1)
    assert np.abs(found["estimated"][:, :, 0].mean(axis=0) - truth).max() < 0.1
    assert len({*found["queries"][:, 0, 0].tolist()}) > 3


def test_qrels_of_some_pairs_are_scored_as_if_the_others_were_not_there() -> None:
    judged, (run, _) = world()
    some = with_grades(judged.pairs, np.array([-1, 3, 1]))
    written = qrels_from_dict({"q": [("b", 0.0, 10.0, 3)], "r": [("a", 0.0, 10.0, 1)]})
    measures = ["nDCG_IoU(iou=0.5)@1", "AxIoU@5"]
    assert calc(measures, some, run).aggregate() == calc(measures, written, run).aggregate()
    none = with_grades(judged.pairs, np.array([-1, -1, 1]))
    assert none.queries == ("r",)
    assert calc(measures[:1], none, run, convention_named("paper").but(unjudged="skip")).unjudged == ("q",)


@pytest.mark.parametrize("theta", [0.3, 0.5, 0.7])
def test_bias_and_variance_as_drawn(theta: float) -> None:
    drawn = np.random.default_rng(1).normal(0.5, 0.15, 400_000)
    passes = (drawn >= theta).astype(float) - (theta <= 0.5)
    error = success_error(0.5, np.array(theta), np.array(0.15))
    assert float(error.bias) == pytest.approx(passes.mean() ** 2, abs=0.003)
    assert float(error.variance) == pytest.approx(passes.var(), abs=0.003)
    assert float(error.mse) == pytest.approx(np.square(passes).mean(), abs=0.003)
    assert float(axiou_error(np.array(0.15)).mse) == pytest.approx(np.square(drawn - 0.5).mean(), abs=0.001)


def test_noise_is_split_into_bias_and_variance() -> None:
    qrels = qrels_from_dict({str(q): [("v", 10.0, 18.0, 1)] for q in range(20)})
    run = run_from_dict({str(q): [("v", 10.0, 18.0 + q / 4, 1.0)] for q in range(20)})
    found = noise_error(["R@1,0.7", "AxIoU@1"], qrels, [run], levels=[0.0, 2.0], datasets=8, model="released")
    assert found.bias + found.variance == pytest.approx(np.square(found.rmse))  # of one system
    assert found.iou[0] > found.iou[1] > 0.3
