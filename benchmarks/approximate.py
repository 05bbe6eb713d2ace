"""The approximate index of 1,050,000 captions: its recall, and a search by it beside the exact one.

The vectors are ActivityNet's 71,957 and mixtures of two of them, which lie between captions as further captions would.
"""

import os
import statistics
import tempfile
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from django.core.management import call_command

from benchmarks.measuring import SHARED, in_turn, need
from benchmarks.ranking import activitynet, progress
from retrieval.embedding import Vectors, embed
from retrieval.nearest import nearest
from retrieval.search.index import nearest_of, write_approximate
from systems.clips.codes import mapped

CAPTIONS, RUNS, DEPTH = 1_050_000, 40, 40
SHARES = np.array([0.8, 0.6], np.float32)  # of the first and the second caption in a mixture


def figures() -> Iterator[str]:
    need(SHARED.is_dir() and find_spec("faiss") is not None, "the shared data (REELJUDGE_SHARED) and faiss-cpu")
    call_command("migrate", verbosity=0)
    vectors = _vectors(embed([caption for *_, caption in activitynet()], progress))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "index.ivf"
        began = time.perf_counter()
        recall = write_approximate(vectors, file)
        took, size = time.perf_counter() - began, os.path.getsize(file) / 1e6
        yield f"index of {len(vectors):,} captions: {took:.0f} s, {size:.0f} MB"
        index, drawn = mapped(file), np.random.default_rng(3).permutation(len(vectors))[:RUNS]
        yield f"recall@20: {recall:.4f}, looking at {index.nprobe} of {index.nlist:,} groups"
        (exact,) = in_turn([lambda query: nearest(query[None], vectors, DEPTH)], vectors[drawn])
        (ours,) = in_turn([lambda query: nearest_of(index, query, vectors, DEPTH)], vectors[drawn])
    median = [1000 * statistics.median(each) for each in (exact, ours)]
    yield f"the nearest {DEPTH}: exact {median[0]:.0f} ms, by the index {median[1]:.1f} ms"


def _vectors(captions: Vectors) -> Vectors:
    pairs = np.random.default_rng(4).integers(len(captions), size=(CAPTIONS - len(captions), 2))
    vectors = np.empty((CAPTIONS, captions.shape[1]), np.float32)
    vectors[: len(captions)] = captions
    mixed = vectors[len(captions) :]
    np.multiply(captions[pairs[:, 0]], SHARES[0], out=mixed)
    mixed += captions[pairs[:, 1]] * SHARES[1]
    mixed /= np.linalg.norm(mixed, axis=1, keepdims=True)
    return vectors
