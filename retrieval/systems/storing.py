"""Storing files so that a reader finds the old one or the new one, whole, even after a crash or with a full disk."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from metrics import MeasureError
from metrics.formats import json_reader
from retrieval.systems.errors import SystemsError


def write(file: Path, fill: Callable[[BinaryIO], object]) -> None:
    """Let `fill` write a new file, which then replaces the one that was there.

    Raises
    ------
    SystemsError
        If it cannot be stored, such as on a full disk. The old file is as it was.
    """
    new = file.with_name(f"{file.name}.{os.getpid()}.new")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with new.open("wb") as out:
            fill(out)
            out.flush()
            os.fsync(out.fileno())
        new.replace(file)
    except (OSError, RuntimeError) as fault:  # torch tells of a full disk by a RuntimeError
        raise SystemsError(f"{file}: cannot be stored ({fault}); what was there is kept") from fault
    finally:
        new.unlink(missing_ok=True)


def write_json(file: Path, content: object) -> None:
    """Store content as JSON; see `write`."""
    text = json.dumps(content, ensure_ascii=False, indent=1, allow_nan=False) + "\n"
    write(file, lambda out: out.write(text.encode()))


def read_json(file: Path) -> Any:
    """Return a file's content.

    Raises
    ------
    SystemsError
        If it cannot be read.
    """
    try:
        return json_reader.read_json(file.read_bytes(), strict=False)
    except (OSError, MeasureError) as fault:
        raise SystemsError(f"{file}: cannot be read ({fault}); train or index the system again") from fault


def write_arrays(file: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Store arrays as .npz, without pickling; see `write`."""
    write(file, lambda out: np.savez(out, allow_pickle=False, **arrays))


def read_arrays(file: Path) -> dict[str, NDArray[Any]]:
    """Return what `write_arrays` stored.

    Raises
    ------
    SystemsError
        If it cannot be read.
    """
    try:
        with file.open("rb") as content, np.load(content, allow_pickle=False) as stored:
            return dict(stored)
    except (OSError, ValueError, EOFError, BadZipFile) as fault:
        raise SystemsError(f"{file}: cannot be read ({fault}); train or index the system again") from fault
