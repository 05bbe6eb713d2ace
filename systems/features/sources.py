"""The three shapes of a feature file, each read as one array a video: HDF5, .npz, or a folder of .npy files.

They are read in a confined process, whose parent is `reader`. Nothing is read before its shape and its type are
looked at. The module stands on NumPy alone.
"""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import IO, Any, NamedTuple
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile
from zlib import error as ZlibError  # noqa: N812 - it is a class

import numpy as np
from numpy.typing import NDArray

from ..errors import FULL, SystemsError, Unavailable

CHUNK = 2**20  # bytes
HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}  # of .npy, by version; later ones are for fields with names
HDF5 = (".h5", ".hdf5", ".hdf")
WIDEST = 2**15  # features of a clip
SLACK = 1  # clips by which features may differ from a video's duration: extractors drop or fill the last one
MOST = 1e9  # of a feature; squares of larger ones, and what is learned from them, are no numbers any more
MOST_NAMED = 5  # videos, in a message
FAULTS = (SystemsError,)
UNREADABLE = (OSError, ValueError, EOFError, KeyError, RuntimeError, MemoryError, BadZipFile, ZlibError)
LINKS = {1: "a soft link", 64: "an external link"}  # the numbers that HDF5 gives kinds of links; 0 is none
ROWS = "rows"  # the file that the process writes


class Found(NamedTuple):
    """An array that a file promises, and what reads its values."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    read: Callable[[], NDArray[Any]]


def find_npy(content: IO[bytes], size: int) -> Found:
    """Return the array that a .npy file of so many bytes promises, once its header and its size agree. Raises
    SystemsError if they do not. Raises ValueError or EOFError if it is no such file.
    """
    version = np.lib.format.read_magic(content)
    if version not in HEADERS:
        raise SystemsError(f"a .npy file of version {version}; expected 1.0 or 2.0")
    shape, is_fortran, dtype = HEADERS[version](content)
    if dtype.hasobject:
        raise SystemsError("pickled objects; expected numbers")
    held, promised = size - content.tell(), math.prod(shape) * dtype.itemsize
    if held != promised:
        raise SystemsError(
            f"its header promises {promised:,} bytes of {dtype} with shape {shape}; expected the {held:,} that it holds"
        )

    def read() -> NDArray[Any]:
        values = np.frombuffer(_filled(content, promised), dtype)
        return values.reshape(shape, order="F" if is_fortran else "C")

    return Found(shape, dtype, read)


def _filled(content: IO[bytes], size: int) -> bytearray:
    """Return so many bytes of a file, which an array may change; in memory they are once."""
    filled = bytearray(size)
    for start in range(0, size, CHUNK):
        stop = min(size, start + CHUNK)
        part = content.read(stop - start)
        if len(part) < stop - start:
            raise EOFError("it ends too early")
        filled[start:stop] = part
    return filled


def work(source: Path, order: dict[str, Any], writable: Path) -> Any:
    """Look whether all videos of an order are there, or write the rows of some of them, one after the other.

    order: `names`, all that must be there; or `videos`, each with its name, its number of clips and its duration in
    seconds, beside `clip_seconds` and the `width` of the videos before, if there were any.
    Returns None, or the width, the type, and how many rows each video has.
    """
    try:
        found = opened(source)
        if "names" in order:
            return _check_all_there(found, source, order["names"])
        arrays = [_array(found, source, order, each) for each in order["videos"]]
    except SystemsError:
        raise
    except UNREADABLE as fault:
        reason = str(fault) or "it needs too much memory"
        raise SystemsError(f"{source.name}: cannot be read ({reason})") from fault
    return _written(arrays, writable / ROWS)


class Source(ABC):
    """A feature file that is open: names of videos, and an array for each."""

    @abstractmethod
    def __contains__(self, name: str) -> bool: ...

    @abstractmethod
    def find(self, name: str) -> Found:
        """Return the array of a video that is there, before its values are read. Raises SystemsError saying why it is
        not read, such as a link that leads elsewhere.
        """


class _Hdf5(Source):
    """One data set a video, under its name, which may have groups in front."""

    def __init__(self, path: Path) -> None:
        import h5py

        self.file: Any = h5py.File(path, "r", locking="best-effort")
        self.group, self.data = h5py.Group, h5py.Dataset

    def __contains__(self, name: str) -> bool:
        try:
            return isinstance(self._walk(name), self.data)
        except KeyError:
            return False

    def find(self, name: str) -> Found:
        data = self._walk(name)
        if data.external or data.is_virtual:
            kind = "a virtual data set" if data.is_virtual else "a data set whose values are in another file"
            raise SystemsError(f"{kind}; expected a data set whose values are in this file")
        return Found(data.shape or (), data.dtype, lambda: data[()])

    def _walk(self, name: str) -> Any:
        """Return what has this name, without following links, which may lead to other files."""
        place: Any = self.file
        for part in filter(None, name.split("/")):
            if not isinstance(place, self.group) or not place.id.links.exists(part.encode()):
                raise KeyError(name)
            if kind := place.id.links.get_info(part.encode()).type:
                raise SystemsError(f"{LINKS.get(kind, 'a link')}; expected a data set that this file holds")
            place = place[part]
        return place


class _Npz(Source):
    def __init__(self, path: Path) -> None:
        self.file = ZipFile(path)
        self.names = set(self.file.namelist())

    def __contains__(self, name: str) -> bool:
        return f"{name}.npy" in self.names

    def find(self, name: str) -> Found:
        member = self.file.getinfo(f"{name}.npy")
        if member.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
            raise SystemsError("compressed in another way than NumPy compresses; expected np.savez")
        return find_npy(self.file.open(member), member.file_size)


class _Folder(Source):
    """One file NAME.npy a video."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __contains__(self, name: str) -> bool:
        file = os.path.normpath(self._file(name))
        return Path(file).is_relative_to(self.folder) and os.path.lexists(file)

    def find(self, name: str) -> Found:
        file = self._file(name)
        if not file.resolve().is_relative_to(self.folder):
            raise SystemsError("a link that leads out of the folder; expected the file itself")
        if not file.is_file():
            raise SystemsError("no regular file; expected an array that NumPy has stored")
        return find_npy(file.open("rb"), file.stat().st_size)

    def _file(self, name: str) -> Path:
        return self.folder / f"{name}.npy"


@cache  # as long as the process, which reads one file or folder
def opened(path: Path) -> Source:
    """Open a feature file; raises SystemsError if it is none."""
    kind = "folder" if path.is_dir() else path.suffix.lower()
    if kind == "folder":
        return _Folder(path)
    if kind in HDF5:
        return _Hdf5(path)
    if kind == ".npz":
        return _Npz(path)
    raise SystemsError(f"{path.name}: is {kind or 'without an ending'}; expected .h5, .npz, or a folder of .npy")


def _check_all_there(source: Source, path: Path, names: list[str]) -> None:
    missing = [name for name in names if not _is_there(source, name)]
    if missing:
        named = ", ".join(repr(name) for name in missing[:MOST_NAMED])
        more = f" and {len(missing) - MOST_NAMED:,} more" if len(missing) > MOST_NAMED else ""
        raise SystemsError(
            f"{path.name}: {len(missing):,} of {len(names):,} videos have no features: {named}{more}; "
            "expected one array for each video of the corpus"
        )


def _is_there(source: Source, name: str) -> bool:
    try:
        return name in source
    except SystemsError:
        return True  # but refused, which is told when it is read


def _array(source: Source, path: Path, order: dict[str, Any], video: list[Any]) -> NDArray[Any]:
    """Return a video's rows, cut to its clips, as float16 or float32."""
    name, clips, duration = video
    try:
        found = source.find(name)
        fault = _fault(found, order["width"]) or _misfit(found.shape[0], clips, duration, order)
        if fault:
            raise SystemsError(fault)
        with np.errstate(over="ignore"):
            array = found.read().astype(np.float16 if found.dtype.itemsize == 2 else np.float32)
        if len(wrong := np.flatnonzero(~np.isfinite(array).all(1))):
            raise SystemsError(f"clip {wrong[0]} holds a value that is not a number; expected finite numbers")
        if len(wrong := np.flatnonzero((np.abs(array) > MOST).any(1))):
            highest = float(np.abs(array[wrong[0]]).max())
            raise SystemsError(f"clip {wrong[0]} holds a value of {highest:.3g}; expected at most {MOST:g}")
    except SystemsError as refused:
        raise SystemsError(f"{path.name}: video {name!r}: {refused}") from None
    order["width"] = array.shape[1]
    return array[:clips]


def _fault(found: Found, width: int | None) -> str:
    """Return what is wrong with an array's shape and type by themselves, or beside those before it."""
    shape, type_ = found.shape, found.dtype
    if type_.kind != "f" or type_.itemsize > 8 or len(shape) != 2 or not shape[1]:
        return f"an array of {type_} with shape {shape}; expected floats of shape (clips, d)"
    if width is not None and shape[1] != width:
        return f"{shape[1]} features a clip; expected {width}, as in the videos before"
    if shape[1] > WIDEST:
        return f"{shape[1]:,} features a clip; expected at most {WIDEST:,}"
    return ""


def _misfit(clips: int, right: int, duration: float, order: dict[str, Any]) -> str:
    """Return what is wrong with a number of clips beside the video's duration."""
    if abs(clips - right) <= SLACK and clips:
        return ""
    long, seconds = "too long" if clips > right else "too short", order["clip_seconds"]
    return f"{clips} clips of {seconds:g} s: {long} for {duration:g} s; expected {right}, or another clip length"


def _written(arrays: list[NDArray[Any]], file: Path) -> dict[str, Any]:
    rows = np.concatenate(arrays)
    try:
        rows.tofile(file)
    except OSError as fault:
        kind = Unavailable if fault.errno in FULL else SystemsError
        raise kind(f"{file}: rows of features cannot be written ({fault})") from fault
    return {"width": rows.shape[1], "type": rows.dtype.str, "counts": [len(each) for each in arrays]}
