"""A pseudo training set of ActivityNet's 71,957 captions, with N = 40, beside the bare matrix product.

`RANDOM_VECTORS=on` takes random vectors of the same size in place of the captions', which says as much about the time.
"""

import os
import resource
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from django.core.management import call_command

from base.text import wording
from benchmarks.measuring import SHARED, alone, need
from benchmarks.ranking import QUERIES, activitynet, progress
from benchmarks.streaming import random_vectors
from metrics.formats.json_qrels import moment_fields
from metrics.formats.moment_ids import moment_id
from releases.training import Pool, write_queries
from retrieval.embedding import Vectors, embed
from retrieval.nearest import BLOCK

K, ROUNDS = 40, 3


def figures() -> Iterator[str]:
    need(SHARED.is_dir())
    call_command("migrate", verbosity=0)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "vectors.npy"
        pool, queries = _pool_and_queries()
        np.save(file, random_vectors(len(pool.captions), 1) if _random() else embed(pool.captions, progress))
        found = alone("training_sets.measured", file)  # so that the memory is that of this work
    ratios = [ours / bare for bare, ours in zip(found["bare"], found["ours"], strict=True)]
    of = "random unit vectors" if _random() else "the captions' vectors"
    yield f"queries {len(queries):,}, captions {len(pool.captions):,}, top {K}, {of}"
    yield f"bare matrix product, in blocks of {found['rows']} rows: {statistics.median(found['bare']):.1f} s"
    yield (
        f"training set written: {statistics.median(found['ours']):.1f} s, {found['size'] / 1e6:.0f} MB, "
        f"ratio {statistics.median(ratios):.2f} (promised: at most 1.5)"
    )
    yield f"memory of the process at most: {found['memory'] / 2**20:.0f} MiB (promised: at most 2,048)"


def _random() -> bool:
    return os.environ.get("RANDOM_VECTORS") == "on"


def _pool_and_queries() -> tuple[Pool, list[str]]:
    """Return the moments as an export reads them, and the captions that are left when 3,281 are queries."""
    ordered = sorted((moment_id(*row[:3]), row) for row in activitynet())
    numbers: dict[str, int] = {}
    own: dict[str, list[int]] = {}
    for place, (_, row) in enumerate(ordered):
        own.setdefault(wording(row[4]), []).append(place)
    pool = Pool(
        captions=[row[4] for _, row in ordered],
        fields=[moment_fields(*row) for _, row in ordered],
        labels=np.array([numbers.setdefault(id, len(numbers)) for id, _ in ordered], np.intp),
        own=own,
    )
    return pool, list(own)[QUERIES:]


def measured(file: str) -> dict[str, object]:
    """Measure both in turn, after a round that does not count."""
    vectors, (pool, queries) = np.load(file), _pool_and_queries()
    bare, ours, size = [], [], 0
    for turn in range(ROUNDS + 1):
        seconds = [_product(vectors, len(queries) if turn else BLOCK // 4 // len(vectors))]
        began = time.perf_counter()
        with tempfile.TemporaryFile("w", encoding="utf-8") as out:
            write_queries(queries if turn else queries[:2000], pool, vectors, {K: out}, lambda *done, message="": None)
            seconds.append(time.perf_counter() - began)
            size = out.tell()
        if turn:
            bare.append(seconds[0])
            ours.append(seconds[1])
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {"bare": bare, "ours": ours, "size": size, "memory": memory, "rows": BLOCK // 4 // len(vectors)}


def _product(vectors: Vectors, count: int) -> float:
    rows = BLOCK // 4 // len(vectors)
    out = np.empty((rows, len(vectors)), np.float32)
    began = time.perf_counter()
    for start in range(0, count, rows):
        block = vectors[start : min(start + rows, count)]
        np.matmul(block, vectors.T, out=out[: len(block)])
    return time.perf_counter() - began
