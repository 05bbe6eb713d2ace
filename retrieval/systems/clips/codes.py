"""Codes of clips by faiss: short forms of the vectors, by which the likely neighbours of a query are found quickly.

IVF-PQ puts clips into groups by k-means, and keeps a byte for every two numbers or more. What it learns is learned once
for all shards, so that together they find what one index would find. HNSW keeps a byte a number, and a graph of each
shard. Both only propose clips, whose distances are then computed from the vectors on disk.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from retrieval.systems.data import Ints, Rows
from retrieval.systems.errors import SystemsError

MOST_BYTES = 64  # of a clip's code
LEAST_SAMPLE = 256  # clips, one for each value of a byte
EACH_GROUP_LEARNS_FROM, ROUNDS = 40, 10  # clips, and rounds of k-means; faiss warns below 39 clips
GROUPS_LOOKED_AT = 32
NEIGHBOURS, BUILT_WITH = 32, 80  # of a clip in a graph, and clips that are looked at to choose them

Proposed = tuple[Rows, Ints]  # distances and numbers, each of shape (queries, depth)
Look = Callable[[Any, Rows, int], Callable[[Any], Proposed]]


def is_installed() -> bool:
    return find_spec("faiss") is not None


def wanted_sample(clips: int) -> int:
    """Return from how many of its clips an index should learn."""
    return min(clips, max(_groups(clips) * EACH_GROUP_LEARNS_FROM, EACH_GROUP_LEARNS_FROM * LEAST_SAMPLE))


def learn(kind: str, sample: Rows, clips: int, file: Path) -> None:
    """Learn what the codes of an index need, and store it as an empty index.

    Raises
    ------
    SystemsError
        If faiss is not installed, the sample is too small or not finite, or the file cannot be stored.
    """
    if not is_installed():
        raise SystemsError(
            f"an index of kind {kind} needs the package faiss-cpu; install it, or take the kind flat"
        )
    if len(sample) < LEAST_SAMPLE:
        raise SystemsError(
            f"an index of kind {kind} learns from at least {LEAST_SAMPLE} clips, and there are {len(sample)}; "
            "take the kind flat"
        )
    if not np.isfinite(sample).all():
        raise SystemsError("the vectors to learn from have values that are not finite numbers")
    index = _ivf_pq(sample, clips) if kind == "ivf-pq" else _hnsw(sample.shape[1])
    index.train(_padded(sample, index.d))
    _write(index, file)


def _groups(clips: int) -> int:
    return max(1, int(2 * math.sqrt(clips)))


def _ivf_pq(sample: Rows, clips: int) -> Any:
    import faiss

    numbers = max(2, math.ceil(sample.shape[1] / MOST_BYTES))  # that share a byte
    size = math.ceil(sample.shape[1] / numbers)
    groups = max(1, min(_groups(clips), len(sample) // EACH_GROUP_LEARNS_FROM))
    index: Any = faiss.index_factory(size * numbers, f"IVF{groups},PQ{size}np")
    index.cp.niter = index.pq.cp.niter = ROUNDS
    index.cp.max_points_per_centroid = index.pq.cp.max_points_per_centroid = EACH_GROUP_LEARNS_FROM
    index.pq.cp.min_points_per_centroid = 1
    return index


def _hnsw(dimensions: int) -> Any:
    import faiss

    index: Any = faiss.index_factory(dimensions, f"HNSW{NEIGHBOURS},SQ8")
    index.hnsw.efConstruction = BUILT_WITH
    return index


def _padded(rows: Rows, dimensions: int) -> Rows:
    """Return rows with zeros behind them, because a whole number of them must share a byte."""
    missing = dimensions - rows.shape[1]
    return np.pad(rows, ((0, 0), (0, missing))) if missing else np.ascontiguousarray(rows)


class Adding:
    """The codes of a shard while they are made."""

    def __init__(self, learned: Path) -> None:
        import faiss

        self._index = _read(learned, faiss.IO_FLAG_SKIP_PRECOMPUTE_TABLE)

    def add(self, rows: Rows) -> None:
        """Add the next clips."""
        self._index.add(_padded(rows, self._index.d))

    def write(self, file: Path) -> None:
        """Store the codes, or raise SystemsError."""
        _write(self._index, file)


class Codes:
    """The codes of all shards, mapped into memory and searched as one.

    Parameters
    ----------
    kind
        `ivf-pq` or `hnsw`.
    files
        The files of codes, each with the number that its first clip has among all clips.

    Raises
    ------
    SystemsError
        If faiss is not installed, or a file is damaged.
    """

    def __init__(self, kind: str, files: Sequence[tuple[Path, int]]) -> None:
        if not is_installed():
            raise SystemsError(f"an index of kind {kind} needs the package faiss-cpu; install it")
        grouped = kind == "ivf-pq"
        opened = _open_groups if grouped else _open_graph
        self._look: Look = _look_into_groups if grouped else _look_into_graphs
        self._parts = [(opened(file), first) for file, first in files]

    def propose(self, queries: Rows, depth: int) -> Ints:
        """Return the numbers of clips that are likely to be near each query: shape (queries, depth).

        Where fewer are found, there is -1 instead of a number.
        """
        if not self._parts:
            return np.empty((len(queries), 0), np.int64)
        first_index = self._parts[0][0]
        look = self._look(first_index, _padded(queries, first_index.d), depth)
        distances, numbers = zip(
            *(_numbered(look(index), first) for index, first in self._parts), strict=True
        )
        if len(numbers) == 1:
            return numbers[0]
        nearest = np.argpartition(np.concatenate(distances, axis=1), depth - 1, axis=1)[:, :depth]
        return np.take_along_axis(np.concatenate(numbers, axis=1), nearest, 1)


def _look_into_groups(any_index: Any, queries: Rows, depth: int) -> Callable[[Any], Proposed]:
    """Choose the groups once, and look into the same groups of every shard."""
    looked_at = min(GROUPS_LOOKED_AT, any_index.nlist)
    away, groups = any_index.quantizer.search(queries, looked_at)

    def look(index: Any) -> Proposed:
        index.nprobe = looked_at
        found: Proposed = index.search_preassigned(queries, depth, groups, away)
        return found

    return look


def _look_into_graphs(_: Any, queries: Rows, depth: int) -> Callable[[Any], Proposed]:
    def look(index: Any) -> Proposed:
        index.hnsw.efSearch = depth
        found: Proposed = index.search(queries, depth)
        return found

    return look


def _numbered(found: Proposed, first: int) -> Proposed:
    distances, numbers = found
    return distances, np.where(numbers >= 0, numbers + first, -1)


def _open_groups(file: Path) -> Any:
    import faiss

    # A table of distances between groups and codes would take seconds and gigabytes, and makes a search no faster.
    index = _read(file, faiss.IO_FLAG_MMAP | faiss.IO_FLAG_SKIP_PRECOMPUTE_TABLE)
    lists: Any = faiss.downcast_InvertedLists(index.invlists)
    lists.prefetch_nthread = 0  # starting threads takes longer than reading
    return index


def _open_graph(file: Path) -> Any:
    import faiss

    return _read(file, faiss.IO_FLAG_MMAP_IFC)


def _read(file: Path, flags: int) -> Any:
    import faiss

    try:
        return faiss.read_index(str(file), flags)
    except RuntimeError as fault:
        raise SystemsError(f"{file}: faiss cannot read it ({_reason(fault)})") from fault


def _write(index: Any, file: Path) -> None:
    import faiss

    try:
        faiss.write_index(index, str(file))
    except RuntimeError as fault:
        raise SystemsError(f"{file}: cannot be stored ({_reason(fault)})") from fault


def _reason(fault: RuntimeError) -> str:
    """Return what faiss says, without the place in its source."""
    return str(fault).rpartition("failed: ")[2][:200]
