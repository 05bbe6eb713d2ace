"""Arrays in .npy files: what one promises, before anything of it is read.

The confined process imports this, so that it stands on NumPy alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import SystemsError

CHUNK = 2**20  # bytes
HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}  # of .npy, by version; later ones are for fields with names


class Found(NamedTuple):
    """An array that a file promises, and what reads its values."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    read: Callable[[], NDArray[Any]]


def find_npy(content: IO[bytes], size: int) -> Found:
    """Return the array that a .npy file of so many bytes promises, once its header and its size agree.

    Raises
    ------
    SystemsError
        If they do not.
    ValueError, EOFError
        If it is no such file.
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
