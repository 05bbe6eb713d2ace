"""Runs that can be read but cannot be right: a warning names what is suspicious, and its likely cause."""

import json
import unicodedata
import warnings
from pathlib import Path
from typing import Any

import pytest

from metrics import MeasureWarning, as_run, calc, qrels_from_dict
from tests.metrics.shared import run_cli, write

QRELS = {"1": [("v_abc", 10.0, 20.0, 4)], "2": [("v_Défilé", 30.0, 40.5, 3)]}
PERFECT = {query: [(*moments[0][:3], 0.9)] for query, moments in QRELS.items()}
NDCG = "nDCG_IoU(iou=0.5)@10"


def warned(run: Any, measures: Any = NDCG, qrels: Any = QRELS, convention: str = "paper") -> str:
    """The warnings of scoring, one a line."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always", MeasureWarning)
        scores = calc(measures, qrels, run, convention)
    assert list(scores.warnings) == [str(each.message) for each in found]
    return "\n".join(scores.warnings)


def moved(change: Any) -> Any:
    """The perfect run with other videos or times."""
    return {query: [(*change(*rows[0][:3]), 0.9)] for query, rows in PERFECT.items()}


def test_a_perfect_run_has_no_warnings() -> None:
    assert warned(PERFECT) == ""


@pytest.mark.parametrize(
    ("cause", "change"),
    [
        ("file extension", lambda video: video + ".mp4"),
        ("case", str.upper),
        ("prefix v_", lambda video: video.removeprefix("v_")),
        ("folder", lambda video: "videos/" + video),
        ("white space", lambda video: f" {video} "),
        ("file extension and prefix v_", lambda video: video.removeprefix("v_") + ".MKV"),
    ],
)
def test_videos_that_never_match_have_a_cause_and_a_remedy(cause: str, change: Any) -> None:
    run = moved(lambda video, start, end: (change(video), start, end))
    message = warned(run)
    assert "no prediction lies in a video of the qrels" in message
    assert f"(differs by {cause})" in message
    assert "with_videos_of(qrels) renames 2 videos" in message
    renamed = as_run(run).with_videos_of(qrels_from_dict(QRELS))
    assert calc(NDCG, QRELS, renamed)[NDCG] == 1.0
    assert warned(renamed) == ""


def test_a_decomposed_name_is_found_where_other_videos_match() -> None:
    run = moved(lambda video, start, end: (unicodedata.normalize("NFD", video), start, end))
    message = warned(run)
    assert "1 video of the run not in the qrels under the same name" in message
    assert "(differs by Unicode form)" in message


def test_videos_of_other_names_are_named() -> None:
    message = warned(moved(lambda video, start, end: ("film", start, end)))
    assert "no prediction lies in a video of the qrels: 'film' in the run, 'v_abc' in the qrels" in message


def test_two_judged_names_that_are_alike_are_not_guessed() -> None:
    qrels = {"1": [("Abc", 0, 10, 4), ("abc", 0, 10, 4)]}
    assert "renames" not in warned({"1": [("abc.mp4", 0, 10, 0.5)]}, qrels=qrels)


@pytest.mark.parametrize(
    ("unit", "factor"), [("milliseconds", 1000), ("frames", 25), ("shares of the duration", 1 / 100)]
)
def test_times_in_another_unit(unit: str, factor: float) -> None:
    assert f"look like {unit}" in warned(moved(lambda video, start, end: (video, start * factor, end * factor)))


def test_qrels_in_milliseconds() -> None:
    qrels = {query: [(video, 1000 * s, 1000 * e, g) for video, s, e, g in rows] for query, rows in QRELS.items()}
    assert "times of the qrels look like milliseconds" in warned(PERFECT, qrels=qrels)


@pytest.mark.parametrize(("convention", "effect"), [("paper", "counts 0"), ("spr", "is left out of the mean")])
def test_judged_queries_that_the_run_lacks(convention: str, effect: str) -> None:
    message = warned({"1": PERFECT["1"]}, convention=convention)
    assert message == f"run: 1 of 2 judged queries is missing and {effect} (query '2')"


@pytest.mark.parametrize("name", [None, "None", "nan"])
def test_a_query_that_a_failed_look_up_named(name: str | None) -> None:
    assert f"query id {str(name)!r}" in warned(PERFECT | {name: [("v_abc", 0, 5, 0.1)]})


def test_a_measure_by_ids_on_spans() -> None:
    run = moved(lambda video, start, end: (video, start + 0.5, end))
    assert "no prediction has the id of a judged moment" in warned(run, "R@10")
    assert "Recall_IoU" in warned(run, "R@10")
    assert warned(PERFECT, "R@10") == ""


@pytest.mark.parametrize("measure", ["AxIoU@5", "NCxIoU(p=err)@5", "Success_IoU(iou=0.5)@5", "mAP_IoU(iou=0.5)"])
def test_a_moment_of_length_0_counts_0_and_is_noted(measure: str) -> None:
    qrels = QRELS | {"3": [("v_abc", 30.0, 30.0, 1)]}
    run = PERFECT | {"3": [("v_abc", 30.0, 30.0, 0.5), ("v_abc", 0.0, 50.0, 0.4)]}
    assert "1 of 3 relevant moments have length 0 (the first: query '3', v_abc@30000-30000)" in warned(
        run, measure, qrels
    )
    assert calc(measure, qrels, run)[measure] == pytest.approx(2 / 3)


def test_scores_that_are_all_zero_for_no_other_reason() -> None:
    swapped = {"1": PERFECT["2"], "2": PERFECT["1"]}
    assert warned(swapped).startswith("run: every score is 0; do run and qrels have the same query ids")


def test_the_command_prints_a_line_and_json_has_a_field(tmp_path: Path) -> None:
    lines = [
        json.dumps({"query_id": query, "video_name": video, "timestamp": [start, end], "relevance": grade})
        for query, ((video, start, end, grade),) in QRELS.items()
    ]
    qrels = write(tmp_path / "qrels.jsonl", "\n".join(lines))
    run = {
        query: [{"video_name": f"{row[0][0]}.mp4", "timestamp": row[0][1:3], "score": 0.9}]
        for query, row in PERFECT.items()
    }
    arguments = ("evaluate", "--qrels", qrels, "--run", write(tmp_path / "run.json", run), "--measures", NDCG)
    done = run_cli(*arguments)
    assert done.returncode == 0
    assert "note: run: no prediction lies in a video of the qrels" in done.stderr
    assert "--match-videos renames 2 videos" in done.stderr
    assert json.loads(run_cli(*arguments, "--format", "json").stdout)["warnings"]
    assert json.loads(run_cli(*arguments, "--format", "json", "--match-videos").stdout)["measures"][NDCG] == 1.0
