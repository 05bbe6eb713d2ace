"""Qrels and runs from dicts and data frames."""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from metrics import (
    MeasureError,
    MeasureWarning,
    as_qrels,
    as_run,
    calc,
    calc_aggregate,
    compare,
    explain,
    grouped,
    project,
    read_qrels,
    read_run,
    run_from_dict,
    scores_of,
    temporal_nms,
)
from tests.metrics.shared import write

QRELS = {"1": [("a", 0, 10, 4), ("b", 0, 10, 2)]}
RUN = {"1": [("b", 0.0, 10.0, 2.0), ("a", 0.0, 9.0, 1.0)]}


def frame(found: dict[str, Any], value: str) -> Any:
    pandas = pytest.importorskip("pandas")
    rows = [(query, *span) for query, spans in found.items() for span in spans]
    return pandas.DataFrame(rows, columns=["query_id", "video_name", "start", "end", value])


def records(found: dict[str, Any], value: str) -> Any:
    return {q: [{"video_name": v, "timestamp": [s, e], value: x} for v, s, e, x in rows] for q, rows in found.items()}


SOURCES: dict[str, Callable[[dict[str, Any], str, Path], Any]] = {
    "tuples": lambda found, value, folder: found,
    "objects": lambda found, value, folder: records(found, value),
    "frame": lambda found, value, folder: frame(found, value),
    "file": lambda found, value, folder: write(folder / f"{value}.json", records(found, value)),
    "path": lambda found, value, folder: str(write(folder / f"{value}.json", records(found, value))),
}
MEASURE = "nDCG_IoU(iou=0.5)@2"


@pytest.mark.parametrize("kind", SOURCES)
def test_all_say_the_same(kind: str, tmp_path: Path) -> None:
    qrels = SOURCES[kind](QRELS, "relevance", tmp_path)
    run = SOURCES[kind](RUN, "score", tmp_path)
    assert calc_aggregate([MEASURE], qrels, run) == calc_aggregate([MEASURE], as_qrels(QRELS), as_run(RUN))


@pytest.mark.parametrize("kind", SOURCES)
def test_scores_that_rise_along_a_list_are_noted(kind: str, tmp_path: Path) -> None:
    rising = {
        "0": [("a", 0.0, 9.0, 1.0), ("b", 0.0, 9.0, 1.0)],
        "1": [("a", 0.0, 9.0, 1.0), ("b", 0.0, 10.0, 2.0)],
        "2": [("a", 0.0, 9.0, 9.0)],
    }
    run = SOURCES[kind](rising, "score", tmp_path)
    judged = dict.fromkeys(rising, QRELS["1"])
    note = r"(run|score\.json): scores of 1 queries rise along the list \(the first: query '1'\)"
    with pytest.warns(MeasureWarning, match=note):
        calc_aggregate([MEASURE], judged, run)


def test_what_is_ranked_by_score_cannot_rise(tmp_path: Path) -> None:
    scores = {"1": {"a@0-9000": 1.0, "b@0-10000": 2.0}}
    lines = "".join(f"1 Q0 {moment} 1 {score} x\n" for moment, score in scores["1"].items())
    for run in (scores, write(tmp_path / "run.trec", lines)):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert as_run(run).scores.tolist() == [2.0, 1.0]


def test_numbers_of_numpy_are_numbers() -> None:
    one = np.float32(10), np.int64(4)
    assert as_qrels({"1": [("a", np.float64(0), *one)]}).end.tolist() == [10.0]
    with pytest.raises(MeasureError, match="finite"):
        as_qrels({"1": [("a", np.bool_(False), *one)]})


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ({"1": [("a", 0, 10)]}, "moment 1: must be"),
        ({"1": [{"video_name": "a"}]}, "moment 1: needs"),
        ({"1": [("a", 0, 10, 2.5)]}, "grade"),
        ({"1": [("a", 0, float("nan"), 2)]}, "finite"),
        ({}, "empty"),
        (7, "int is no path"),
    ],
)
def test_bad_sources(source: Any, says: str) -> None:
    with pytest.raises(MeasureError, match=says):
        as_qrels(source)


def test_a_frame_without_a_column() -> None:
    with pytest.raises(MeasureError, match="column relevance is missing"):
        as_qrels(frame(QRELS, "colour"))


@pytest.mark.parametrize("kind", SOURCES)
def test_every_function_takes_every_source(kind: str, tmp_path: Path) -> None:
    qrels, run = SOURCES[kind](QRELS, "relevance", tmp_path), SOURCES[kind](RUN, "score", tmp_path)
    tables = as_qrels(QRELS), as_run(RUN)
    for found in (explain(MEASURE, qrels, run, "1"), explain(MEASURE, *tables, "1")):
        assert found.gain is not None
        assert found.gain.tolist() == [2.0, 4.0]
    projected = {"run": {"1": {"b@0-10000": 2.0, "a@0-10000": 1.0}}, "qrels": {"1": {"a@0-10000": 4, "b@0-10000": 2}}}
    for renamed in (project(qrels, run, 0.5), project(*tables, 0.5)):
        assert {"run": renamed.run, "qrels": renamed.qrels} == projected
    assert temporal_nms(run, 0.5).end.tolist() == [10.0, 9.0]
    (scores,) = scores_of(MEASURE, qrels, [run])
    assert scores.aggregate() == calc_aggregate([MEASURE], *tables)


def test_moments_by_id_can_be_explained_and_projected() -> None:
    qrels, run = {"1": {"a@0-10000": 4}}, {"1": {"a@0-9000": 1.0}}
    assert explain(MEASURE, qrels, run, 1).moment.tolist() == [0]
    assert project(qrels, run, 0.5).run == {"1": {"a@0-10000": 1.0}}


SCORES = calc(MEASURE, QRELS, RUN)
WRONG: list[tuple[Callable[[], Any], str]] = [
    (lambda: explain(MEASURE, QRELS, RUN, "9"), "query '9' is not in the qrels"),
    (lambda: explain("nDCG@3", QRELS, RUN, "1"), "nDCG@3 cannot be explained"),
    (lambda: explain("nDCG_IoU(iou=0.5+0.7)@3", QRELS, RUN, "1"), "with one threshold"),
    (lambda: explain(MEASURE, QRELS, 7, "1"), "run: int is no path"),
    (lambda: project(QRELS, RUN, "0.5"), "threshold '0.5' must be a number"),  # type: ignore[arg-type]
    (lambda: project(None, RUN, 0.5), "qrels: NoneType is no path"),
    (lambda: temporal_nms([1], 0.5), "run: list is no path"),
    (lambda: calc([3], QRELS, RUN), "measure 3 must be a text"),  # type: ignore[list-item]
    (lambda: calc(None, QRELS, RUN), "measure None must be a text"),  # type: ignore[arg-type]
    (lambda: calc(MEASURE, QRELS, RUN, []), "unknown convention"),  # type: ignore[arg-type]
    (lambda: calc(MEASURE, {"1": None}, RUN), "query '1': is None; it must be a list of moments"),
    (lambda: calc(MEASURE, {"1": {"a@0-1": 1}, "2": [("a", 0, 1, 1)]}, RUN), "query '2' is .* the first one"),
    (lambda: calc(MEASURE, QRELS, {"1": {5: 1.0}}), "moment id 5 is not video@startms-endms"),
    (lambda: scores_of(MEASURE, QRELS, RUN), "runs is one dict; it must be a list"),  # type: ignore[arg-type]
    (lambda: scores_of(MEASURE, QRELS, []), "there is no run to score"),
    (lambda: compare([RUN, RUN]), "scores are needed, .* not a dict"),  # type: ignore[list-item]
    (lambda: compare(SCORES), "scores are needed, .* not a Scores"),  # type: ignore[arg-type]
    (lambda: grouped(["run"]), "scores are needed, .* not a str"),  # type: ignore[list-item]
    (lambda: grouped([SCORES], 5), "pattern 5 is not a regular expression"),  # type: ignore[arg-type]
    (lambda: read_run(RUN), "a file's path is needed, and dict is none"),  # type: ignore[arg-type]
    (lambda: read_qrels(None), "a file's path is needed"),  # type: ignore[arg-type]
    (lambda: run_from_dict([1]), r"run: is \[1\]; it must be a dict from query"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("call", "says"), WRONG, ids=[says for _, says in WRONG])
def test_what_is_of_the_wrong_kind_is_refused_in_one_line(call: Callable[[], Any], says: str) -> None:
    with pytest.raises(MeasureError, match=says) as refused:
        call()
    assert "\n" not in str(refused.value)
