"""Ranking 3,281 queries against the 71,957 captions of ActivityNet, beside the bare matrix product."""

import json
import statistics
import tracemalloc
from collections.abc import Callable, Iterator

import numpy as np
from django.core.management import call_command

from benchmarks.measuring import SHARED, in_turn, need
from retrieval.embedding import Vectors, embed
from retrieval.nearest import BLOCK, nearest

QUERIES, K, RUNS = 3281, 40, 5


def figures() -> Iterator[str]:
    need(SHARED.is_dir())
    call_command("migrate", verbosity=0)
    captions, queries = _vectors()
    rows = BLOCK // (4 * len(captions))
    out = np.empty((rows, len(captions)), np.float32)

    def product(_: int) -> None:
        for start in range(0, len(queries), rows):
            block = queries[start : start + rows]
            np.matmul(block, captions.T, out=out[: len(block)])

    steps = [product, lambda _: nearest(queries, captions, K)]
    bare, ours = in_turn(steps, range(RUNS + 1), warming=1)
    ratio = statistics.median(b / a for a, b in zip(bare, ours, strict=True))
    yield f"queries {len(queries):,}, captions {len(captions):,}, dimensions {captions.shape[1]}, top {K}, float32"
    yield f"bare matrix product, in blocks of {rows} rows: {statistics.median(bare):.2f} s"
    yield f"exact top {K}: {statistics.median(ours):.2f} s, ratio {ratio:.2f} (promised: at most 1.5)"
    yield f"memory beyond the vectors: {_peak(lambda: nearest(queries, captions, K)) / 2**20:.0f} MiB"


def _vectors() -> tuple[Vectors, Vectors]:
    """Return the vectors. Encoding takes some minutes the first time; then the benchmark's database stores them."""
    captions = [caption for *_, caption in activitynet()]
    lines = (SHARED / "tvr" / "tvr_val_release.jsonl").read_text().splitlines()
    queries = [json.loads(line)["desc"].strip() for line in lines if '"type": "v"' in line][:QUERIES]
    return embed(captions, progress), embed(queries, progress)


def activitynet() -> list[tuple[str, float, float, float, str]]:
    """Return the video, start, end, duration (seconds) and sentence of each moment of ActivityNet Captions."""
    moments: list[tuple[str, float, float, float, str]] = []
    for name in ("train", "val_1", "val_2"):
        videos = json.loads((SHARED / "activitynet_captions" / f"{name}.json").read_bytes())
        for video, record in videos.items():
            for (start, end), sentence in zip(record["timestamps"], record["sentences"], strict=True):
                moments.append((video, *sorted((start, end)), record["duration"], sentence.strip()))
    return moments


def progress(done: int, total: int) -> None:
    print(f"\r  encoding {done:,} of {total:,}", end="\r", flush=True)


def _peak(function: Callable[[], object]) -> int:
    tracemalloc.start()
    function()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak
