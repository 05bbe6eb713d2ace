"""Runs and their leaderboard: checking and scoring a run, a leaderboard of 200 runs, and a bootstrap over annotators.

`RUNS_QUERIES` asks for fewer queries than the 2,781 of TVR-Ranking's test set.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

from benchmarks.databases import fresh, inside

QUERIES = int(os.environ.get("RUNS_QUERIES", "2781"))
NAME = "bench"


def figures() -> Iterator[str]:
    with fresh() as place:
        began = time.perf_counter()
        place.manage("generate_campaign", NAME, "--queries", str(QUERIES))
        place.manage("freeze_release", NAME, "--licence", "CC0-1.0")
        yield f"{QUERIES:,} queries generated and frozen in {time.perf_counter() - began:.0f} s"
        results = inside(place, "runs_inside.measured", NAME)
    yield f"a run of {results['predictions']:,} predictions, {results['megabytes']:.0f} MB of JSON:"
    times = f"{results['confined']:.2f} times what it takes without a confined process"
    yield f"  checked and stored in {results['received']:.2f} s, {times}"
    yield f"  scored in {results['scored']:.2f} s, {results['scores']} scores under all conventions"
    yield f"  the first scoring also reads the release, in {results['reference']:.2f} s"
    for page, (median, slowest, statements) in results["pages"].items():
        yield f"{page}, 200 runs: median {median:.0f} ms, slowest {slowest:.0f} ms, {statements} statements"
    for convention, seconds in results["resampled"].items():
        yield f"1,000 resamples of annotators, 20 runs, convention {convention}: {seconds:.1f} s"
    yield f"  reading and grading anew: {results['graded']:.1f} s; at most {results['memory']} MB of memory"
