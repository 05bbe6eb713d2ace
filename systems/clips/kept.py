"""The features of an indexed collection, kept on disk for the second stage, which reads those of a few videos."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data import Ints, Objects, Videos
from ..errors import SystemsError
from ..storage import read_arrays, write, write_arrays
from .index import ClipIndex, ranges

NAMES, COLUMNS = "names.npz", ("clip", "name", "box")


def some(videos: Videos, numbers: Ints) -> Videos:
    """Return some videos of a collection, in this order, without their objects."""
    clips, begins = ranges(videos.offsets[numbers], videos.offsets[numbers + 1])
    return Videos(
        names=tuple(videos.names[number] for number in numbers.tolist()),
        duration=videos.duration[numbers],
        offsets=begins,
        clips=videos.clips[clips],
        clip_seconds=videos.clip_seconds,
    )


def in_parts(videos: Videos, first: int, stop: int, size: int = 1000) -> Iterator[Videos]:
    """Yield the videos first to stop - 1, some at a time, without their objects."""
    for start in range(first, stop, size):
        yield some(videos, np.arange(start, min(start + size, stop)))


def keep_objects(folder: Path, objects: Objects | None) -> None:
    """Store the objects of a collection as arrays that can be mapped; none, if it has none."""
    (folder / NAMES).unlink(missing_ok=True)
    if objects is None:
        return
    for column in COLUMNS:
        _write(folder / f"{column}.npy", getattr(objects, column))
    vectors = {} if objects.vectors is None else {"vectors": objects.vectors}
    write_arrays(folder / NAMES, {"names": np.array(objects.names, np.str_)} | vectors)


def _write(file: Path, array: NDArray[Any]) -> None:
    write(file, lambda out: np.save(out, array))


class Kept:
    """The features of an indexed collection, mapped into memory.

    Parameters
    ----------
    folder
        An index of the clips' features (kind `flat`).
    objects
        Where `keep_objects` stored the objects.
    """

    def __init__(self, folder: Path, objects: Path) -> None:
        self._index = ClipIndex(folder)
        self._names: dict[str, NDArray[Any]] = {}
        if (objects / NAMES).exists():
            self._names = read_arrays(objects / NAMES)
            self._columns = {column: _mapped(objects / f"{column}.npy") for column in COLUMNS}

    def some(self, numbers: Ints) -> Videos:
        """Return some videos of the collection, in ascending order of their numbers."""
        clips, begins = self._index.clips_of(numbers)
        return Videos(
            names=tuple(self._index.names(numbers)),
            duration=self._index.durations(numbers),
            offsets=begins,
            clips=self._index.rows(clips),
            clip_seconds=self._index.plan.clip_seconds,
            objects=self._objects(clips) if self._names else None,
        )

    def _objects(self, clips: Ints) -> Objects:
        """Return the objects of clips, which have their places among these as numbers."""
        of_clip = self._columns["clip"]
        first, stop = np.searchsorted(of_clip, clips), np.searchsorted(of_clip, clips, side="right")
        rows, _ = ranges(first, stop)
        return Objects(
            clip=np.repeat(np.arange(len(clips)), stop - first),
            name=self._columns["name"][rows],
            box=self._columns["box"][rows],
            names=tuple(self._names["names"].tolist()),
            vectors=self._names.get("vectors"),
        )


def _mapped(file: Path) -> NDArray[Any]:
    try:
        return np.asarray(np.load(file, mmap_mode="r"))
    except (OSError, ValueError, EOFError) as fault:
        raise SystemsError(f"{file}: cannot be read ({fault}); index the collection again") from fault
