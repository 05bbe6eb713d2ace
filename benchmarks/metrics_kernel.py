"""How fast NDCG@K, IoU≥μ is: beside the published algorithm as a plain loop, and beside sorting and IoU alone."""

import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.measuring import best_of
from metrics import default_measures, evaluator, qrels_from_dict, run_from_dict
from metrics.formats.tables import Qrels, Run
from metrics.measures.matching import temporal_iou

MOMENTS, PREDICTIONS = 40, 100
CUTS, BARS = (10, 20, 40), (0.3, 0.5, 0.7)
Spans = dict[str, list[tuple[str, float, float, Any]]]


def figures() -> Iterator[str]:
    """The lines of `make bench`."""
    for videos in (20, 1):
        yield from against_the_loop(500, videos)
    for videos in (20, 1):
        yield from full_size(2781, videos)
    yield help_line()


def help_line() -> str:
    """How long the command line takes to say what it can."""
    command = [sys.executable, "-m", "metrics", "--help"]
    seconds = best_of(5, lambda: subprocess.run(command, capture_output=True, check=True))
    return f"python -m metrics --help: {seconds:.3f} s"


def against_the_loop(queries: int, videos: int) -> list[str]:
    """Nine measures with per-query scores: the loop, and ours on the same data."""
    judged, answered = world(queries, videos, seed=1)
    qrels, run = qrels_from_dict(judged), run_from_dict(answered)
    ready = evaluator(default_measures(), qrels, "released")
    fast = best_of(5, lambda: ready.calc(run))
    started = time.perf_counter()
    slow = published_loop(judged, answered)
    seconds = time.perf_counter() - started
    ours = {str(m): v for m, v in ready.calc_aggregate(run).items()}
    worst = max(abs(slow[name] - (ours[name] or 0.0)) for name in slow)
    return [
        title(queries, videos),
        f"  plain loop {seconds:.2f} s, kernel {fast * 1000:.1f} ms: {seconds / fast:.0f}x"
        f" (largest difference {worst:.0e})",
    ]


def full_size(queries: int, videos: int) -> list[str]:
    """The test queries of TVR-Ranking: the whole scoring, beside sorting and IoU alone."""
    judged, answered = world(queries, videos, seed=2)
    qrels, run = qrels_from_dict(judged), run_from_dict(answered)
    whole = best_of(3, lambda: evaluator(default_measures(), qrels).calc(run))
    ready = evaluator(default_measures(), qrels)
    ready.calc(run)
    again = best_of(3, lambda: ready.calc(run))
    floor = best_of(3, lambda: sorting_and_iou(qrels, run, queries))
    return [
        title(queries, videos),
        f"  {whole:.3f} s, with the evaluator reused {again:.3f} s; floor (sorting and every IoU alone) {floor:.3f} s",
    ]


def title(queries: int, videos: int) -> str:
    where = "one video" if videos == 1 else f"{videos} videos"
    return f"NDCG, {queries} queries x {MOMENTS} moments in {where} x {PREDICTIONS} predictions, 9 measures:"


def world(queries: int, videos: int, seed: int) -> tuple[Spans, Spans]:
    """Random qrels and a run; the moments of a query lie in so many videos, and the predictions in
    the same.
    """
    rng = np.random.default_rng(seed)

    def spans(count: int, low: int, high: int) -> Spans:
        shape = (queries, count)
        # Each begins in a stretch of its own, so that none is there twice.
        start = (80 / count * (np.arange(count) + rng.uniform(0, 0.98, shape))).round(2)
        length = rng.uniform(2, 20, shape).round(2)
        video, value = rng.integers(0, videos, shape), rng.integers(low, high, shape)
        return {
            str(q): [
                (f"v{v}", s, s + n, g)
                for v, s, n, g in zip(
                    video[q].tolist(), start[q].tolist(), length[q].tolist(), value[q].tolist(), strict=True
                )
            ]
            for q in range(queries)
        }

    return spans(MOMENTS, 0, 5), spans(PREDICTIONS, 0, 1000)


def published_loop(judged: Spans, answered: Spans) -> dict[str, float]:
    """The evaluation as published for TVR-Ranking, written anew: one prediction at a time, in plain
    Python.
    """
    scores: dict[str, list[float]] = {f"nDCG_IoU(iou={bar})@{cut}": [] for cut in CUTS for bar in BARS}
    for query, predictions in answered.items():
        truth = sorted(judged[query], key=lambda moment: -moment[3])
        for bar in BARS:
            free, grades = list(truth), []
            for video, start, end, _ in predictions:
                same = [moment for moment in free if moment[0] == video]
                ious = [loop_iou(start, end, moment[1], moment[2]) for moment in same]
                place = int(np.argmax(ious)) if ious else -1
                if ious and ious[place] > bar:
                    grades.append(same[place][3])
                    free.remove(same[place])
                else:
                    grades.append(0)
            for cut in CUTS:
                ideal = loop_dcg([moment[3] for moment in truth[:cut]])
                got = loop_dcg(grades[:cut])
                scores[f"nDCG_IoU(iou={bar})@{cut}"].append(got / ideal if ideal > 0 else 0.0)
    return {name: float(np.mean(values)) for name, values in scores.items()}


def loop_iou(start: float, end: float, other_start: float, other_end: float) -> float:
    inter = max(0, min(end, other_end) - max(start, other_start))
    union = (end - start) + (other_end - other_start) - inter
    return inter / union if union > 0 else 0


def loop_dcg(grades: list[int]) -> float:
    return float(sum((2**grade - 1) / np.log2(rank + 2) for rank, grade in enumerate(grades)))


def sorting_and_iou(qrels: Qrels, run: Run, queries: int) -> None:
    """What no evaluator can do without, if it looks at every pair: sort the moments, compute every IoU."""
    order = np.argsort(-qrels.grades.reshape(queries, MOMENTS), axis=1, kind="stable")
    start, end = (np.take_along_axis(c.reshape(queries, MOMENTS), order, 1) for c in (qrels.start, qrels.end))
    for q in range(0, queries, 64):  # blocks that stay in the cache
        p = slice(q * PREDICTIONS, min(q + 64, queries) * PREDICTIONS)
        first, last = (c[p].reshape(-1, PREDICTIONS, 1) for c in (run.start, run.end))
        temporal_iou(first, last, start[q : q + 64, None, :], end[q : q + 64, None, :])
