"""DiDeMo's Rank@1, Rank@5 and mIoU, beside a rewrite of the published evaluator that counts in segments."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from metrics import MeasureError, calc_aggregate, parse_measure
from tests.metrics.shared import run_cli, write

MOMENTS = [[first, last] for first in range(6) for last in range(first, 6)]  # the 21 possible ones
NAMES = ["Rank@1", "Rank@5", "mIoU"]


def published(orders: list[list[list[int]]], times: list[list[list[int]]]) -> list[float]:
    """Rank@1, Rank@5 and mIoU, one query after the other."""
    ranks, ious = [], []
    for order, marked in zip(orders, times, strict=True):
        best = sorted(order.index(moment) + 1 for moment in marked)[:3]
        ranks.append(sum(best) / len(best))
        first, near = order[0], []
        for moment in marked:
            inter = max(0, min(first[1], moment[1]) + 1 - max(first[0], moment[0]))
            near.append(inter / (max(first[1], moment[1]) + 1 - min(first[0], moment[0])))
        top = sorted(near)[-3:]
        ious.append(sum(top) / len(top))
    n = len(ranks)
    return [sum(r <= 1 for r in ranks) / n, sum(r <= 5 for r in ranks) / n, sum(ious) / n]


def world(queries: int, seed: int) -> tuple[list[list[list[int]]], list[list[list[int]]]]:
    """Orders of the moments, and one to five annotators' moments near the top of each."""
    rng = np.random.default_rng(seed)
    orders = [[MOMENTS[m] for m in rng.permutation(21)] for _ in range(queries)]
    times = []
    for order in orders:
        reach = int(rng.choice([1, 3, 8, 21]))
        times.append([order[m] for m in rng.integers(0, reach, int(rng.integers(1, 6)))])
    return orders, times


def files(folder: Path, orders: Any, times: Any) -> tuple[Path, Path]:
    judged = [
        {"annotation_id": n, "video": f"v{n}.mp4", "times": marked, "num_segments": 6, "description": ""}
        for n, marked in enumerate(times)
    ]
    answered = [{"annotation_id": n, "segments": order} for n, order in enumerate(orders)]
    return write(folder / "didemo.json", judged), write(folder / "run.json", answered)


@pytest.mark.parametrize("seed", range(4))
def test_beside_the_rewrite(seed: int, tmp_path: Path) -> None:
    orders, times = world(700, seed)
    found = calc_aggregate(NAMES, *files(tmp_path, orders, times), "didemo")
    assert list(found.values()) == pytest.approx(published(orders, times), abs=1e-12)


def test_by_hand_and_on_the_command_line(tmp_path: Path) -> None:
    """Four annotators of whom the last is far off, and one query with two annotators."""
    first = [[0, 0], [0, 1], [5, 5], *[m for m in MOMENTS if m not in ([0, 0], [0, 1], [5, 5])]]
    times = [[[0, 0], [0, 0], [0, 0], [5, 5]], [[0, 0], [0, 1]]]
    qrels, run = files(tmp_path, [first, first], times)
    done = run_cli(
        "evaluate", "--qrels", qrels, "--run", run, "--convention", "didemo", "--format", "json",
        "--measures", *NAMES,
    )  # fmt: skip
    assert json.loads(done.stdout)["measures"] == {"Rank@1": 0.5, "Rank@5": 1.0, "mIoU": (1 + 0.75) / 2}
    assert json.loads(done.stdout)["convention"] == "didemo"


def test_times_in_seconds_and_short_lists() -> None:
    """Any run with times serves; a moment that a list lacks has no rank, and videos play no part."""
    qrels = {"1": [("v", 0, 5, 1)], "2": [("v", 0, 5, 1)], "3": [("v", 0, 5, 1)]}
    run = {"1": [("x", 0, 10, 1.0), ("x", 0, 5, 0.5)], "2": [("v", 5, 10, 1.0)]}
    found = calc_aggregate(["Rank@1", "Rank@2", "Rank@999", "mIoU"], qrels, run)
    assert list(found.values()) == pytest.approx([0, 1 / 3, 1 / 3, 0.5 / 3])
    with pytest.raises(MeasureError, match="query '3' of the qrels is missing"):
        calc_aggregate(["mIoU"], qrels, run, "didemo")


@pytest.mark.parametrize(
    ("segments", "says"),
    [
        ([[0, 0], [3, 2]], "query '0', moment 2"),
        ([[0, 0.5]], "moment 1"),
        ([[-1, 0]], "moment 1"),
        ("x", "must be a list"),
    ],
)
def test_bad_segments_are_named(segments: Any, says: str, tmp_path: Path) -> None:
    qrels, run = files(tmp_path, [segments], [[[0, 0]]])
    with pytest.raises(MeasureError, match=says):
        calc_aggregate(NAMES, qrels, run, "didemo")


def test_names() -> None:
    assert [str(parse_measure(name)) for name in NAMES] == NAMES
