"""Runs and their leaderboard: checking and scoring a run, a leaderboard of 200 runs, and a bootstrap over annotators.

`RUNS_QUERIES` asks for fewer queries than the 2,781 of TVR-Ranking's test set.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.installation import Installation, installation

QUERIES = int(os.environ.get("RUNS_QUERIES", "2781"))
NAME = "bench"


def figures() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as home, installation(Path(home), "sqlite") as place:
        yield from _measured(place)


def _measured(place: Installation) -> Iterator[str]:
    began = time.perf_counter()
    place.manage("generate_campaign", NAME, "--queries", str(QUERIES))
    place.manage("freeze_release", NAME, "--licence", "CC0-1.0")
    yield f"{QUERIES:,} queries generated and frozen in {time.perf_counter() - began:.0f} s"
    told = json.loads(place.run("-m", "benchmarks.runs_inside", NAME))
    yield f"a run of {told['predictions']:,} predictions, {told['megabytes']:.0f} MB of JSON:"
    yield f"  checked and stored in {told['received']:.2f} s"
    yield f"  scored in {told['scored']:.2f} s, {told['scores']} scores under all conventions"
    yield f"  the first scoring also reads the release, in {told['yardstick']:.2f} s"
    for page, (median, slowest, statements) in told["pages"].items():
        yield f"{page}, 200 runs: median {median:.0f} ms, slowest {slowest:.0f} ms, {statements} statements"
    for convention, seconds in told["resampled"].items():
        yield f"1,000 resamples of annotators, 20 runs, convention {convention}: {seconds:.1f} s"
    yield f"  reading and grading anew: {told['graded']:.1f} s; at most {told['memory']} MB of memory"
