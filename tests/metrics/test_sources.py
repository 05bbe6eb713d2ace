"""Qrels and runs from dicts and data frames."""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from metrics import MeasureError, MeasureWarning, as_qrels, as_run, calc_aggregate
from tests.metrics.shared import write

QRELS = {"1": [("a", 0, 10, 4), ("b", 0, 10, 2)]}
RUN = {"1": [("b", 0.0, 10.0, 2.0), ("a", 0.0, 9.0, 1.0)]}


def frame(found: dict[str, Any], value: str) -> Any:
    pandas = pytest.importorskip("pandas")
    rows = [(query, *span) for query, spans in found.items() for span in spans]
    return pandas.DataFrame(rows, columns=["query_id", "video_name", "start", "end", value])


def records(found: dict[str, Any], value: str) -> Any:
    return {
        q: [{"video_name": v, "timestamp": [s, e], value: x} for v, s, e, x in rows]
        for q, rows in found.items()
    }


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
