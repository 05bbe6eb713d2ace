"""The forms of feature files, each read as one array a video: HDF5, .npz, .pt, or a folder with a file a video.

The library reads them in its own process, and the server in a confined one, which calls `work`. No array is read before
its shape and its type are checked. The module needs NumPy alone; h5py and torch are loaded for files that need them.
"""

from __future__ import annotations

import math
import os
import struct
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from itertools import islice
from pathlib import Path
from pickle import UnpicklingError
from typing import IO, Any, NamedTuple
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, is_zipfile
from zlib import error as ZlibError  # noqa: N812 - it is a class

import numpy as np
from numpy.typing import NDArray

from ..errors import FULL, SystemsError, Unavailable

CHUNK = 2**20  # bytes
LONGEST_HEADER = 10_000  # bytes, as NumPy has it
HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}  # of .npy, by version; later ones are for fields with names
HDF5 = (".h5", ".hdf5", ".hdf")
TORCH = (".pt", ".pth")
OF_A_VIDEO = (".npy", ".npz", *TORCH)  # files of a folder, the first of which is read
EXPECTED = ".h5, .npz, .pt, or a folder of .npy, .npz or .pt files"
ROW_OF = {"video": "clip", "query": "token"}  # what a row of an array is
KEYS = ("features", "last_hidden_state")  # of several arrays under one name, the first of these is read
WIDEST = 2**15  # features of a clip
MOST = 1e9  # of a feature; squares of larger ones, and what is learned from them, are no numbers any more
LARGEST = 2**30  # bytes of an array
MOST_NAMED = 5  # entries, in a message
FAULTS = (SystemsError,)
UNREADABLE = (OSError, ValueError, EOFError, KeyError, RuntimeError, MemoryError, BadZipFile, ZlibError)
NO_TENSORS = (*UNREADABLE, IndexError, TypeError, AttributeError, ArithmeticError, UnpicklingError)
POINTER = b"version https://git-lfs"  # the beginning of a file by which Git LFS keeps a large file elsewhere
LINKS = {1: "a soft link", 64: "an external link"}  # the numbers that HDF5 gives kinds of links; 0 is none
ROWS = "rows"  # the file that the process writes


class Found(NamedTuple):
    """An array that a file promises, and what reads its values."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    read: Callable[[], NDArray[Any]]


def find_npy(content: IO[bytes], size: int) -> Found:
    """Return the array of a .npy file of so many bytes, unread. Raises SystemsError, ValueError or EOFError."""
    version = np.lib.format.read_magic(content)
    if version not in HEADERS:
        raise SystemsError(f"a .npy file of version {version}; expected 1.0 or 2.0")
    _must_have_a_short_header(content, version)
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


def _must_have_a_short_header(content: IO[bytes], version: tuple[int, int]) -> None:
    """Raise SystemsError if a .npy file of version 2.0 says that its header is long, before that is read."""
    if version == (2, 0):
        (length,) = struct.unpack("<I", content.read(4))
        if length > LONGEST_HEADER:
            raise SystemsError(f"a header of {length:,} bytes; expected at most {LONGEST_HEADER:,}")
        content.seek(-4, os.SEEK_CUR)


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


class Reader:
    """Reads the arrays of a feature file or a folder.

    path: the file or folder.
    what: what an array belongs to, `video` or `query`.
    Raises SystemsError if there is no such file, or it is not a feature file.
    """

    def __init__(self, path: Path, what: str = "video") -> None:
        check_path(path)
        self.path, self.what = path, what
        with _readable(path.name):
            self.source = opened(path)

    def contents(self) -> tuple[int, list[str]]:
        """Return how many entries the file has, and the names of the first few."""
        entries = list(self.source.contents())
        return len(entries), entries[:MOST_NAMED]

    def shapes(self, names: Sequence[str]) -> list[tuple[int, int, int] | None]:
        """Return the rows, the columns and the bytes of a value of each array; None if the file does not have it."""
        return [self._shape(name) for name in names]

    def rows(self, shapes: Sequence[tuple[str, Sequence[int]]], type_: str) -> NDArray[Any]:
        """Return the rows of some arrays, one after the other: shape (rows, d).

        shapes: the name of each array, with its rows and columns.
        Raises SystemsError if an array has changed, or has a value that is too large or not a number.
        """
        return np.concatenate(list(self.arrays(shapes, type_)))

    def arrays(self, shapes: Sequence[tuple[str, Sequence[int]]], type_: str) -> Iterator[NDArray[Any]]:
        """Yield what `rows` returns, one array at a time."""
        for name, shape in shapes:
            yield self._array(name, tuple(shape)).astype(type_)

    @contextmanager
    def _find(self, name: str) -> Iterator[Found | None]:
        """Find an array, whose file is open meanwhile."""
        with _readable(f"{self.path.name}: {self.what} {name!r}"), ExitStack() as files:
            yield self.source.find(name, files)

    def _shape(self, name: str) -> tuple[int, int, int] | None:
        row = ROW_OF[self.what]
        with self._find(name) as found:
            if found is None:
                return None
            shape, type_ = found.shape, found.dtype
            if type_.kind != "f" or type_.itemsize > 8 or len(shape) != 2 or not shape[1]:
                raise SystemsError(f"an array of {type_} with shape {shape}; expected floats of shape ({row}s, d)")
            if shape[1] > WIDEST:
                raise SystemsError(f"{shape[1]:,} features a {row}; expected at most {WIDEST:,}")
            return *shape, type_.itemsize

    def _array(self, name: str, shape: tuple[int, ...]) -> NDArray[Any]:
        """Return the values of an array whose shape was checked before."""
        row = ROW_OF[self.what]
        with self._find(name) as found:
            if found is None or found.shape != shape:
                raise SystemsError("has changed while it was read; expected the same array as before")
            if math.prod(shape) * found.dtype.itemsize > LARGEST:
                raise SystemsError(f"{math.prod(shape) * found.dtype.itemsize:,} bytes; expected at most {LARGEST:,}")
            with np.errstate(over="ignore"):
                array = found.read().astype(np.float16 if found.dtype.itemsize == 2 else np.float32)
            if len(wrong := np.flatnonzero(~np.isfinite(array).all(1))):
                raise SystemsError(f"{row} {wrong[0]} holds a value that is not a number; expected finite numbers")
            if len(wrong := np.flatnonzero((np.abs(array) > np.float32(MOST)).any(1))):
                highest = float(np.abs(array[wrong[0]]).max())
                raise SystemsError(f"{row} {wrong[0]} holds a value of {highest:.3g}; expected at most {MOST:g}")
            return array


@contextmanager
def _readable(place: str) -> Iterator[None]:
    """Say of what goes wrong where it was."""
    try:
        yield
    except SystemsError as refused:
        raise SystemsError(f"{place}: {refused}") from None
    except UNREADABLE as fault:
        reason = str(fault) or "it needs too much memory"
        raise SystemsError(f"{place}: cannot be read ({reason})") from fault


class Source(ABC):
    """A feature file that is open: names of videos, or of queries, and an array for each."""

    @abstractmethod
    def find(self, name: str, files: ExitStack) -> Found | None:
        """Return the array of a video before its values are read; None if there is none. Raises SystemsError saying why
        it is not read, such as a link that leads elsewhere.

        files: closes what is opened for this array alone.
        """

    @abstractmethod
    def contents(self) -> Iterator[str]:
        """Yield the names of what lies there."""


def _one_of(names: list[str]) -> str:
    """Return which of several arrays is the video's."""
    for key in KEYS:
        if key in names:
            return key
    if len(names) != 1:
        listed = ", ".join(map(repr, names[:MOST_NAMED])) + (", …" if len(names) > MOST_NAMED else "")
        raise SystemsError(f"holds {listed or 'nothing'}; expected one array, or one that is called {KEYS[0]!r}")
    return names[0]


class _Hdf5(Source):
    """One data set a video, under its name, which may have groups in front; or a group with one."""

    def __init__(self, path: Path) -> None:
        import h5py

        self.file: Any = h5py.File(path, "r", locking="best-effort")
        self.group, self.data = h5py.Group, h5py.Dataset

    def find(self, name: str, files: ExitStack) -> Found | None:
        data = self._walk(self.file, name)
        if isinstance(data, self.group):
            known = [key for key in KEYS if data.id.links.exists(key.encode())]
            data = self._walk(data, _one_of(known or list(islice(data, MOST_NAMED + 1))))
        if data is None:
            return None
        if not isinstance(data, self.data):
            raise SystemsError("a group of groups; expected a data set, or a group with one")
        if data.external or data.is_virtual:
            kind = "a virtual data set" if data.is_virtual else "a data set whose values are in another file"
            raise SystemsError(f"{kind}; expected a data set whose values are in this file")
        return Found(data.shape or (), data.dtype, lambda: data[()])

    def contents(self) -> Iterator[str]:
        yield from self.file

    def _walk(self, place: Any, name: str) -> Any:
        """Return what has this name, without following links, which may lead to other files; None if there is none."""
        for part in filter(None, name.split("/")):
            if not isinstance(place, self.group) or not place.id.links.exists(part.encode()):
                return None
            if kind := place.id.links.get_info(part.encode()).type:
                raise SystemsError(f"{LINKS.get(kind, 'a link')}; expected a data set that this file holds")
            place = place[part]
        return place


class _Npz(Source):
    """One array a video, under its name."""

    def __init__(self, path: Path) -> None:
        self.file = ZipFile(path)
        self.names = {name.removesuffix(".npy") for name in self.file.namelist() if name.endswith(".npy")}

    def find(self, name: str, files: ExitStack) -> Found | None:
        if name not in self.names:
            return None
        member = self.file.getinfo(f"{name}.npy")
        if member.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
            raise SystemsError("compressed in another way than NumPy compresses; expected np.savez")
        return find_npy(self.file.open(member), member.file_size)

    def contents(self) -> Iterator[str]:
        yield from sorted(self.names)


class _Torch(Source):
    """A dictionary of tensors, one a video, or of dictionaries with one; what else torch.save stores is not loaded."""

    def __init__(self, path: Path) -> None:
        import torch

        if is_zipfile(path) and any(each.compress_type != ZIP_STORED for each in ZipFile(path).infolist()):
            raise SystemsError("compressed; expected tensors as torch.save stores them since torch 1.6")
        try:
            self.stored: Any = torch.load(path, map_location="cpu", weights_only=True, mmap=True)
        except NO_TENSORS as fault:
            reason = f"{fault.strerror}; " if isinstance(fault, OSError) and fault.strerror else ""
            raise SystemsError(
                f"{reason}not tensors alone; expected tensors as torch.save stores them since torch 1.6"
            ) from fault

    def find(self, name: str, files: ExitStack) -> Found | None:
        return self._tensor(self.stored[name]) if isinstance(self.stored, dict) and name in self.stored else None

    def only(self) -> Found:
        """Return the array of a file that is of one video."""
        return self._tensor(self.stored)

    def contents(self) -> Iterator[str]:
        if isinstance(self.stored, dict):
            yield from map(str, self.stored)

    def _tensor(self, value: Any) -> Found:
        import torch

        if isinstance(value, dict):
            value = value[_one_of([key for key in value if isinstance(value[key], torch.Tensor)])]
        if not isinstance(value, torch.Tensor):
            raise SystemsError(f"a {type(value).__name__}; expected a tensor of numbers")
        if value.layout != torch.strided or value.device.type != "cpu":
            kind = "sparse" if value.is_sparse else f"{value.device.type} {value.layout}"
            raise SystemsError(f"a {kind} tensor; expected a tensor of numbers")
        if value.dtype == torch.bfloat16:
            return Found(tuple(value.shape), np.dtype(np.float32), lambda: value.float().numpy())
        if not value.is_floating_point() or value.element_size() < 2:
            raise SystemsError(f"a tensor of {value.dtype}; expected floats")
        return Found(tuple(value.shape), np.dtype(str(value.dtype).removeprefix("torch.")), lambda: value.numpy())


class _Folder(Source):
    """One file NAME.npy, NAME.npz or NAME.pt a video."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def find(self, name: str, files: ExitStack) -> Found | None:
        file = file_in(self.folder, name)
        if file is None:
            return None
        if not file.resolve().is_relative_to(root_of(self.folder)):
            raise SystemsError("a link that leads out of the folder; expected the file itself")
        if not file.is_file():
            raise SystemsError("no regular file; expected an array that NumPy or torch has stored")
        _refuse_pointer(file)
        if file.suffix == ".npy":
            return find_npy(files.enter_context(file.open("rb")), file.stat().st_size)
        if file.suffix in TORCH:
            return _Torch(file).only()
        stored = _Npz(file)
        return stored.find(_one_of(sorted(stored.names)), files)

    def contents(self) -> Iterator[str]:
        yield from sorted(os.listdir(self.folder))


def check_path(path: Path) -> None:
    """Raise SystemsError if a path is neither a regular file nor a folder."""
    if not path.exists():
        raise SystemsError(f"{path}: there is no such file or folder")
    if not (path.is_file() or path.is_dir()):
        raise SystemsError(f"{path.name}: is no regular file; expected {EXPECTED}")


def root_of(folder: Path) -> Path:
    """Return the folder in which a folder's files must lie: itself, or the repository in a model hub's cache."""
    snapshots = (each for each in folder.parents if each.name == "snapshots" and (each.parent / "blobs").is_dir())
    return next((each.parent for each in snapshots), folder)


def file_in(folder: Path, name: str) -> Path | None:
    """Return the file of a video in a folder; None if there is none."""
    for kind in OF_A_VIDEO:
        file = Path(os.path.normpath(folder / f"{name}{kind}"))
        if file.is_relative_to(folder) and os.path.lexists(file):
            return file
    return None


def opened(path: Path) -> Source:
    """Open a feature file; raises SystemsError if it is none."""
    kind = "folder" if path.is_dir() else path.suffix.lower()
    if kind == "folder":
        return _Folder(path.resolve())
    _refuse_pointer(path)
    if kind in HDF5:
        return _Hdf5(path)
    if kind == ".npz":
        return _Npz(path)
    if kind in TORCH:
        return _Torch(path)
    raise SystemsError(f"is {kind or 'without an ending'}; expected {EXPECTED}")


def _refuse_pointer(path: Path) -> None:
    with path.open("rb") as file:
        if file.read(len(POINTER)) == POINTER:
            raise SystemsError("is a pointer of Git LFS, not the file itself; get the file by `git lfs pull`")


def work(source: Path, order: Any, writable: Path) -> Any:
    """Call a method of `Reader`, by its name and arguments, in a confined process; rows are written to a file."""
    method, *arguments = order
    if method != "rows":
        return getattr(_reader(source), method)(*arguments)
    try:
        with (writable / ROWS).open("wb") as out:
            for array in _reader(source).arrays(*arguments):
                array.tofile(out)
    except OSError as fault:
        kind = Unavailable if fault.errno in FULL else SystemsError
        raise kind(f"{writable / ROWS}: rows of features cannot be written ({fault})") from fault
    return None


@cache  # as long as the process, which reads one file or folder
def _reader(path: Path) -> Reader:
    return Reader(path)
