"""Importing TVR-Ranking's raw ratings as a finished campaign, computing its statistics, and drawing Figure 5."""

from __future__ import annotations

import time
from collections.abc import Iterator

from benchmarks.databases import inside, on_each
from benchmarks.measuring import SHARED, need
from tests.installation import Installation
from tests.stand_ins import write_pairs

RATINGS = SHARED / "tvr_ranking" / "raw_annotation.csv"
NAME = "tvr-ranking"


def figures() -> Iterator[str]:
    need(RATINGS.is_file())
    yield from on_each(_measured)


def _measured(place: Installation) -> Iterator[str]:
    pairs = place.home / "pairs.csv"
    write_pairs(RATINGS, pairs)
    began = time.perf_counter()
    printed = place.manage("import_ratings", NAME, "--ratings", str(RATINGS), "--pairs", str(pairs))
    imported = time.perf_counter() - began
    inside(place, "inside.count", NAME)
    inside(place, "inside.draw", NAME)
    whole = time.perf_counter() - began
    yield printed.splitlines()[0]
    yield f"imported in {imported:.0f} s, counted and Figure 5 drawn after {whole:.0f} s in all"
