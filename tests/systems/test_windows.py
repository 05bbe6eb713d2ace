"""Candidate windows, temporal endpoint features, and suppression."""

from __future__ import annotations

import numpy as np
import pytest

from metrics import run_from_dict, temporal_nms
from systems.ranking import best, rank, suppress
from systems.windows import Scales, endpoints, slide


def spans(duration: float, scales: Scales, clip_seconds: float = 3.0) -> list[tuple[float, float]]:
    windows = slide(np.array([duration]), clip_seconds, scales)
    return list(zip(windows.start.tolist(), windows.end.tolist(), strict=True))


def test_windows_of_a_short_video_by_hand() -> None:
    """Seven seconds are three clips, the last one cut; a window starts in each, and equal ones count once."""
    assert spans(7.0, Scales()) == [(0.0, 6.0), (0.0, 7.0), (3.0, 7.0), (6.0, 7.0)]


def test_long_windows_move_on_by_two_clips() -> None:
    starts = [start for start, end in spans(60.0, Scales(5, 5))]
    assert starts == [float(start) for start in range(0, 60, 6)]


@pytest.mark.parametrize("duration", [0.5, 3.0, 29.99, 30.0, 30.01, 61.7])
def test_windows_beside_a_slow_rewrite(duration: float) -> None:
    slow = set()
    for length in range(2, 9):
        first = 0
        while first * 3 < duration:
            slow.add((first * 3.0, min((first + length) * 3.0, duration)))
            first += max(1, round(0.3 * length))
    assert spans(duration, Scales()) == sorted(slow)


def test_windows_of_several_videos_stand_by_video() -> None:
    windows = slide(np.array([7.0, 60.0, 3.0]), 3.0, Scales())
    offsets = windows.offsets(3)
    assert offsets[0] == 0
    assert offsets[-1] == len(windows)
    for number, duration in enumerate([7.0, 60.0, 3.0]):
        here = windows.take(np.arange(offsets[number], offsets[number + 1]))
        assert set(here.video.tolist()) == {number}
        assert len(here) == len(spans(duration, Scales()))
    assert (windows.stop > windows.first).all()


def test_endpoints_are_shares_of_the_duration() -> None:
    """STAL, Section 3.1: the first two of five clips are (0, 0.4)."""
    assert endpoints(np.array([0.0]), np.array([6.0]), np.array([15.0])).tolist() == [[0.0, pytest.approx(0.4)]]


@pytest.mark.parametrize("threshold", [0.0, 0.3, 0.6, 1.0])
def test_suppression_keeps_what_the_measuring_library_keeps(threshold: float) -> None:
    random = np.random.default_rng(1)
    video = random.integers(0, 4, 300)
    start = random.integers(0, 20, 300).astype(np.float64)
    end = start + random.integers(1, 9, 300).astype(np.float64)
    score = np.sort(random.random(300))[::-1]
    kept = suppress(video, start, end, threshold, 300)
    rows = zip(video.tolist(), start.tolist(), end.tolist(), score.tolist(), strict=True)
    run = run_from_dict({"q": [(f"v{number}", *rest) for number, *rest in rows]}, lenient=True)
    assert score[kept].tolist() == temporal_nms(run, threshold).scores.tolist()
    assert suppress(video, start, end, threshold, 7).tolist() == kept[:7].tolist()


def test_a_ranking_is_deep_enough_even_if_suppression_drops_much() -> None:
    windows = slide(np.full(50, 30.0), 3.0, Scales())
    scores = (windows.video == 7) + np.random.default_rng(2).random(len(windows))
    ranked = rank(windows, scores, 100, 0.0)
    assert len(ranked.video) == 100
    assert (np.diff(ranked.score) <= 0).all()


def test_of_equal_scores_the_first_come_first() -> None:
    scores = np.array([1.0, 3.0, 2.0, 3.0, 2.0, 3.0])
    assert best(scores, 2).tolist() == [1, 3]
    assert best(scores, 10).tolist() == [1, 3, 5, 2, 4, 0]


@pytest.mark.parametrize("clips", [8, 9, 10, 11, 20])
def test_distinct_windows_of_a_video(clips: int) -> None:
    """Each scale has a window from each clip, or from every second one; those cut by the end are few but equal.

    49,465 published windows of 1,334 videos are 5 × 13,895 clips less 15 a video: 10.4 clips of 3 s, or 30 s, each.
    """
    assert len(spans(3.0 * clips, Scales())) == 5 * clips - 15
