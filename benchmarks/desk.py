"""The lead's pages and a release of a large campaign: seconds of server time, numbers of queries, memory.

`DESK_QUERIES` asks for a smaller campaign than that of 5,000 queries.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

from benchmarks.databases import inside, on_each
from benchmarks.inside import BARE
from tests.installation import Installation

QUERIES = int(os.environ.get("DESK_QUERIES", "5000"))
NAME = "bench"


def figures() -> Iterator[str]:
    return on_each(_measured)


def _measured(place: Installation) -> Iterator[str]:
    began = time.perf_counter()
    yield place.manage("generate_campaign", NAME, "--queries", str(QUERIES)).strip()
    yield f"generated in {time.perf_counter() - began:.0f} s"
    began = time.perf_counter()
    inside(place, "inside.count", NAME)
    yield f"all numbers counted in {time.perf_counter() - began:.0f} s"
    pages = inside(place, "inside.pages", NAME)
    bare = next(page["median"] for page in pages if page["name"] == BARE)
    for page in sorted(pages, key=lambda each: -each["median"]):
        times = f"median {page['median']:.0f} ms, p95 {page['p95']:.0f} ms, {page['median'] / bare:.1f} × {BARE}"
        yield f"{page['name']}: {times}, {page['queries']} queries"
    most = max(pages, key=lambda each: each["queries"])
    yield f"{len(pages)} pages; at most {most['queries']} queries ({most['name']})"
    made = inside(place, "inside.release", NAME)
    yield f"release: {made['seconds']:.0f} s, {made['megabytes']} MB of memory at most, {made['size']:,} bytes"
