"""Two stages over a million videos: 20,000,000 clips, 7.45 GiB of rows. It is run once by name, not by `make bench`.

The index is built in a folder (`CLIPS_FOLDER`, var/clips), shard by shard; shards that are there already are kept, so
that a build that was broken off goes on.
"""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.clip_vectors import CLIPS, SECONDS, Drawn
from retrieval.systems.clips.building import plan_index, write_shard
from retrieval.systems.clips.codes import wanted_sample
from retrieval.systems.clips.layout import LEARNED, shard_folder

VIDEOS, SHARDS = 1_000_000, 10
FOLDER = Path(os.environ.get("CLIPS_FOLDER", "var/clips"))


def figures() -> Iterator[str]:
    yield from _build(Drawn(VIDEOS, clustered=True))


def _build(drawn: Drawn) -> Iterator[str]:
    clips = drawn.videos * CLIPS
    if not (FOLDER / LEARNED).exists():
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
