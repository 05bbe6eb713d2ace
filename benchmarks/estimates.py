"""Scores estimated from part of the judgements: their time beside plain scoring, and whether their intervals hold."""

import time
from collections.abc import Iterator

import numpy as np

from benchmarks.measuring import SHARED, best_of, need
from metrics import Estimator, default_measures, qrels_from_dict, run_from_dict, scores_of
from metrics.analysis.planning import TVR_RANKING
from tests.metrics.coverage import MEASURES, SAMPLES, Cell, coverage, coverage_at_all_times, worlds
from tests.metrics.replay import SETS, Judged, replay
from tests.metrics.test_estimates import wrong_of_equal_systems
from tests.metrics.tvr_ratings import real_pairs

QUERIES, CANDIDATES, VIDEOS, RUNS, LISTED, SHARE = 3280, 40, 20_000, 20, 40, 0.3
TRIALS = 4000
RANKED, SAMPLES_OF_A_CELL, LOOKS = 400, 1000, range(20, 400, 40)


def figures() -> Iterator[str]:
    """The lines of `make bench`."""
    yield speed_line()
    need(SHARED.is_dir())
    judged = Judged.of(real_pairs(SHARED))
    yield from replay_lines(judged)
    yield from coverage_lines(judged)
    started = time.perf_counter()
    usual, anytime = wrong_of_equal_systems(judged, TRIALS)
    seconds = time.perf_counter() - started
    yield (
        f"24 looks at the difference of equal systems, {TRIALS:,} trials: the usual interval of the mean is wrong in "
        f"{usual:.1%}, the one that holds at all times in {anytime:.1%} ({seconds:.0f} s)"
    )


def speed_line() -> str:
    """Estimating 20 runs by 9 measures beside scoring them on qrels of all queries, qrels and pool being read."""
    rng = np.random.default_rng(1)
    names = rng.integers(0, VIDEOS, (QUERIES, CANDIDATES)).tolist()
    pool = {str(q): [(f"v{name}", 10.0 * r, 10.0 * r + 5) for r, name in enumerate(names[q])] for q in range(QUERIES)}
    grades = rng.integers(0, 5, (QUERIES, CANDIDATES)).tolist()
    full = {q: [(*m, g) for m, g in zip(held, grades[int(q)], strict=True)] for q, held in pool.items()}
    part = qrels_from_dict({q: full[q] for q in list(full)[: round(SHARE * QUERIES)]})
    runs = {}
    for number in range(RUNS):
        orders = rng.permuted(np.tile(np.arange(CANDIDATES), (QUERIES, 1)), axis=1)[:, :LISTED].tolist()
        lists = {q: [(*pool[q][r], 1.0 - i / 100) for i, r in enumerate(orders[int(q)])] for q in pool}
        runs[str(number)] = run_from_dict(lists)
    qrels, measures = qrels_from_dict(full), default_measures()
    estimator = Estimator(measures, part, pool)
    plain = best_of(3, lambda: scores_of(measures, qrels, runs))
    estimated = best_of(3, lambda: estimator.estimates(runs))
    return (
        f"estimates of {RUNS} runs × {len(measures)} measures, {QUERIES:,} queries × {CANDIDATES} candidates, "
        f"{SHARE:.0%} judged: {estimated:.2f} s, {estimated / plain:.2f} × plain scoring ({plain:.2f} s)"
    )


def coverage_lines(judged: Judged) -> Iterator[str]:
    """The shares of 95 % intervals that hold, of scores and of differences of systems, by world, sample and measure."""
    few = judged.take(np.sort(np.random.default_rng(1).permutation(len(judged.grades))[:RANKED]))
    yield f"95 % intervals that hold, of scores / differences, {SAMPLES_OF_A_CELL:,} samples; {RANKED} ranked queries"
    yield " | ".join(["world", "judged", *MEASURES])
    lowest = []
    for name, world in worlds(few, seed=1):
        for size in SAMPLES:
            lowest += (cells := coverage(name, world, size, SAMPLES_OF_A_CELL, seed=1))
            yield row_of(name, str(size), cells)
    of_all = dict(worlds(judged, seed=2))
    for name, world in of_all.items():
        lowest += (cells := coverage(name, world, 150, SAMPLES_OF_A_CELL // 5, seed=2))
        yield row_of(f"{name}, {len(judged.grades):,} ranked", "150", cells)
    for name, world in of_all.items():
        lowest += (cells := coverage(name, world, 60, SAMPLES_OF_A_CELL // 5, seed=3, ranked=RANKED))
        yield row_of(f"{name}, future", "60", cells)
    for name, world in worlds(few, seed=1):
        lowest += (cells := coverage_at_all_times(name, world, LOOKS, SAMPLES_OF_A_CELL // 5, seed=4))
        yield row_of(f"{name}, {len(LOOKS)} looks", f"{LOOKS[0]}-{LOOKS[-1]}", cells)
    yield f"the lowest of all: {min(min(each.scores, each.differences) for each in lowest):.1%}"


def row_of(name: str, judged: str, cells: list[Cell]) -> str:
    return " | ".join([name, judged, *(f"{each.scores:.1%} / {each.differences:.1%}" for each in cells)])


def replay_lines(judged: Judged) -> Iterator[str]:
    """500 queries, 40 draws of 30 %, three sets of systems; and the order of systems with all queries."""
    few = judged.take(np.sort(np.random.default_rng(5).permutation(len(judged.grades))[:500]))
    started = time.perf_counter()
    found = {name: replay(few, SETS[name], SHARE, 40, seed=1) for name in TVR_RANKING}
    seconds = time.perf_counter() - started
    for name, each in found.items():
        tau = replay(judged, SETS[name], SHARE, 40, seed=1, pairs=1).tau
        yield (
            f"{name}: intervals of scores hold in {each.scores:.1%}, of differences in {each.differences:.1%}; "
            f"half-width {each.width:.4f}, without correction {each.plain_width:.4f}; τ-b p5 of all queries "
            f"{np.quantile(tau, 0.05):.3f}"
        )
    yield f"the replay of 500 queries, 40 draws, three sets: {seconds:.1f} s"
