"""Indexes by faiss: short codes of vectors, by which the likely neighbours of a query are found quickly.

An index of captions (`by_cosine`) is one file. An index of clips has shards with IVF-PQ codes: clips are in groups by
k-means, and have a byte for every two numbers or more. What it learns is learned once for all shards, so that together
they find what one index would find. Indexes only propose: exact distances are then computed from the vectors on disk.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from ..data import Floats, Ints, Rows
from ..errors import SystemsError

MOST_BYTES = 64  # of a clip's code
LEAST_SAMPLE = 256  # clips, one for each value of a byte
HELD_OUT, LEAST_HELD_OUT = 64, 16  # clips of a sample that are not learned from: by them an index measures its recall
EACH_COSINE_GROUP_LEARNS_FROM = 64
EACH_GROUP_LEARNS_FROM, ROUNDS = 40, 10  # clips, and rounds of k-means; faiss warns below 39 clips
MOST_GROUPS = 4096  # more of them would take minutes to learn, and save a millisecond
FEWEST_LOOKED_AT = 32  # groups
MOST_LOOKED_AT = 4  # one group in so many, at most: looking at all clips is then little slower
CLIPS_OF_A_SHARD = 1 << 32  # at most, so that a clip's number and its shard's are one number


def is_installed() -> bool:
    return find_spec("faiss") is not None


def wanted_sample(clips: int) -> int:
    """Return from how many of its clips an index should learn."""
    return min(clips, max(_groups(clips), LEAST_SAMPLE) * EACH_GROUP_LEARNS_FROM + HELD_OUT)


def learn(sample: Rows, clips: int, file: Path) -> Rows:
    """Learn what codes need, store it as an empty index, and return the held-out clips of the sample, or raise."""
    _demand()
    if len(sample) < LEAST_SAMPLE + LEAST_HELD_OUT:
        raise SystemsError(
            f"an index of kind ivf-pq learns from at least {LEAST_SAMPLE + LEAST_HELD_OUT} clips, and there are "
            f"{len(sample)}; take the kind flat"
        )
    if not np.isfinite(sample).all():
        raise SystemsError("the vectors to learn from have values that are not finite numbers")
    drawn = np.random.default_rng(len(sample)).permutation(len(sample))
    held, learned = np.split(drawn, [min(HELD_OUT, len(sample) - LEAST_SAMPLE)])
    index = _ivf_pq(sample[learned], clips)
    index.train(_padded(sample[learned], index.d))
    write(index, file)
    return sample[held]


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


def _padded(rows: Rows, dimensions: int) -> Rows:
    """Return rows with zeros behind them, because a whole number of them must share a byte."""
    missing = dimensions - rows.shape[1]
    return np.pad(rows, ((0, 0), (0, missing))) if missing else np.ascontiguousarray(rows)


def add(index: Any, shard: int, rows: Rows) -> None:
    """Add the next clips of a shard to what `empty_index` returned, by numbers from which the shard is known."""
    first = shard * CLIPS_OF_A_SHARD + index.ntotal
    index.add_with_ids(_padded(rows, index.d), np.arange(first, first + len(rows)))


class Groups:
    """IVF-PQ codes of all shards, mapped into memory: a group holds the clips that all shards have in it.

    learned: what `learn` stored.
    files: the file of each shard's codes; None for a shard without clips.
    firsts: the number that each shard's first clip has among all clips.
    Raises SystemsError if faiss is not installed, or a file is damaged.
    """

    def __init__(self, learned: Path, files: Iterable[Path | None], firsts: Ints) -> None:
        _demand()
        import faiss

        self._index, self._firsts = empty_index(learned), firsts
        self._shards = [mapped(file) for file in files if file]
        lists: Any = faiss.InvertedListsPtrVector()  # type: ignore[attr-defined]
        for shard in self._shards:
            own: Any = faiss.downcast_InvertedLists(shard.invlists)
            own.prefetch_nthread = 0  # starting threads takes longer than reading
            lists.push_back(own)
        if self._shards:
            self._lists = faiss.HStackInvertedLists(lists.size(), lists.data())
            self._index.replace_invlists(self._lists, False)
            self._index.ntotal = sum(shard.ntotal for shard in self._shards)

    @property
    def levels(self) -> list[int]:
        """How many groups a search may look at, from the fewest to the most, each time a sixth more."""
        most, level = max(FEWEST_LOOKED_AT, self._index.nlist // MOST_LOOKED_AT), FEWEST_LOOKED_AT
        levels = []
        while level < min(most, self._index.nlist):
            levels.append(level)
            level += level // 6
        return [*levels, min(most, self._index.nlist)]

    def away(self, queries: Rows) -> Floats:
        """Return the squared distance of each query from the nearest group's centre: shape (queries,)."""
        distances: Rows = self._index.quantizer.search(_padded(queries, self._index.d), 1)[0]
        return distances[:, 0].astype(np.float64)

    def propose(self, queries: Rows, depth: int, groups: int) -> Ints:
        """Return the numbers of clips that are likely to be near each query, the most likely first: shape (queries,
        depth). Where fewer are found, there is -1 instead of a number.

        groups: how many of them are looked at.
        """
        self._index.nprobe = groups
        found: Ints = self._index.search(_padded(queries, self._index.d), depth)[1]
        shard, clip = np.divmod(found, CLIPS_OF_A_SHARD)
        return np.where(found < 0, -1, self._firsts[shard - 1] + clip)


def by_cosine(vectors: Rows) -> Any:
    """Return an index of n vectors of length 1, such as those of captions, in groups and with 8 bits a number."""
    import faiss

    n, dimensions = vectors.shape
    groups = max(1, min(int(4 * math.sqrt(n)), n // 39))  # faiss asks for 39 vectors a group at least
    index: Any = faiss.index_factory(dimensions, f"IVF{groups},SQ8", faiss.METRIC_INNER_PRODUCT)
    chosen = np.random.default_rng(1).permutation(n)[: groups * EACH_COSINE_GROUP_LEARNS_FROM]
    index.train(vectors[np.sort(chosen)])
    index.add(np.ascontiguousarray(vectors))
    return index


def candidates(index: Any, query: Rows, count: int) -> Ints:
    """Return the numbers of vectors likely to be near a query, ascending, by one thread as others serve requests."""
    import faiss

    threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        found: Ints = index.search(query[None], count)[1][0]
    finally:
        faiss.omp_set_num_threads(threads)
    return np.sort(found[found >= 0])


def _demand() -> None:
    if not is_installed():
        raise SystemsError("an index of kind ivf-pq needs the package faiss-cpu; install it, or take the kind flat")


def empty_index(file: Path) -> Any:
    """Return the empty index that `learn` stored, without a table of distances, which would take gigabytes."""
    import faiss

    return _read(file, faiss.IO_FLAG_SKIP_PRECOMPUTE_TABLE)


def mapped(file: Path) -> Any:
    """Open an index of faiss, mapped from disk into memory. Raises SystemsError if it is missing or damaged."""
    import faiss

    return _read(file, faiss.IO_FLAG_MMAP)


def _read(file: Path, flags: int) -> Any:
    import faiss

    try:
        return faiss.read_index(str(file), flags)
    except RuntimeError as fault:
        raise SystemsError(f"{file}: faiss cannot read it ({_reason(fault)})") from fault


def write(index: Any, file: Path) -> None:
    """Store an index of faiss, or raise SystemsError."""
    import faiss

    try:
        faiss.write_index(index, str(file))
    except RuntimeError as fault:
        raise SystemsError(f"{file}: cannot be stored ({_reason(fault)})") from fault


def _reason(fault: RuntimeError) -> str:
    """Return what faiss says, without the place in its source."""
    return str(fault).rpartition("failed: ")[2][:200]
