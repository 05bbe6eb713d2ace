"""Temporal suppression beside a loop over one list after the other."""

import numpy as np
from hypothesis import given, settings

from metrics import run_from_dict
from metrics.analysis.nms import temporal_nms
from tests.metrics.oracle import Span, iou
from tests.metrics.worlds import World, worlds


def slow(spans: list[Span], threshold: float) -> list[Span]:
    """The list without what overlaps a better one too much, in its order."""
    kept: list[int] = []
    for i in sorted(range(len(spans)), key=lambda n: -spans[n][3]):
        if all(iou(spans[i], (*spans[k][:3], 1)) <= threshold for k in kept):
            kept.append(i)
    return [spans[i] for i in sorted(kept)]


@settings(max_examples=150, deadline=None)
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
