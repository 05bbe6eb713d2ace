"""The demo's systems: what is known of them is true, and a seed says the same again."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from demo.judged import DEPTH, SEEDS, SYSTEMS, System, run_of
from demo.simulated_annotators import Grades, true_grades
from metrics import calc_aggregate, run_from_dict
from tools.films.files import write_tables
from tools.films.grades import QUERIES
from tools.films.scripts import films

MEASURE = "nDCG_IoU(iou=0.5)@10"
DURATIONS = {film.name: film.duration for film in films()}
BY_NAME = {system.name: system for system in SYSTEMS}


@pytest.fixture(scope="module")
def grades(tmp_path_factory: pytest.TempPathFactory) -> Grades:
    folder = tmp_path_factory.mktemp("demo")
    write_tables(Path(folder))
    return true_grades(Path(folder) / "truth.csv")


def score(system: System, seed: int, grades: Grades) -> float:
    """On all moments with their true grades, as if everything had been judged."""
    ranks = {
        query: dict(zip(sorted(of_query), range(1, DEPTH + 1), strict=False)) for query, of_query in grades.items()
    }
    predictions = json.loads(run_of(system, seed, grades, ranks, DURATIONS))
    rows = {
        query: [(each["video_name"], *each["timestamp"], each["model_scores"]) for each in found]
        for query, found in predictions.items()
    }
    qrels = {query: [(*span, grade) for span, grade in of.items()] for query, of in grades.items()}
    [value] = calc_aggregate([MEASURE], qrels, run_from_dict(rows)).values()
    assert value is not None
    return value


def test_who_errs_less_is_better_with_each_seed(grades: Grades) -> None:
    found = {name: [score(BY_NAME[name], seed, grades) for seed in SEEDS] for name in ("watcher", "glancer", "guesser")}
    assert min(found["watcher"]) > 0.8 > max(found["glancer"])
    assert min(found["glancer"]) > 0.3 > 0.1 > max(found["guesser"])
    assert all(len(set(np.round(scores, 6))) == len(SEEDS) for scores in found.values())


def test_a_seed_says_the_same_again_and_no_time_lies_outside_the_film(grades: Grades) -> None:
    some = {str(query.query_id): grades[str(query.query_id)] for query in QUERIES[:3]}
    ranks = {query: dict.fromkeys(list(of)[:5], 1) for query, of in some.items()}
    for system in SYSTEMS:
        content = run_of(system, 1, some, ranks, DURATIONS)
        assert content == run_of(system, 1, some, ranks, DURATIONS) != run_of(system, 2, some, ranks, DURATIONS)
        for found in json.loads(content).values():
            assert len(found) == DEPTH
            for each in found:
                start, end = each["timestamp"]
                assert 0 <= start < end <= DURATIONS[each["video_name"]]


def test_the_reader_follows_the_captions(grades: Grades) -> None:
    query, of_query = next(iter(grades.items()))
    spans = sorted(of_query)[:20]
    ranks = {query: {span: rank for rank, span in enumerate(spans, 1)}}
    exact = System("exact", "", False, 0)
    found = json.loads(run_of(exact, 1, {query: of_query}, ranks, DURATIONS))[query]
    assert [each["video_name"] for each in found[:20]] == [video for video, _, _ in spans]
