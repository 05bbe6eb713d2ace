"""Agreement and severity of TVR-Ranking's annotators, with intervals; and whether these hold of simulated ones."""

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.measuring import SHARED, best_of
from metrics.analysis.agreement import alpha_with_interval
from metrics.analysis.severity import severity
from metrics.formats.csv_tables import Ratings
from tests.metrics.test_severity import SIZE, played

SEEDS, PEOPLE = 50, 20


def figures() -> Iterator[str]:
    """The lines of `make bench`."""
    file = SHARED / "tvr_ranking" / "raw_annotation.csv"
    if file.exists():
        yield from real_lines(file)
    else:
        yield "TVR-Ranking's ratings: the shared data is not here (REELJUDGE_SHARED)"
    for batches in (60, 300, 1000):
        yield covered_line(batches)


def real_lines(file: Path) -> Iterator[str]:
    ratings = Ratings(*np.loadtxt(file, np.int64, delimiter=",", skiprows=1).T)
    batch = ratings.candidate // SIZE
    seconds = best_of(3, lambda: alpha_with_interval(ratings, batch))
    value, (low, high) = alpha_with_interval(ratings, batch)
    yield f"{ratings.grade.size:,} ratings: alpha {value:.3f}, by batches {low:.3f} to {high:.3f} ({seconds:.1f} s)"
    started, processor = time.perf_counter(), time.process_time()
    found = severity(ratings, batch)
    seconds, processor = time.perf_counter() - started, time.process_time() - processor
    yield (
        f"severity and spread of {found.annotator.size} annotators over {found.candidate.size:,} pairs: "
        f"{seconds:.1f} s on the clock, {processor:.1f} s of processor; severities {found.severity.min():.2f} to "
        f"{found.severity.max():.2f}, design effect {found.design_effect[0]:.1f}"
    )


def covered_line(batches: int) -> str:
    """How many intervals of simulated annotators hold."""
    held: list[list[float]] = [[], []]
    for seed in range(SEEDS):
        truth = played(1000 + seed, PEOPLE, batches)
        found = severity(truth.ratings, truth.batch)
        pairs = ((found.severity_interval, truth.severity), (found.spread_interval, truth.spread))
        for kept, (ends, true) in zip(held, pairs, strict=True):
            kept.append(float(((ends[:, 0] <= true) & (true <= ends[:, 1])).mean()))
    of_severity, of_spread = (np.mean(kept) for kept in held)
    return (
        f"{SEEDS} × {PEOPLE} simulated annotators, {batches} batches: intervals of severity hold in {of_severity:.1%}, "
        f"of spread in {of_spread:.1%}"
    )
