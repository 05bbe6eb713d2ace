"""The figures of a leaderboard, and which of its neighbours are told apart; numbers by hand."""

from __future__ import annotations

import csv
import io
import json
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from django.http import Http404
from django.urls import reverse
from scipy.stats import binomtest

from campaigns.models import Membership
from metrics import parse_measure
from runs.board.figures import DRAWS, FIGURES, _compared, places, wins
from runs.board.table import BoardRow, Cell, _mark_apart, _mark_level
from runs.models import Run
from tests.cast import browser

pytestmark = pytest.mark.django_db(transaction=True)
NDCG = parse_measure("nDCG_IoU(iou=0.5)@20")
KINDS = {"json": b"{", "svg": b"<svg", "pdf": b"%PDF", "csv": b"r"}


def subject(**values: list[float]) -> Any:
    """A leaderboard of runs with these values on the queries, in this order."""
    rows = [
        BoardRow(name, [SimpleNamespace(pk=name)], [Cell(float(np.nanmean(column)))])  # type: ignore[list-item]
        for name, column in values.items()
    ]
    columns = {name: np.array(column) for name, column in values.items()}
    board = SimpleNamespace(rows=rows, values=columns, options=SimpleNamespace(measures=[NDCG]))
    return SimpleNamespace(board=lambda: board)


def test_each_two_runs_by_hand() -> None:
    """A beats B on three of five queries and loses one; a query that does not count for one of them is left out."""
    [row] = wins(subject(A=[1, 1, 1, 0, 0.5, 1], B=[0, 0, 0, 1, 0.5, np.nan]))
    assert (row["run"], row["against"], row["queries"], row["wins"], row["losses"]) == ("B", "A", 5, 0.6, 0.2)
    assert row["p"] == pytest.approx(binomtest(1, 4).pvalue)


def test_only_the_lower_triangle_is_there() -> None:
    rows = wins(subject(A=[3, 3], B=[2, 2], C=[1, 1]))
    assert [(row["run"], row["against"]) for row in rows] == [("B", "A"), ("C", "A"), ("C", "B")]


def test_runs_that_tie_on_all_queries_are_not_told_apart() -> None:
    assert _compared(np.array([1.0, 2.0]), np.array([1.0, 2.0])) == {"queries": 2, "wins": 0, "losses": 0, "p": 1.0}


def test_the_probability_of_each_place() -> None:
    """B is better than A on one query of two: with both drawn twice, or each once, A's mean is 1, 0 or ½."""
    rows = places(subject(A=[1, 0], B=[0, 1], C=[-1, -1]))
    found = {(row["run"], row["place"]): row["probability"] for row in rows}
    assert found["C", 3] == 1
    assert found["A", 1] == pytest.approx(0.75, abs=4 * (0.75 * 0.25 / DRAWS) ** 0.5)  # A alone, or A and B together
    assert found["A", 1] + found["A", 2] == pytest.approx(1)
    assert rows == places(subject(A=[1, 0], B=[0, 1], C=[-1, -1]))  # the seed is fixed


def test_one_run_alone_has_no_figure() -> None:
    with pytest.raises(Http404):
        wins(subject(A=[1, 2]))


def test_neighbours_are_told_apart_after_holms_correction() -> None:
    """0.03 alone would count; of two tests, the smaller one needs 0.025."""
    rows = [BoardRow(name, [], [Cell(value)]) for name, value in (("A", 3), ("B", 2), ("C", 1), ("D", None))]
    options: Any = SimpleNamespace(measures=[NDCG], sort=NDCG)
    p = {"A": 0.02, "B": 0.3}
    _mark_apart(rows, options, lambda one, other: p[one.name])
    assert [row.is_apart for row in rows] == [True, False, None, None]
    p["A"] = 0.03
    _mark_apart(rows, options, lambda one, other: p[one.name])
    assert rows[0].is_apart is False


def test_a_run_without_a_known_test_is_not_level_with_the_best() -> None:
    rows = [BoardRow(name, [], [Cell(value)]) for name, value in (("A", 3), ("B", 2), ("C", 1))]
    options: Any = SimpleNamespace(measures=[NDCG], sort=NDCG)
    _mark_level(rows, options, lambda one, best: {"B": 0.3, "C": None}[one.name])
    assert [row.is_level for row in rows] == [True, True, False]


def test_figures_of_a_leaderboard_are_drawn_and_have_their_numbers(runs: list[Run], rio: Membership) -> None:
    client = browser(rio)
    page = client.get(reverse("leaderboard", args=["films"]), {"view": "figures"}).content.decode()
    assert [f'id="{key}"' in page for key in FIGURES] == [True, True, True, False]  # one release has no cost yet
    for key in FIGURES:
        for kind, start in KINDS.items():
            answer = client.get(reverse("leaderboard-figure", args=["films", key, kind]), {"split": ""})
            assert answer.status_code == 200, (key, kind)
            assert answer.content.startswith(start) or key == "slices", (key, kind)
    text = client.get(reverse("leaderboard-figure", args=["films", "slices", "csv"])).content.decode()
    rows = list(csv.DictReader(io.StringIO(text)))
    assert {row["slice"] for row in rows} >= {"all", "split val"}
    assert next(row["run"] for row in rows if row["slice"] == "all") == "perfect"
    assert {row["queries"] for row in rows if row["slice"] == "split val"} == {"2"}
    drawn = json.loads(client.get(reverse("leaderboard-figure", args=["films", "wins", "json"])).content)
    assert drawn["config"]["background"] == "#ffffff"
    assert client.get(reverse("leaderboard-figure", args=["films", "nothing", "csv"])).status_code == 404


def test_cost_has_a_point_for_each_run_of_each_release(runs: list[Run], rio: Membership) -> None:
    text = browser(rio).get(reverse("leaderboard-figure", args=["films", "cost", "csv"])).content.decode()
    rows = list(csv.DictReader(io.StringIO(text)))
    assert (rows[0]["release"], rows[0]["run"]) == ("1", "perfect")
    assert len(rows) == 3
    assert float(rows[0]["hours"]) >= 0
