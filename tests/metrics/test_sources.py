"""Qrels and runs from dicts and data frames."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from metrics import MeasureError, as_qrels, as_run, calc_aggregate
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


def test_all_say_the_same(tmp_path: Path) -> None:
    sources = [
        (QRELS, RUN),
        (records(QRELS, "relevance"), records(RUN, "model_scores")),
        (frame(QRELS, "relevance"), frame(RUN, "score")),
        (
            write(tmp_path / "q.json", records(QRELS, "relevance")),
            str(write(tmp_path / "r.json", records(RUN, "model_scores"))),
        ),
        (as_qrels(QRELS), as_run(RUN)),
    ]
    found = [calc_aggregate(["nDCG_IoU(iou=0.5)@2"], qrels, run) for qrels, run in sources]
    assert all(values == found[0] for values in found)


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
