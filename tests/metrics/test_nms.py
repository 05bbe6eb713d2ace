"""Temporal suppression and rank fusion beside loops over one list after the other."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from metrics import fuse, run_from_dict, temporal_iou, temporal_nms
from tests.metrics.oracle import Span, iou
from tests.metrics.worlds import World, worlds


def slow(spans: list[Span], threshold: float) -> list[Span]:
    """The list without what overlaps a better one too much, in its order."""
    kept: list[int] = []
    for i in sorted(range(len(spans)), key=lambda n: -spans[n][3]):
        if all(iou(spans[i], (*spans[k][:3], 1)) <= threshold for k in kept):
            kept.append(i)
    return [spans[i] for i in sorted(kept)]


@given(worlds())
def test_beside_the_loop(world: World) -> None:
    answered = world[1]
    for threshold in (0.0, 0.3, 0.6, 1.0):
        found = temporal_nms(run_from_dict(answered, "mine"), threshold)
        expected = run_from_dict({q: slow(spans, threshold) for q, spans in answered.items()}, "mine")
        assert found.queries == expected.queries
        assert found.offsets.tolist() == expected.offsets.tolist()
        assert found.videos == expected.videos
        for column in ("start", "end", "scores"):
            assert np.array_equal(getattr(found, column), getattr(expected, column))


def fused_slowly(
    runs: dict[str, Any], worth: Callable[[list[Any], int], float], iou: float
) -> dict[str, dict[Any, float]]:
    """Scores of moments by query, one after the other."""
    found: dict[str, dict[Any, float]] = {}
    for query in {query for run in runs.values() for query in run}:
        lists = [run.get(query, []) for run in runs.values()]
        for moment in {row[:3] for rows in lists for row in rows}:
            given = [
                max((worth(rows, n) for n, row in enumerate(rows) if same(row, moment, iou)), default=0.0)
                for rows in lists
            ]
            found.setdefault(query, {})[moment] = sum(given)
    return found


def same(row: Any, moment: Any, iou: float) -> bool:
    start, end, other_start, other_end = (np.array([float(each)]) for each in (*row[1:3], *moment[1:3]))
    overlap = temporal_iou(start, end, other_start, other_end)[0]
    return row[:3] == moment or (row[0] == moment[0] and iou < 1 and bool(overlap >= iou))


@pytest.mark.parametrize("iou", [1.0, 0.5])
def test_fusion_agrees_with_a_slow_rewrite(iou: float) -> None:
    rng = np.random.default_rng(5)
    runs: dict[str, Any] = {}
    for name in "abc":
        runs[name] = {}
        for query in rng.choice(6, 4, replace=False).tolist():
            spans = {("uvw"[rng.integers(3)], int(s), int(s + 4 + rng.integers(3))) for s in rng.integers(0, 9, 9)}
            scores = np.sort(rng.integers(0, 9, len(spans)))[::-1].tolist()
            runs[name][str(query)] = [(*span, float(x)) for span, x in zip(sorted(spans), scores, strict=True)]
    fused = fuse(runs, iou=iou)
    expected = fused_slowly(runs, lambda rows, n: 1 / (60 + n + 1), iou)
    found = {query: {row[:3]: row[3] for row in rows} for query, rows in fused.rows(fused.scores)}
    assert found.keys() == expected.keys()
    for query, moments in expected.items():
        assert found[query] == {moment: pytest.approx(score, abs=1e-12) for moment, score in moments.items()}
    assert not fused.rising
    assert sum(map(len, expected.values())) == fused.scores.size > 40


def test_ties_in_a_fusion() -> None:
    """The moment that stands higher in a list comes first, and then that of the first run."""
    one, other = [("a", 0, 5, 2.0), ("b", 0, 5, 1.0)], [("c", 0, 5, 9.0), ("d", 0, 5, 8.0)]
    assert fuse({"one": {"1": one}, "other": {"1": other}}).videos == ["a", "c", "b", "d"]
    assert fuse({"other": {"1": other}, "one": {"1": one}}).videos == ["c", "a", "d", "b"]
    by_id = {"1": {"c@0-5000": 9.0, "a@0-5000": 8.0}}
    assert fuse({"one": {"1": one}, "by id": by_id}, name="both").videos == ["a", "c", "b"]
