"""Two stages over a million videos: 20,000,000 clips, 7.45 GiB of rows. It is run once by name, not by `make bench`.

The index is built in a folder (`CLIPS_FOLDER`, var/clips), shard by shard; shards that are there already are kept, so
that a build that was broken off goes on. `python -m benchmarks clips_large` then measures it.
"""

from __future__ import annotations

import os
import resource
import statistics
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.clip_vectors import CLIPS, SECONDS, Drawn
from benchmarks.clips import QUERIES, K, exact, recall, rows_of, sizes, stages
from systems.clips.building import plan_index, write_shard
from systems.clips.codes import wanted_sample
from systems.clips.index import ClipIndex
from systems.clips.layout import PLAN, shard_folder
from systems.data import Ints, Rows

VIDEOS, SHARDS = 1_000_000, 10
FOLDER = Path(os.environ.get("CLIPS_FOLDER", "var/clips"))
EXACT = "exact.npy"  # the nearest clips, once they are known


def figures() -> Iterator[str]:
    drawn = Drawn(VIDEOS)
    yield from _build(drawn)
    queries = drawn.queries(QUERIES)
    before = resident()
    began = time.perf_counter()
    index = ClipIndex(FOLDER)
    loaded = time.perf_counter() - began
    index.search(queries[:1], K)
    yield f"loaded in {loaded:.2f} s, and searched {time.perf_counter() - began:.2f} s after the start"
    for turn in ("first", "second"):
        times = []
        for query in queries:
            began = time.perf_counter()
            index.search(query[None], K)
            times.append(1000 * (time.perf_counter() - began))
        median, longest = statistics.median(times), max(times)
        yield f"the nearest {K}, the {turn} time: median {median:.1f} ms, longest {longest:.0f} ms"
    yield from stages("clustered", index, queries)
    yield f"memory that the index and {3 * QUERIES} searches took: {resident() - before:.2f} GiB; {sizes(FOLDER)}"
    yield f"recall of the nearest {K}: {recall(index, queries, _exact(queries)):.3f}"


def _build(drawn: Drawn) -> Iterator[str]:
    clips = drawn.videos * CLIPS
    if not (FOLDER / PLAN).exists():
        began, spent = time.perf_counter(), time.process_time()
        plan_index(FOLDER, "ivf-pq", SECONDS, drawn.sample(wanted_sample(clips)), clips, SHARDS)
        yield f"learned from {wanted_sample(clips):,} clips: {_spent(began, spent)}"
    each = drawn.videos // SHARDS
    for number in range(1, SHARDS + 1):
        if not shard_folder(FOLDER, number).exists():
            began, spent = time.perf_counter(), time.process_time()
            write_shard(FOLDER, number, drawn.blocks(each * (number - 1), each * number))
            yield f"shard {number} of {each * CLIPS:,} clips, drawn and written: {_spent(began, spent)}"


def _spent(began: float, spent: float) -> str:
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return (
        f"{time.perf_counter() - began:.0f} s, {time.process_time() - spent:.0f} s of processor time, "
        f"{memory:.1f} GiB of memory at most"
    )


def _exact(queries: Rows) -> Ints:
    """Return the nearest clips of each query, shard by shard; they are stored, because it reads all rows."""
    if (FOLDER / EXACT).exists():
        return np.asarray(np.load(FOLDER / EXACT), np.int64)
    numbers, distances = [], []
    for number in range(1, SHARDS + 1):
        rows = rows_of(FOLDER, number)
        nearest = exact(rows, queries)
        away = rows[nearest.ravel()].reshape(*nearest.shape, -1) - queries[:, None]
        numbers.append(nearest + (number - 1) * len(rows))
        distances.append((away.astype(np.float64) ** 2).sum(axis=2))
    order = np.argsort(np.concatenate(distances, axis=1), axis=1)[:, :K]
    wanted = np.take_along_axis(np.concatenate(numbers, axis=1), order, 1)
    np.save(FOLDER / EXACT, wanted)
    return wanted


def resident() -> float:
    """Return the memory that this process holds now, mapped files among it, in GiB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**30
