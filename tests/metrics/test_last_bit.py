"""`released` is the published arithmetic to the last bit: slow rewrites, rank by rank, are met exactly."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from metrics import calc, parse_measure, qrels_from_dict, read_run, run_from_dict
from metrics.formats.qrels import read_qrels
from tests.metrics import oracle
from tests.metrics.oracle import Moment, Span
from tests.metrics.shared import SHARED, cases, needs_shared, write
from tests.metrics.test_larger import hull64, random_world

CUTS, BARS = (1, 5, 10, 20, 40), (0.3, 0.5, 0.7)
NAMES = {(k, mu): f"nDCG_IoU(iou={mu})@{k}" for k in CUTS for mu in BARS}
FOLDER = SHARED / "data" / "tvr_ranking"
RUNS = ("CONQUER_top40", "ReLoCLNet_top_01", "ReLoCLNet_top_40", "XML_top40")
Judged = dict[str, list[Moment]]


def slow_ndcg(judged: Judged, answered: dict[str, list[Span]]) -> dict[str, list[float]]:
    """Values of each query that the run has, in the order of `NAMES`."""
    return {
        query: [oracle.ndcg(judged[query], found, mu, k, exp=True, strict=True, lowest=0) or 0.0 for k, mu in NAMES]
        for query, found in answered.items()
    }


@pytest.mark.parametrize("step", [5.0, 0.7, 0.1])
@pytest.mark.parametrize("seed", range(3))
def test_ndcg_of_random_lists(step: float, seed: int) -> None:
    judged, answered = random_world(np.random.default_rng(seed), step)
    run, qrels = run_from_dict(answered, lenient=True), qrels_from_dict(judged, lenient=True)
    compare(calc(NAMES.values(), qrels, run, "released"), slow_ndcg(judged, answered))


@needs_shared
@pytest.mark.parametrize("name", RUNS)
def test_ndcg_of_the_authors_runs(name: str) -> None:
    """The authors' lists, on judgements drawn near their predictions."""
    run = read_run(FOLDER / "runs" / f"{name}.json", videos=FOLDER / "video_name_duration_id.json")
    answered = dict(run.rows(run.scores))
    rng = np.random.default_rng(7)
    judged = {query: drawn_near(rng, found) for query, found in answered.items()}
    compare(calc(NAMES.values(), qrels_from_dict(judged, lenient=True), run, "released"), slow_ndcg(judged, answered))


def drawn_near(rng: np.random.Generator, found: Sequence[Any]) -> list[Moment]:
    """A third of the predicted moments, moved by some seconds and graded."""
    chosen = [row for row in found if rng.random() < 1 / 3] or found[:1]
    moves = rng.choice([0.0, 0.0, 1.5, 3.0], (len(chosen), 2)).tolist()
    grades = rng.integers(0, 5, len(chosen)).tolist()
    return [
        (video, start + first, end + last, grade)
        for (video, start, end, _), (first, last), grade in zip(chosen, moves, grades, strict=True)
    ]


def compare(scores: Any, expected: dict[str, list[float]]) -> None:
    """Each value of each query, and each mean."""
    measures = [parse_measure(name) for name in NAMES.values()]
    found = {query: [row[m] for m in measures] for query, row in scores.per_query().items()}
    assert found == expected
    means = np.array([np.mean(column) for column in zip(*expected.values(), strict=True)])
    assert [scores.aggregate()[m] for m in measures] == means.tolist()


REFUSED = ("length_mismatch", "duplicate", "zero_length")  # see test_published_cases
AXIOU = [case for case in cases("axiou") if not case["name"].startswith(REFUSED)]


@needs_shared
@pytest.mark.parametrize("case", AXIOU, ids=lambda case: case["name"])
def test_axiou_of_the_published_cases(case: dict[str, Any], tmp_path: Any) -> None:
    expected = case["expected"]["axiou"]["per_query"]
    low = case["kwargs"].get("iou_lb")
    names = [f"AxIoU(lb={low})@{k}" if low else f"AxIoU@{k}" for k in (1, 5, 10)]
    files = write(tmp_path / "gt", case["gt"]), write(tmp_path / "run", case["pred"])
    scores = calc(names, read_qrels(files[0]), read_run(files[1], lenient=True), "released")
    assert [list(row.values()) for row in scores.per_query().values()] == [[*row.values()] for row in expected]


def test_axiou_of_random_lists(tmp_path: Any) -> None:
    rng = np.random.default_rng(3)
    judged, answered, expected = [], [], []
    for q in range(500):
        moment = [3.0, 4.0 + q % 7]
        judged.append([["v", f"sentence {q}"], [*moment, 60.0]])
        starts = rng.uniform(0, 12, int(rng.integers(1, 15))).round(2)
        found = [[s, s + 2.7] for s in starts.tolist()]
        answered.append([["v", f"sentence {q}"], [[*s, 60.0] for s in found], list(range(len(found), 0, -1))])
        expected.append([oracle.axiou([hull64(s, moment) for s in found], k) for k in (1, 5, 10)])
    files = write(tmp_path / "gt", json.dumps(judged)), write(tmp_path / "run", json.dumps(answered))
    scores = calc(
        [f"AxIoU@{k}" for k in (1, 5, 10)], read_qrels(files[0]), read_run(files[1], lenient=True), "released"
    )
    assert [list(row.values()) for row in scores.per_query().values()] == expected
