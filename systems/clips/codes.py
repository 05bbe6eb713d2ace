"""Codes of clips by faiss: short forms of the vectors, by which the likely neighbours of a query are found quickly.

IVF-PQ puts clips into groups by k-means, and keeps a byte for every two numbers or more. What it learns is learned once
for all shards, so that together they find what one index would find. HNSW keeps a byte a number, and a graph of each
shard. Both only propose clips, whose distances are then computed from the vectors on disk.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from ..data import Ints, Rows
from ..errors import SystemsError

MOST_BYTES = 64  # of a clip's code
LEAST_SAMPLE = 256  # clips, one for each value of a byte
EACH_GROUP_LEARNS_FROM, ROUNDS = 40, 10  # clips, and rounds of k-means; faiss warns below 39 clips
MOST_GROUPS = 4096  # more of them would take minutes to learn, and save a millisecond
GROUPS_LOOKED_AT = 32
CLIPS_OF_A_SHARD = 1 << 32  # at most, so that a clip's number and its shard's are one number
NEIGHBOURS, BUILT_WITH = 32, 80  # of a clip in a graph, and clips that are looked at to choose them


def is_installed() -> bool:
    return find_spec("faiss") is not None


def wanted_sample(clips: int) -> int:
    """Return from how many of its clips an index should learn."""
    return min(clips, max(_groups(clips) * EACH_GROUP_LEARNS_FROM, EACH_GROUP_LEARNS_FROM * LEAST_SAMPLE))


def learn(kind: str, sample: Rows, clips: int, file: Path) -> None:
    """Learn what the codes of an index need, and store it as an empty index. Raises SystemsError if faiss is not
    installed, the sample is too small or not finite, or the file cannot be stored.
    """
    _demand(kind)
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
    return max(1, min(int(2 * math.sqrt(clips)), MOST_GROUPS))


def _ivf_pq(sample: Rows, clips: int) -> Any:
    import faiss

    numbers = max(2, math.ceil(sample.shape[1] / MOST_BYTES))  # that share a byte
    size = math.ceil(sample.shape[1] / numbers)
    groups = max(1, min(_groups(clips), len(sample) // EACH_GROUP_LEARNS_FROM))
    index: Any = faiss.index_factory(size * numbers, f"IVF{groups},PQ{size}np")
    # Else a search would need a table of distances for each group that it looks into.
    index.by_residual = False
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
    """The codes of a shard while they are made.

    shard: its number, from 1 on. Clips of groups are called by it and by their number in the shard.
    """

    def __init__(self, learned: Path, shard: int) -> None:
        import faiss

        self._index = _read(learned, faiss.IO_FLAG_SKIP_PRECOMPUTE_TABLE)
        self._names = isinstance(self._index, faiss.IndexIVF)
        self._first = shard * CLIPS_OF_A_SHARD

    def add(self, rows: Rows) -> None:
        """Add the next clips."""
        padded = _padded(rows, self._index.d)
        if not self._names:
            return self._index.add(padded)
        first = self._first + self._index.ntotal
        self._index.add_with_ids(padded, np.arange(first, first + len(rows)))
        return None

    def write(self, file: Path) -> None:
        """Store the codes, or raise SystemsError."""
        _write(self._index, file)


class Groups:
    """IVF-PQ codes of all shards, mapped into memory: a group holds the clips that all shards have in it.

    learned: what `learn` stored.
    files: the file of each shard's codes; None for a shard without clips.
    firsts: the number that each shard's first clip has among all clips.
    Raises SystemsError if faiss is not installed, or a file is damaged.
    """

    def __init__(self, learned: Path, files: Sequence[Path | None], firsts: Ints) -> None:
        _demand("ivf-pq")
        import faiss

        # A table of distances between groups and codes would take gigabytes, and is of no use here.
        self._index = _read(learned, faiss.IO_FLAG_SKIP_PRECOMPUTE_TABLE)
        self._firsts = firsts
        self._shards = [_read(file, faiss.IO_FLAG_MMAP) for file in files if file]
        lists: Any = faiss.InvertedListsPtrVector()  # type: ignore[attr-defined]
        for shard in self._shards:
            mapped: Any = faiss.downcast_InvertedLists(shard.invlists)
            mapped.prefetch_nthread = 0  # starting threads takes longer than reading
            lists.push_back(mapped)
        if self._shards:
            self._lists = faiss.HStackInvertedLists(lists.size(), lists.data())
            self._index.replace_invlists(self._lists, False)
            self._index.ntotal = sum(shard.ntotal for shard in self._shards)
        self._index.nprobe = min(GROUPS_LOOKED_AT, self._index.nlist)

    def propose(self, queries: Rows, depth: int) -> Ints:
        """Return the numbers of clips that are likely to be near each query: shape (queries, depth). Where fewer are
        found, there is -1 instead of a number.
        """
        found: Ints = self._index.search(_padded(queries, self._index.d), depth)[1]
        shard, clip = np.divmod(found, CLIPS_OF_A_SHARD)
        return np.where(found < 0, -1, self._firsts[shard - 1] + clip)


class Graphs:
    """HNSW codes: a graph of each shard, mapped into memory. Parameters and errors are as for `Groups`."""

    def __init__(self, files: Sequence[Path | None], firsts: Ints) -> None:
        _demand("hnsw")
        import faiss

        pairs = zip(files, firsts.tolist(), strict=False)
        self._shards = [(_read(file, faiss.IO_FLAG_MMAP_IFC), first) for file, first in pairs if file]

    def propose(self, queries: Rows, depth: int) -> Ints:
        """Return the numbers of clips that are likely to be near each query; see `Groups.propose`."""
        distances = [np.empty((len(queries), 0), np.float32)]
        numbers = [np.empty((len(queries), 0), np.int64)]
        for index, first in self._shards:
            index.hnsw.efSearch = depth
            away, found = index.search(queries, depth)
            distances.append(away)
            numbers.append(np.where(found >= 0, found + first, -1))
        nearest = np.argsort(np.concatenate(distances, axis=1), axis=1)[:, :depth]
        return np.take_along_axis(np.concatenate(numbers, axis=1), nearest, 1)


def _demand(kind: str) -> None:
    if not is_installed():
        raise SystemsError(f"an index of kind {kind} needs the package faiss-cpu; install it, or take the kind flat")


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
