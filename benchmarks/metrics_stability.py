"""How fast the measures are measured: stability beside SciPy's kendalltau in a loop, and noise."""

import time
from collections.abc import Iterator

import numpy as np
from scipy.stats import kendalltau

from benchmarks.measuring import SHARED, best_of, need
from metrics import qrels_from_dict, run_from_dict
from metrics.analysis.agreement import alpha
from metrics.analysis.meta import paper_measures, signs, stability, tau_b
from metrics.analysis.noise import noise_error
from metrics.formats.arrays import Floats
from metrics.formats.csv_tables import read_ratings

SYSTEMS, QUERIES, TRIALS, SIZE = 6, 3720, 5000, 1860
LOOPED = 200  # trials that the loop is timed on; its time grows with their number


def figures() -> Iterator[str]:
    """The lines of `make bench`."""
    yield from stability_lines()
    yield from tau_lines()
    yield from noise_lines()
    yield from alpha_lines()


def alpha_lines() -> list[str]:
    """Krippendorff's alpha over TVR-Ranking's raw ratings, reading included."""
    need(SHARED.is_dir())
    started = time.perf_counter()
    ratings = read_ratings(SHARED / "tvr_ranking" / "raw_annotation.csv")
    ordinal, nominal, interval = (alpha(ratings, scale) for scale in ("ordinal", "nominal", "interval"))
    seconds = time.perf_counter() - started
    return [
        f"alpha over {ratings.grade.size:,} raw ratings: "
        f"ordinal {ordinal:.3f}, nominal {nominal:.3f}, interval {interval:.3f} in {seconds:.2f} s"
    ]


def stability_lines() -> list[str]:
    """AxIoU's Figure 6 at one size: its twelve measures, the drawing of subsets included; and one alone."""
    block = np.random.default_rng(0).uniform(0, 1, (SYSTEMS, QUERIES, len(paper_measures())))
    lines = []
    for measures in (block.shape[2], 1):
        some = block[:, :, :measures]
        fast = best_of(7, lambda some=some: stability(some, [SIZE], TRIALS))  # type: ignore[misc]
        started = time.perf_counter()
        looped_stability(some, LOOPED)
        slow = (time.perf_counter() - started) * TRIALS / LOOPED
        lines.append(
            f"stability, {TRIALS} trials, {SYSTEMS} systems, subsets of {SIZE} of {QUERIES} queries, "
            f"{measures} measure(s), drawing included: "
            f"loop of kendalltau {slow:.2f} s, ours {fast:.3f} s: {slow / fast:.0f}x"
        )
    return lines


def looped_stability(block: Floats, trials: int) -> list[float]:
    rng, found = np.random.default_rng(0), []
    for measure in range(block.shape[2]):
        scores = np.ascontiguousarray(block[:, :, measure])
        for _ in range(trials):
            one, other = (rng.choice(QUERIES, SIZE, replace=False) for _ in range(2))
            found.append(kendalltau(scores[:, one].mean(axis=1), scores[:, other].mean(axis=1)).statistic)
    return found


def tau_lines() -> list[str]:
    """The rank correlations alone, given the subset means."""
    one, other = np.random.default_rng(1).uniform(0, 1, (2, TRIALS, SYSTEMS))
    fast = best_of(5, lambda: tau_b(signs(one), signs(other)))
    started = time.perf_counter()
    slow = [kendalltau(a, b).statistic for a, b in zip(one[:LOOPED], other[:LOOPED], strict=True)]
    seconds = (time.perf_counter() - started) * TRIALS / LOOPED
    worst = np.abs(tau_b(signs(one), signs(other))[:LOOPED] - slow).max()
    return [
        f"tau-b alone, {TRIALS} pairs of rankings of {SYSTEMS} systems: "
        f"loop {seconds:.2f} s, ours {fast * 1000:.1f} ms: {seconds / fast:.0f}x"
        f" (largest difference {worst:.0e})"
    ]


def noise_lines() -> list[str]:
    """100 noisy data sets at each of four levels, six systems, twelve measures."""
    rng = np.random.default_rng(2)
    start = rng.uniform(0, 20, QUERIES)
    qrels = qrels_from_dict({str(q): [(f"v{q}", s, s + 8, 1)] for q, s in enumerate(start.tolist())})
    runs = []
    for system in range(SYSTEMS):
        guess = np.abs(start[:, None] + rng.normal(0, 2 + system, (QUERIES, 10)))
        spans = {str(q): [(f"v{q}", s, s + 8, 0.0) for s in row] for q, row in enumerate(guess.tolist())}
        runs.append(run_from_dict(spans, f"system{system}"))
    started = time.perf_counter()
    noise_error(paper_measures(), qrels, runs, datasets=100)
    seconds = time.perf_counter() - started
    return [f"noise, 100 data sets x 4 levels x {SYSTEMS} systems x {QUERIES} queries: {seconds:.1f} s"]
