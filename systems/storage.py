"""Storing files so that a reader finds the old one or the new one, whole, even after a crash or with a full disk."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, BinaryIO, Self
from zipfile import ZIP_STORED, BadZipFile, ZipFile

import numpy as np
from numpy.typing import NDArray

from .errors import FULL, SystemsError, Unavailable
from .features.sources import CHUNK, find_npy
from .library import MeasureError
from .library import read_json as parse_json

UNREADABLE = (OSError, ValueError, EOFError, KeyError, TypeError, NotImplementedError, BadZipFile)
SECONDS_BETWEEN_SIGNS = 5.0
TREE = "tree"  # the array of a file that says where its others belong


def digest(file: Path) -> str:
    """Return the SHA-256 of a file. Raises SystemsError if it is no regular file."""
    return digest_of({"": file})


def digest_of(files: Mapping[str, Path], sign: Callable[[], None] = lambda: None) -> str:
    """Return the SHA-256 of one file under no name, or of several with their names, in their order.

    sign: is called every few seconds meanwhile.
    Raises SystemsError if one of them is no regular file; a FIFO is not waited for.
    """
    found, signed = hashlib.sha256(), time.monotonic()
    for name, file in files.items():
        found.update(f"{name}\0".encode() if name else b"")
        with open(os.open(file, os.O_RDONLY | os.O_NONBLOCK), "rb") as content:
            if not stat.S_ISREG(os.fstat(content.fileno()).st_mode):
                raise SystemsError(f"{file}: is no regular file any more")
            while part := content.read(CHUNK):
                found.update(part)
                if time.monotonic() - signed >= SECONDS_BETWEEN_SIGNS:
                    signed = time.monotonic()
                    sign()
    return found.hexdigest()


def write(file: Path, fill: Callable[[BinaryIO], object]) -> None:
    """Let `fill` write a new file, which then replaces the old one. Raises SystemsError if it cannot be stored."""
    new = file.with_name(f"{file.name}.{os.getpid()}.new")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with new.open("wb") as out:
            fill(out)
            out.flush()
            os.fsync(out.fileno())
        new.replace(file)
    except OSError as fault:
        raise SystemsError(f"{file}: cannot be stored ({fault}); what was there is kept") from fault
    finally:
        new.unlink(missing_ok=True)


def write_json(file: Path, content: object) -> None:
    """Store content as JSON; see `write`."""
    text = json.dumps(content, ensure_ascii=False, indent=1, allow_nan=False) + "\n"
    write(file, lambda out: out.write(text.encode()))


def read_json(file: Path) -> Any:
    """Return a file's content. Raises SystemsError if it cannot be read."""
    try:
        return parse_json(file.read_bytes(), strict=False)
    except (OSError, MeasureError) as fault:
        raise SystemsError(f"{file}: cannot be read ({fault}); train or index the system again") from fault


def known_json(file: Path) -> dict[str, Any]:
    """Return the object that a file holds, an empty one if there is no file; see `read_json`."""
    return dict(read_json(file)) if file.exists() else {}


def write_arrays(file: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Store arrays as .npz, without pickling; see `write`."""
    write(file, lambda out: np.savez(out, allow_pickle=False, **arrays))


def read_arrays(file: Path) -> dict[str, NDArray[Any]]:
    """Return what `write_arrays` stored. Raises SystemsError if it cannot be read."""
    try:
        return _arrays(file)
    except UNREADABLE as fault:
        raise SystemsError(f"{file}: cannot be read ({fault}); train or index the system again") from fault


def _arrays(file: Path) -> dict[str, NDArray[Any]]:
    """Return the arrays of a .npz file. They are stored as they are, so that none is larger than the file."""
    arrays = {}
    with ZipFile(file) as stored:
        for member in stored.infolist():
            if member.compress_type != ZIP_STORED:
                raise SystemsError(f"{member.filename} is compressed; expected what was stored here")
            with stored.open(member) as content:
                arrays[member.filename.removesuffix(".npy")] = find_npy(content, member.file_size).read()
    return arrays


def write_tree(file: Path, tree: Any) -> None:
    """Store dictionaries and lists, one in the other, of numbers, texts and tensors, without pickling; see `write`."""
    arrays: dict[str, NDArray[Any]] = {}

    def flat(node: Any) -> Any:
        if hasattr(node, "numpy"):
            name = str(len(arrays))
            arrays[name] = node.detach().cpu().numpy()
            return {"tensor": name}
        if isinstance(node, Mapping):
            return {"pairs": [[key, flat(value)] for key, value in node.items()]}
        return [flat(each) for each in node] if isinstance(node, list | tuple) else node

    text = json.dumps(flat(tree)).encode()
    write_arrays(file, arrays | {TREE: np.frombuffer(text, np.uint8)})


def read_tree(file: Path, tensor: Callable[[NDArray[Any]], Any]) -> Any:
    """Return what `write_tree` stored. Raises FileNotFoundError, or SystemsError if it cannot be read."""

    def deep(node: Any) -> Any:
        if isinstance(node, dict) and "tensor" in node:
            return tensor(arrays[node["tensor"]])
        if isinstance(node, dict):
            return {key: deep(value) for key, value in node["pairs"]}
        return [deep(each) for each in node] if isinstance(node, list) else node

    try:
        arrays = _arrays(file)
        return deep(json.loads(arrays[TREE].tobytes()))
    except FileNotFoundError:
        raise
    except UNREADABLE as fault:
        raise SystemsError(f"{file}: cannot be read ({fault}); delete it and train again") from fault


class Spool:
    """Rows that come some at a time, in a temporary file without a name. Raises Unavailable if there is no room."""

    def __enter__(self) -> Self:
        self.file = TemporaryFile()
        return self

    def __exit__(self, *fault: object) -> None:
        self.file.close()

    def add(self, rows: NDArray[Any]) -> None:
        """Keep some more rows."""
        try:
            self.file.write(np.ascontiguousarray(rows).data.cast("B") if rows.size else b"")
        except OSError as fault:
            raise self._fault(fault) from fault

    def rows(self, width: int, type_: np.dtype[Any]) -> NDArray[Any]:
        """Return all rows as a memory map, which keeps the file until nobody needs it any more."""
        try:
            self.file.flush()
        except OSError as fault:
            raise self._fault(fault) from fault
        count = self.file.tell() // (width * type_.itemsize)
        if not count:
            return np.zeros((0, width), type_)
        found: NDArray[Any] = np.memmap(self.file, type_, "r", shape=(count, width))
        return found

    def _fault(self, fault: OSError) -> SystemsError:
        kind = Unavailable if fault.errno in FULL else SystemsError
        return kind(f"the folder for temporary files (TMPDIR): rows of features cannot be written ({fault})")
