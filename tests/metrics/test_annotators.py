"""Kappa and alpha: oracles, edges, and the known numbers of TVR-Ranking's raw ratings."""

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from metrics import MeasureError, Ratings
from metrics.analysis.agreement import alpha, kappa, kappas
from metrics.formats.csv_tables import read_ratings
from tests.metrics.shared import SHARED, needs_shared, run_cli, write

SCALES: tuple[Any, ...] = ("nominal", "ordinal", "interval")
rating = st.tuples(st.integers(0, 8), st.integers(0, 3), st.integers(0, 4))


@given(st.lists(rating, min_size=4, max_size=30, unique_by=lambda r: r[:2]))
def test_alpha_as_the_reference_package(rows: list[tuple[int, int, int]]) -> None:
    krippendorff = pytest.importorskip("krippendorff")
    table = np.full((4, 9), np.nan)
    for candidate, annotator, grade in rows:
        table[annotator, candidate] = grade
    units = table[:, (~np.isnan(table)).sum(axis=0) >= 2]
    assume(units.size and np.unique(units[~np.isnan(units)]).size > 1)
    ratings = Ratings(*np.array(rows).T)
    for scale in SCALES:
        oracle = krippendorff.alpha(reliability_data=table, level_of_measurement=scale)
        assert alpha(ratings, scale) == pytest.approx(oracle, abs=1e-9)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=30))
def test_kappa_as_scikit_learn(rows: list[tuple[int, int]]) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    one, other = np.array(rows, dtype=float).T
    assume(np.unique(rows).size > 1)
    labels = np.arange(5.0)  # scikit-learn weights by place among the labels, ours by the grades themselves
    for ours, theirs in (("plain", None), ("linear", "linear"), ("quadratic", "quadratic")):
        oracle = metrics.cohen_kappa_score(one, other, weights=theirs, labels=labels)
        assert kappa(one, other, ours) == pytest.approx(oracle, abs=1e-9)  # type: ignore[arg-type]


def test_what_is_missing_does_not_count() -> None:
    nan = np.nan
    with_gaps = kappa(np.array([0, 0, 1, 1, nan, 4]), np.array([0, 1, 1, 1, 3, nan]))
    assert with_gaps == kappa(np.array([0.0, 0, 1, 1]), np.array([0.0, 1, 1, 1])) == 0.5
    single = Ratings(np.array([0, 0, 1, 1, 2]), np.array([0, 1, 0, 1, 0]), np.array([1, 1, 2, 3, 4]))
    assert alpha(single) == alpha(Ratings(*(column[:4] for column in single)))


def test_nothing_to_compare_is_not_a_number() -> None:
    empty = np.array([], dtype=np.int64)
    assert np.isnan(alpha(Ratings(empty, empty, empty)))
    assert np.isnan(alpha(Ratings(np.array([0, 1]), np.array([0, 1]), np.array([1, 2]))))
    assert np.isnan(alpha(Ratings(np.array([0, 0]), np.array([0, 1]), np.array([2, 2]))))
    assert np.isnan(kappa(np.array([np.nan, 1]), np.array([1, np.nan])))
    assert np.isnan(kappa(np.array([2.0, 2.0]), np.array([2.0, 2.0])))


def test_of_a_rating_given_twice_the_first_counts() -> None:
    ratings = Ratings(np.array([0, 0, 0, 1, 1]), np.array([7, 7, 9, 7, 9]), np.array([4, 0, 4, 1, 1]))
    assert kappas(ratings, least=2) == [(7, 9, 2, 1.0)]


@needs_shared
def test_tvr_rankings_ratings_in_under_five_seconds() -> None:
    """Of this process, so that others on the machine do not count."""
    started = time.process_time()
    ratings = read_ratings(SHARED / "data" / "tvr_ranking" / "raw_annotation.csv")
    found = [round(alpha(ratings, scale), 3) for scale in SCALES]
    assert time.process_time() - started < 5
    assert ratings.grade.size == 227_808
    assert found == [0.247, 0.615, 0.623]


def test_command_line(tmp_path: Path) -> None:
    good = write(
        tmp_path / "r.csv",
        "pair_id,worker,relevance\n" + "".join(f"{i},{w},{i % 3}\n" for i in range(40) for w in (1, 2)),
    )
    done = run_cli("annotators", "--ratings", good)
    assert done.stdout.splitlines()[:2] == [
        "80 ratings; kappa over 1 pairs of annotators, weighted by shared candidates",
        "alpha nominal     1.000  95 % interval 1.000 to 1.000, drawn by pairs",
    ]
    assert run_cli("annotators", "--ratings", good, "--format", "csv").stdout.startswith("measure,value\n")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("pair_id,relevance\n1,2\n", "column worker is missing"),
        ("pair_id,worker,relevance\n1,2,x\n", "line 2: field relevance: 'x'; expected an integer from 0 to 4"),
        ("pair_id,worker,relevance\n1,2,-1\n", "line 2: field relevance"),
        ("pair_id,worker,relevance\n1,2,5\n", "line 2: field relevance"),
        ("pair_id,worker,relevance\n1, ,2\n", "line 2: field worker"),
        ("pair_id,worker,relevance\n1,2\n", "line 2"),
        ("pair_id,worker,relevance\n", "no ratings"),
    ],
)
def test_bad_ratings(text: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(MeasureError, match=says):
        read_ratings(write(tmp_path / "r.csv", text))


def test_columns_are_found_by_name_and_ids_are_texts(tmp_path: Path) -> None:
    file = write(tmp_path / "r.csv", "relevance,note,worker,pair_id\n\n7,,ada,q1/a\n3,,bob,q1/a\n0,,ada,q1/b\n")
    found = read_ratings(file, highest=10)
    assert [column.tolist() for column in found] == [[0, 0, 1], [0, 1, 0], [7, 3, 0]]
    assert run_cli("annotators", "--ratings", file, "--highest", "7").returncode == 0
    assert "line 3: field relevance: '7'" in run_cli("annotators", "--ratings", file).stderr
