"""The index of a two-stream system: one row for each clip, in a file that is read by memory map."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from ..data import Floats, Ints, Rows, Videos
from ..errors import SystemsError
from ..storage import read_arrays, write, write_arrays
from ..windows import counts_in

INDEX, ROWS = "index.npz", "rows"


@dataclass(frozen=True, eq=False)
class Index:
    """Videos, and what a system computed of their clips.

    duration: in seconds: shape (videos,).
    counts: clips that are read of each video: shape (videos,).
    rows: of all clips that are read, video by video: shape (clips, width).
    """

    names: tuple[str, ...]
    duration: Floats
    counts: Ints
    clip_seconds: float
    rows: Rows

    @property
    def offsets(self) -> Ints:
        """Where the rows of each video begin: shape (videos + 1,)."""
        return np.concatenate([[0], np.cumsum(self.counts)]).astype(np.int64)

    def of(self, numbers: Ints, skipped: int = 0) -> tuple[Rows, Any]:
        """Return the rows of some videos, padded and without their first columns, and which clips are there. Their
        shapes are (videos, clips, width - skipped) and (videos, clips). Every video must have a clip.
        """
        lengths = self.counts[numbers]
        places = np.arange(int(lengths.max(initial=1)))
        are_there = places < lengths[:, None]
        rows = np.where(are_there, self.offsets[numbers][:, None] + places, self.offsets[numbers][:, None])
        return np.asarray(self.rows[:, skipped:][rows], np.float32), are_there


def in_memory(videos: Videos, blocks: Iterable[Rows]) -> Index:
    """Return an index that is not stored, such as of a validation set."""
    rows = np.concatenate(list(blocks))
    return Index(videos.names, videos.duration, counts_in(videos), videos.clip_seconds, rows)


def store(folder: Path, videos: Videos, blocks: Iterable[Rows], width: int) -> None:
    """Store an index; the one that was there is replaced only when the new one is whole.

    blocks: the rows, some at a time, in their order.
    """
    counts = counts_in(videos)
    name = f"{ROWS}-{os.urandom(6).hex()}.npy"  # a new one, because somebody may be reading the old one
    write(folder / name, lambda out: _fill(out, blocks, (int(counts.sum()), width)))
    content = {
        "names": np.array(videos.names, np.str_),
        "duration": videos.duration,
        "counts": counts,
        "clip_seconds": np.array(videos.clip_seconds),
        "rows": np.array(name, np.str_),
    }
    try:
        write_arrays(folder / INDEX, content)
    except SystemsError:
        (folder / name).unlink()
        raise
    for other in folder.glob(f"{ROWS}-*.npy"):
        if other.name != name:
            other.unlink()


def _fill(out: BinaryIO, blocks: Iterable[Rows], shape: tuple[int, int]) -> None:
    header = {"descr": np.lib.format.dtype_to_descr(np.dtype(np.float32)), "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_2_0(out, header)
    for block in blocks:
        out.write(np.ascontiguousarray(block, np.float32).tobytes())


def stored(folder: Path) -> Index:
    """Return the index that was stored. Raises SystemsError if there is none, or it cannot be read."""
    if not (folder / INDEX).exists():
        raise SystemsError(f"{folder}: there is no index; index a collection first")
    content = read_arrays(folder / INDEX)
    file = folder / str(content["rows"])
    try:
        rows = np.load(file, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError) as fault:
        raise SystemsError(f"{file}: cannot be read ({fault}); index the collection again") from fault
    names, clips = tuple(content["names"].tolist()), int(content["counts"].sum())
    if len(rows) != clips:
        raise SystemsError(f"{file}: has {len(rows):,} rows; expected {clips:,}; index the collection again")
    return Index(names, content["duration"], content["counts"], float(content["clip_seconds"]), rows)


def video_blocks(counts: Ints, clips: int) -> Iterator[Ints]:
    """Yield the numbers of videos in their order, some at a time, with about so many clips together."""
    ends = np.cumsum(counts)
    start = 0
    while start < len(counts):
        before = ends[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, before + clips, side="right")))
        yield np.arange(start, stop)
        start = stop
