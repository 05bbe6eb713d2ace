"""The index of a two-stream system: one row for each clip, in a file that is read by memory map."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from ..data import Floats, Ints, Rows, Videos, let_go
from ..errors import SystemsError
from ..storage import Spool, read_arrays, write, write_arrays
from .inputs import Reading

INDEX, ROWS = "index.npz", "rows"


@dataclass(frozen=True, eq=False)
class Index:
    """Videos, and what a system computed of their clips.

    duration: in seconds: shape (videos,).
    counts: clips that are read of each video: shape (videos,).
    seconds: how long each of them lasts: shape (videos,).
    rows: of all clips that are read, and of the padding behind them if that counts, video by video: shape (rows,
    width).
    room: rows of each video: shape (videos,).
    """

    names: tuple[str, ...]
    duration: Floats
    counts: Ints
    seconds: Floats
    rows: Rows
    room: Ints

    @property
    def offsets(self) -> Ints:
        """Where the rows of each video begin: shape (videos + 1,)."""
        return np.concatenate([[0], np.cumsum(self.room)]).astype(np.int64)

    def of(self, numbers: Ints, skipped: int = 0) -> tuple[Rows, Any]:
        """Return the rows of some videos, padded and without their first columns, and which clips are there. Their
        shapes are (videos, clips, width - skipped) and (videos, clips). Every video must have a clip.
        """
        lengths, begins = self.room[numbers][:, None], self.offsets[numbers][:, None]
        places = np.arange(int(lengths.max(initial=1)))
        rows = np.where(places < lengths, begins + places, begins)
        found = np.array(self.rows[:, skipped:][rows], np.float32)
        let_go(self.rows)
        return found, places < self.counts[numbers][:, None]


def temporary(videos: Videos, reading: Reading, blocks: Iterable[Rows]) -> Index:
    """Return an index of which nothing stays, such as of a validation set; its rows are in a temporary file."""
    width = 1
    with Spool() as spool:
        for block in blocks:
            spool.add(block)
            width = block.shape[1]
        rows = spool.rows(width, np.dtype(np.float32))
    return Index(videos.names, rows=rows, **_columns(videos, reading))


def _columns(videos: Videos, reading: Reading) -> dict[str, Any]:
    counts = reading.counts(videos)
    columns = {"duration": videos.duration, "counts": counts, "seconds": reading.seconds(videos)}
    return columns | {"room": room_for(reading, counts)}


def room_for(reading: Reading, counts: Ints) -> Ints:
    """Return how many rows of an index each video has, by the number of its clips."""
    return np.where(counts > 0, reading.places, 0) if reading.is_padded else counts


def store(folder: Path, videos: Videos, reading: Reading, blocks: Iterable[Rows], width: int) -> None:
    """Store an index; the one that was there is replaced only when the new one is whole.

    blocks: the rows, some at a time, in their order.
    """
    columns = _columns(videos, reading)
    name = f"{ROWS}-{os.urandom(6).hex()}.npy"  # a new one, because somebody may be reading the old one
    write(folder / name, lambda out: _fill(out, blocks, (int(columns["room"].sum()), width)))
    texts = {"names": np.array(videos.names, np.str_), "rows": np.array(name, np.str_)}
    try:
        write_arrays(folder / INDEX, columns | texts)
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
    columns = read_arrays(folder / INDEX)
    names, file = tuple(columns.pop("names").tolist()), folder / str(columns.pop("rows"))
    try:
        rows = np.load(file, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError) as fault:
        raise SystemsError(f"{file}: cannot be read ({fault}); index the collection again") from fault
    if len(rows) != (expected := int(columns["room"].sum())):
        raise SystemsError(f"{file}: has {len(rows):,} rows; expected {expected:,}; index the collection again")
    return Index(names, rows=rows, **columns)
