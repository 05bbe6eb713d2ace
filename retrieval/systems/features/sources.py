"""The three shapes of a feature file, each read as one array a video: HDF5, .npz, or a folder of .npy files."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retrieval.systems.errors import SystemsError

HDF5 = (".h5", ".hdf5", ".hdf")


class Source(ABC):
    """A feature file that is open: names of videos, and an array for each."""

    @abstractmethod
    def __contains__(self, name: str) -> bool: ...

    @abstractmethod
    def read(self, name: str) -> NDArray[Any]:
        """Return the array of a video that is there."""


class _Hdf5(Source):
    """One data set a video, under its name."""

    def __init__(self, file: Any, kind: type) -> None:
        self.file, self.kind = file, kind

    def __contains__(self, name: str) -> bool:
        return isinstance(self.file.get(name), self.kind)

    def read(self, name: str) -> NDArray[Any]:
        array: NDArray[Any] = self.file[name][()]
        return array


class _Npz(Source):
    def __init__(self, file: Any) -> None:
        self.file = file

    def __contains__(self, name: str) -> bool:
        return name in self.file

    def read(self, name: str) -> NDArray[Any]:
        array: NDArray[Any] = self.file[name]
        return array


class _Folder(Source):
    """One file NAME.npy a video."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __contains__(self, name: str) -> bool:
        return self._file(name) is not None

    def read(self, name: str) -> NDArray[Any]:
        file = self._file(name)
        assert file is not None
        array: NDArray[Any] = np.load(file, allow_pickle=False)
        return array

    def _file(self, name: str) -> Path | None:
        """Return a video's file; none if the name leads out of the folder."""
        file = self.folder / f"{name}.npy"
        return file if file.is_file() and file.resolve().is_relative_to(self.folder.resolve()) else None


@contextmanager
def opened(path: Path) -> Iterator[Source]:
    """Open a feature file.

    Raises
    ------
    SystemsError
        If there is none, or it cannot be read, also while it is open.
    """
    kind = "folder" if path.is_dir() else path.suffix.lower()
    try:
        if kind == "folder":
            yield _Folder(path)
        elif not path.is_file():
            raise SystemsError(f"{path}: there is no such file or folder")
        elif kind in HDF5:
            import h5py

            with h5py.File(path, "r") as file:
                yield _Hdf5(file, h5py.Dataset)
        elif kind == ".npz":
            with np.load(path, allow_pickle=False) as file:
                yield _Npz(file)
        else:
            raise SystemsError(
                f"{path.name}: is {kind or 'without an ending'}; expected .h5, .npz, or a folder of .npy"
            )
    except SystemsError:
        raise
    except (OSError, ValueError, EOFError, KeyError) as fault:
        raise SystemsError(f"{path.name}: cannot be read ({fault})") from fault
