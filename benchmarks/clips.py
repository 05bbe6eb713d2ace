"""The index of 2,000,000 clips of 100 numbers: the nearest 200 beside faiss flat and one NumPy product.

`CLIPS_VIDEOS` says how many videos of 20 clips there are, and `CLIPS_KINDS` of which kinds; of 400,000 clips each kind
is measured.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from benchmarks.measuring import in_turn, need
from systems.clips.building import plan_index, write_shard
from systems.clips.codes import wanted_sample
from systems.clips.index import CODES, ROWS, ClipIndex, shard_folder
from systems.data import Ints, Rows, Videos

CLIPS, SECONDS, DIMENSIONS = 20, 3.0, 100  # of a video, as in STAL's Section 4.3
VIDEOS_AT_A_TIME = 5_000
VIDEOS_OF_A_SCENE, SCENES_OF_A_TOPIC = 11, 100
CENTRES, STEEPNESS = 3_000, 0.75  # the n-th number of a spectrum has a deviation of n to the power of -STEEPNESS
VIDEOS = int(os.environ.get("CLIPS_VIDEOS", 100_000))
KINDS = os.environ.get("CLIPS_KINDS", "clustered uniform").split()
FEWER, EVERY_KIND = 20_000, ("clustered", "spectrum", "gap", "uniform")
SHARDS, K, QUERIES, BESIDE = 4, 200, 100, 15
Step = Callable[[Rows], object]


@dataclass(frozen=True)
class Drawn:
    """A collection of so many videos.

    Attributes
    ----------
    kind
        ``clustered``: clips lie around videos (standard deviation 0.6), these around scenes (0.4), these around topics
        (0.4), whose numbers are standard normal. ``uniform``: all numbers are uniform in [0, 1), as in the paper.
        ``spectrum``: clips lie around 3,000 centres (half a standard deviation), and the numbers of both get smaller.
        ``gap``: clips lie around 3,000 centres (0.6); queries are moved by one vector of standard normal numbers, and
        each by noise (0.5).
    """

    videos: int
    kind: str = "clustered"

    def blocks(self, first: int = 0, stop: int | None = None) -> Iterator[Videos]:
        """Yield the videos first to stop - 1, some at a time; both are multiples of VIDEOS_AT_A_TIME."""
        for start in range(first, self.videos if stop is None else stop, VIDEOS_AT_A_TIME):
            yield Videos(
                names=tuple(f"video{number:07}" for number in range(start, start + VIDEOS_AT_A_TIME)),
                duration=np.full(VIDEOS_AT_A_TIME, CLIPS * SECONDS),
                offsets=np.arange(VIDEOS_AT_A_TIME + 1) * CLIPS,
                clips=self._clips(VIDEOS_AT_A_TIME, CLIPS, 1 + start),
                clip_seconds=SECONDS,
            )

    def sample(self, count: int) -> Rows:
        """Return clips to learn from, each of another video of the same scenes."""
        return self._clips(count, 1, -1)

    def queries(self, count: int) -> Rows:
        """Return queries, which lie where clips do, but for those with a gap to them."""
        return self._queries(count, -2)

    def others(self, count: int) -> Rows:
        """Return other queries of the same kind."""
        return self._queries(count, -3)

    def _queries(self, count: int, seed: int) -> Rows:
        found = self._clips(count, 1, seed)
        if self.kind == "gap":
            draw = np.random.default_rng([4, seed % 2**32])
            found += _normal(np.random.default_rng(4), 1, 1) + _normal(draw, count, 0.5)
        return found

    def _clips(self, videos: int, each: int, seed: int) -> Rows:
        draw = np.random.default_rng([3, seed % 2**32])
        if self.kind == "uniform":
            return draw.random((videos * each, DIMENSIONS), np.float32)
        if self.kind != "clustered":
            sizes = np.arange(1, DIMENSIONS + 1, dtype=np.float32) ** -STEEPNESS if self.kind == "spectrum" else 1
            centres = _normal(np.random.default_rng(2), CENTRES, 1)
            around = _normal(draw, videos * each, 0.5 if self.kind == "spectrum" else 0.6)
            return np.asarray((centres[draw.integers(CENTRES, size=videos * each)] + around) * sizes, np.float32)
        scenes = self._scenes()
        here = scenes[draw.integers(len(scenes), size=videos)] + _normal(draw, videos, 0.4)
        clips = np.repeat(here, each, axis=0)
        clips += _normal(draw, len(clips), 0.6)
        return clips

    def _scenes(self) -> Rows:
        draw = np.random.default_rng(2)
        count = self.videos // VIDEOS_OF_A_SCENE
        topics = _normal(draw, max(1, count // SCENES_OF_A_TOPIC), 1)
        return topics[draw.integers(len(topics), size=count)] + _normal(draw, count, 0.4)


def _normal(draw: np.random.Generator, rows: int, deviation: float) -> Rows:
    return np.float32(deviation) * draw.standard_normal((rows, DIMENSIONS), np.float32)


def figures() -> Iterator[str]:
    need(find_spec("faiss") is not None, "faiss-cpu")
    for kind in EVERY_KIND:
        with tempfile.TemporaryDirectory() as place:
            yield from _of_a_kind(Drawn(FEWER, kind), Path(place))
    for kind in KINDS:
        with tempfile.TemporaryDirectory() as place:
            yield from _measured(Drawn(VIDEOS, kind), Path(place))


def _of_a_kind(drawn: Drawn, folder: Path) -> Iterator[str]:
    """Measure recall and speed of an index of one kind of clips; with a gap, also where it knew some queries."""
    for known in (None, drawn.others(QUERIES)) if drawn.kind == "gap" else (None,):
        what = f"{drawn.videos * CLIPS:,} clips, {drawn.kind}{'' if known is None else ', queries known'}"
        began = time.perf_counter()
        build(drawn, folder, 2, known)
        index, queries = ClipIndex(folder), drawn.queries(QUERIES)
        rows = np.concatenate([rows_of(folder, number) for number in (1, 2)])
        yield f"{what}: indexed and measured in {time.perf_counter() - began:.0f} s. {index.finds}"
        yield f"{what}: groups looked at: {', '.join(str(setting.groups) for setting in index.settings)}"
        yield f"{what}: recall of the nearest {K}: {recall(index, queries, exact(rows, queries)):.3f}"
        yield from _beside(what, index, rows, queries)


def _measured(drawn: Drawn, folder: Path) -> Iterator[str]:
    what = drawn.kind
    began = time.perf_counter()
    build(drawn, folder, SHARDS)
    yield f"{what}: {drawn.videos * CLIPS:,} clips indexed in {time.perf_counter() - began:.0f} s, {sizes(folder)}"
    queries = drawn.queries(QUERIES)
    began = time.perf_counter()
    index = ClipIndex(folder)
    loaded = time.perf_counter() - began
    index.search(queries[:1], K)
    yield f"{what}: loaded in {loaded:.3f} s, and searched {time.perf_counter() - began:.3f} s after the start"
    rows = np.concatenate([rows_of(folder, number) for number in range(1, SHARDS + 1)])
    yield f"{what}: {index.finds} Groups looked at: {', '.join(str(setting.groups) for setting in index.settings)}"
    yield f"{what}: recall of the nearest {K}: {recall(index, queries, exact(rows, queries)):.3f}"
    yield from _beside(what, index, rows, queries)


def build(drawn: Drawn, folder: Path, shards: int, queries: Rows | None = None) -> None:
    """Write an index; what is drawn does not count for much, beside learning and adding."""
    clips, each = drawn.videos * CLIPS, drawn.videos // shards
    if each % VIDEOS_AT_A_TIME:
        raise SystemExit(f"CLIPS_VIDEOS: a multiple of {shards * VIDEOS_AT_A_TIME:,} is expected")
    plan_index(folder, "ivf-pq", SECONDS, drawn.sample(wanted_sample(clips)), clips, shards, queries=queries)
    for number in range(1, shards + 1):
        write_shard(folder, number, drawn.blocks(each * (number - 1), each * number))


def sizes(folder: Path) -> str:
    """Tell the sizes of an index's vectors and codes."""
    vectors = sum(file.stat().st_size for file in folder.glob(f"*/{ROWS}"))
    codes = sum(file.stat().st_size for file in folder.glob(f"*/{CODES}"))
    return f"{vectors / 2**30:.2f} GiB of rows and {codes / 1e9:.3f} GB of codes"


def rows_of(folder: Path, number: int) -> Rows:
    """Return the vectors of a shard, mapped."""
    rows: Rows = np.memmap(shard_folder(folder, number) / ROWS, "<f4", "r").reshape(-1, DIMENSIONS)
    return rows


def exact(rows: Rows, queries: Rows) -> Ints:
    """Return the nearest K rows of each query, by faiss flat."""
    import faiss

    nearest: Ints = faiss.knn(queries, rows, K)[1]
    return nearest


def recall(index: ClipIndex, queries: Rows, wanted: Ints) -> float:
    """Return the mean share of the nearest clips that the index finds."""
    found = index.search(queries, K)
    numbers = [each.video * CLIPS + each.clip for each in found]
    return float(np.mean([len(np.intersect1d(*pair)) / K for pair in zip(numbers, wanted, strict=True)]))


def _beside(what: str, index: ClipIndex, rows: Rows, queries: Rows) -> Iterator[str]:
    """Measure one query at a time, in turn by faiss flat, by a product of all rows, and by the index."""
    import faiss

    flat = faiss.IndexFlatL2(DIMENSIONS)
    flat.add(rows)
    steps: dict[str, Step] = {
        "faiss flat": lambda query: flat.search(query, K),
        "one NumPy product": lambda query: query @ rows.T,
        "the index": lambda query: index.search(query, K),
    }
    some = [queries[turn : turn + 1] for turn in range(BESIDE + 1)]
    seconds = zip(steps, in_turn([*steps.values()], some, warming=1), strict=True)
    times = {name: 1000 * statistics.median(each) for name, each in seconds}
    ours = times.pop("the index")
    for name, other in times.items():
        yield f"{what}: {name} {other:.1f} ms, the index {ours:.2f} ms: {other / ours:.1f} ×"
