"""The consensus is a pure function: every input has one outcome, whatever the order of the grades."""

from __future__ import annotations

import doctest
from fractions import Fraction
from itertools import permutations, product
from math import floor
from statistics import mean
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judging import consensus as module
from judging.consensus import GRADES, RULE, Outcome, Status, consensus

some_grades = st.lists(st.sampled_from(list(GRADES)), max_size=4)
tolerances = st.integers(0, 3)


def slowly(grades: tuple[int, ...], tolerance: int) -> Outcome:
    """The paper's rule, word by word, with fractions."""
    left = list(grades)
    if len(left) == 4:
        left.remove(max(left))
        left.remove(min(left))
    if abs(left[0] - left[1]) > tolerance:
        return Outcome(Status.CONTESTED if len(grades) == 2 else Status.DISCARDED)
    return Outcome(Status.SETTLED, floor(mean(map(Fraction, left)) + Fraction(1, 2)))


@pytest.mark.parametrize("tolerance", range(4))
@pytest.mark.parametrize("number", [2, 4])
def test_every_complete_round_has_the_outcome_of_the_paper(number: int, tolerance: int) -> None:
    for grades in product(GRADES, repeat=number):
        assert consensus(grades, tolerance) == slowly(grades, tolerance), grades


def test_a_round_that_is_not_complete_is_open() -> None:
    for grades in [(), *product(GRADES, repeat=1), *product(GRADES, repeat=3)]:
        assert consensus(grades) == Outcome(Status.OPEN)


@given(grades=some_grades, tolerance=tolerances)
def test_the_order_of_grades_does_not_matter(grades: list[int], tolerance: int) -> None:
    assert len({consensus(order, tolerance) for order in permutations(grades)}) == 1


@given(grades=some_grades, tolerance=tolerances)
def test_a_settled_grade_lies_among_the_given(grades: list[int], tolerance: int) -> None:
    before = list(grades)
    outcome = consensus(grades, tolerance)
    assert grades == before
    assert (outcome.grade is not None) == (outcome.status == "settled")
    if outcome.grade is not None:
        assert min(grades) <= outcome.grade <= max(grades)
        assert type(outcome.grade) is int


@given(grades=some_grades, tolerance=st.integers(0, 2))
def test_more_tolerance_never_unsettles(grades: list[int], tolerance: int) -> None:
    outcome = consensus(grades, tolerance)
    if outcome.status == "settled":
        assert consensus(grades, tolerance + 1) == outcome


def test_halves_are_rounded_up() -> None:
    assert [consensus([grade, grade + 1]).grade for grade in range(4)] == [1, 2, 3, 4]
    assert consensus([0, 1, 2, 4]) == Outcome(Status.SETTLED, 2)


class Five(int):
    """A number that only looks like one."""


@pytest.mark.parametrize("wrong", [True, 2.0, 2.5, "3", None, 5, -1, float("nan"), 10**400, [2], Five(2)])
def test_what_is_no_grade_is_refused_by_name(wrong: Any) -> None:
    for grades in ([wrong], [2, wrong], [wrong, 2, 2, 2]):
        with pytest.raises(ValueError, match=r"grade .*; expected an integer from 0 to 4"):
            consensus(grades)


def test_a_fifth_grade_is_refused() -> None:
    with pytest.raises(ValueError, match="5 grades; a candidate has at most four"):
        consensus([2, 2, 2, 2, 2])


def test_the_rule_has_the_version_that_exports_print() -> None:
    assert RULE == "tvr-ranking/1"


def test_the_examples_are_right() -> None:
    found = doctest.testmod(module)
    assert (found.failed, found.attempted) == (0, 7)
