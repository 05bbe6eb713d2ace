"""Moment ids are made by one rule, and read by it: TREC files and JSON files name the same moments."""

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from metrics import MeasureError, calc_aggregate, moment_id, parse_moment_id, qrels_from_dict, run_from_dict
from metrics.formats.json_qrels import qrels_as_nested
from metrics.formats.json_runs import run_as_ranking
from metrics.formats.moment_ids import as_word, from_word
from metrics.formats.qrels import read_qrels
from metrics.formats.runs import read_run
from metrics.formats.trec import qrels_as_trec, run_as_trec
from tests.metrics.shared import write

NAMES = [
    "film 1",
    "film_1",
    "film%201",
    "film%25201",
    "100%",
    "a@b@1-2",
    "at@10-20",
    "tab\there",
    "no\u00a0break",
    "影片 二",
    "é",
    "#3",
    "x~7",
    "-",
    "line\u2028break",
]
NAME = "nDCG_IoU(iou=0.5)@10"
words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1)


@given(name=words, start=st.integers(0, 10**9), length=st.integers(0, 10**6))
@example(name="film%201 ", start=0, length=1)
def test_any_name_comes_back(name: str, start: int, length: int) -> None:
    moment = moment_id(name, start / 1000, (start + length) / 1000)
    assert len(moment.split()) == 1
    assert parse_moment_id(moment) == (name, start / 1000, (start + length) / 1000)
    assert from_word(as_word(name)) == name


def test_different_names_have_different_ids() -> None:
    assert len({moment_id(name, 1, 2) for name in NAMES}) == len(NAMES)


def test_repeats_and_unmatched_predictions_say_the_same_times() -> None:
    assert parse_moment_id("a@0-1500#2") == parse_moment_id("a@0-1500~17") == ("a", 0.0, 1.5)


@pytest.mark.parametrize("wrong", ["clip7", "@1-2", "a@1", "a@1-", "a@x-2", ""])
def test_what_is_no_id_is_refused(wrong: str) -> None:
    with pytest.raises(MeasureError, match="is not video@startms-endms"):
        parse_moment_id(wrong)


@pytest.mark.parametrize("trec", ["qrels", "run", "both", "neither"])
def test_trec_and_json_name_the_same_moments(trec: str, tmp_path: Path) -> None:
    """Each moment is the only right one of a query, so that a name read differently scores 0."""
    qrels = qrels_from_dict({f"query {n} %": [(name, 0, 10, 4)] for n, name in enumerate(NAMES)})
    run = run_from_dict({f"query {n} %": [(name, 0, 10, 1.0)] for n, name in enumerate(NAMES)})
    as_trec = trec in ("qrels", "both"), trec in ("run", "both")
    judged = qrels_as_trec(qrels) if as_trec[0] else qrels_as_nested(qrels)
    answered = run_as_trec(run) if as_trec[1] else run_as_ranking(run)
    files = write(tmp_path / "qrels", judged), write(tmp_path / "run", answered)
    assert set(read_qrels(files[0]).names) == set(read_run(files[1]).names) == set(NAMES)
    assert list(calc_aggregate([NAME], *files).values()) == [1.0]


def test_there_and_back(tmp_path: Path) -> None:
    qrels = qrels_from_dict({"1": [(name, 0.5, 10.25, n % 5) for n, name in enumerate(NAMES)]})
    text = qrels_as_trec(qrels)
    back = read_qrels(write(tmp_path / "qrels", text))
    assert (back.videos, back.grades.tolist()) == (qrels.videos, qrels.grades.tolist())
    assert qrels_as_trec(back) == text
