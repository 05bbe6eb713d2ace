"""Pseudo training sets are read as they are written, and become examples that are weighted by similarity."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from metrics.formats.json_qrels import BETWEEN, FIRST_LINE, LAST_LINE, moment_fields, training_query
from systems.data import Data, Example, Examples, Query
from systems.errors import SystemsError
from systems.examples import examples_from
from tests.systems.small import collection


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


def test_columns_are_the_examples_in_their_order(tmp_path: Path) -> None:
    one, other = Query("1", "one"), Query("2", "other")
    given = [
        Example(one, "b", 0.1, 0.3, 0.5),
        Example(other, "a", 1.0, 2.0),
        Example(one, "a", 3.0, 4.0, 0.25),
        Example(other, "c", 5.0, 6.0),
    ]
    columns = Examples.of(given)
    assert [each.__dict__ for each in columns] == [each.__dict__ for each in given]
    assert (columns.queries, columns.names) == ([one, other], ("b", "a", "c"))
    assert columns[-1].__dict__ == given[-1].__dict__
    assert [each.__dict__ for each in columns[1:]] == [each.__dict__ for each in given[1:]]
    assert columns[1:].queries == [other, one]
    assert [each.video for each in columns.take(np.array([False, False, True, True]))] == ["a", "c"]
    assert Data(collection().training.videos, columns).columns is columns
    with pytest.raises(IndexError):
        columns[4]
    values = (columns.query, columns.video, columns.start, columns.end, columns.weight)
    assert sum(each.nbytes for each in values) == 32 * len(given)
    assert not Examples.of([])


def test_examples_of_a_file_take_a_fraction_of_what_they_take_as_objects(tmp_path: Path) -> None:
    file = tmp_path / "train_top40.json"
    moments = [moment(f"film {number % 7}", number / 3, number / 3 + 4, 0.3 + number / 100) for number in range(40)]
    file.write_text(
        FIRST_LINE + BETWEEN.join(training_query(f"{n}", "He sits.", moments) for n in range(250)) + LAST_LINE
    )
    columns, held = traced(lambda: examples_from(file))
    objects, as_objects = traced(lambda: list(columns))
    assert len(columns) == len(objects) == 10_000
    assert held / len(columns) < 50  # of which a query, which has 40 of them, takes some
    assert as_objects > 4 * held


def traced(make: Callable[[], Sequence[Example]]) -> tuple[Sequence[Example], int]:
    """Return what is made, and the bytes that it holds."""
    tracemalloc.start()
    made = make()
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return made, held
