"""Pseudo training sets are read as they are written, and become examples that are weighted by similarity."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from metrics.formats.json_qrels import BETWEEN, FIRST_LINE, LAST_LINE, moment_fields, training_query
from systems.errors import SystemsError
from systems.examples import examples_from


def moment(video: str, start: float, end: float, similarity: float) -> tuple[str, float]:
    return moment_fields(video, start, end, 30.0, "He sits down."), similarity


def written(folder: Path) -> Path:
    file = folder / "train_top02.json"
    lines = [
        training_query("7", "He sits.", [moment("film 1", 0.0, 2.5, 1.0), moment("film 2", 3.0, 4.0, 0.5)]),
        training_query("8", "„She“ stands.", [moment("film 2", 9.0, 12.0, -0.25)]),
    ]
    file.write_text(FIRST_LINE + BETWEEN.join(lines) + LAST_LINE, encoding="utf-8")
    return file


def test_what_is_written_is_read(tmp_path: Path) -> None:
    examples = examples_from(written(tmp_path))
    assert [(each.query.id, each.query.text, each.video, each.start, each.end) for each in examples] == [
        ("7", "He sits.", "film 1", 0.0, 2.5),
        ("7", "He sits.", "film 2", 3.0, 4.0),
        ("8", "„She“ stands.", "film 2", 9.0, 12.0),
    ]
    assert [each.weight for each in examples] == [1.0, 0.5, 0.0]
    assert examples[0].query is examples[1].query


def test_moments_without_features_are_left_out(tmp_path: Path) -> None:
    examples = examples_from(written(tmp_path), {"film 2"})
    assert [(each.query.id, each.video) for each in examples] == [("7", "film 2"), ("8", "film 2")]
    with pytest.raises(SystemsError, match="none of its moments is of a video that has features"):
        examples_from(written(tmp_path), {"film 3"})


GOOD: dict[str, Any] = {"video_name": "film", "timestamp": [0, 2], "similarity": 0.5}


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"query_id": 1, "query": ""}, "line 2: query is ''; it must be a text"),
        ({"query_id": 1, "query": "He sits."}, "line 2: field relevant_moment is missing"),
        ({"query_id": [], "query": "He", "relevant_moment": []}, "query_id is []; it must be an integer or a text"),
        (GOOD | {"similarity": "high"}, "line 2, moment 1: similarity is 'high'; it must be a finite number"),
        (GOOD | {"similarity": 2}, "similarity is 2; it must be from -1 to 1"),
        (GOOD | {"timestamp": [2, 2]}, "timestamp is [2, 2]; it must be [start, end] in seconds, the start first"),
        (GOOD | {"timestamp": 2}, "timestamp is 2; it must be [start, end] in seconds"),
        (GOOD | {"video_name": 3}, "video_name is 3; it must be a text"),
    ],
)
def test_what_is_wrong_is_named(record: dict[str, Any], message: str, tmp_path: Path) -> None:
    file = tmp_path / "train.json"
    query = record if "query" in record else {"query_id": 1, "query": "He", "relevant_moment": [record]}
    file.write_text("[\n" + json.dumps(query) + "\n]")
    with pytest.raises(SystemsError) as refused:
        examples_from(file)
    assert message in str(refused.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SystemsError, match=r"train\.json: cannot be read \(No such file or directory\)"):
        examples_from(tmp_path / "train.json")
