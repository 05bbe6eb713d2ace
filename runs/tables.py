"""Runs, judged moments and values per query as arrays: in files of the media store, and in columns of rows."""

from __future__ import annotations

import json
import tempfile
import zlib
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from django.db.models.fields.files import FieldFile
from numpy.typing import NDArray

from corpus.stored_files import opened, store
from metrics.formats.tables import Qrels, Run, Table

Made = TypeVar("Made", bound=Table)
Floats = NDArray[np.float64]
SHARED = ("offsets", "video", "start", "end")
WORDS = ("queries", "names", "texts")
OWN: dict[type[Table], str] = {Run: "scores", Qrels: "grades"}


def store_table(name: str, table: Table) -> str:
    """Store the arrays of a run or of qrels, and return the name under which they are stored."""
    own = OWN[type(table)]
    arrays = {field: getattr(table, field) for field in (*SHARED, own)}
    words = {"queries": table.queries, "names": table.names, "texts": dict(table.texts)}
    packed = np.frombuffer(json.dumps(words).encode(), dtype=np.uint8)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "table.npz"
        np.savez(file, words=packed, **arrays)
        return store(name, file).name


def read_table(kind: type[Made], file: FieldFile, **more: Any) -> Made:
    """Return a stored table."""
    with opened(file) as content, np.load(content, allow_pickle=False) as found:
        words = json.loads(found["words"].tobytes())
        arrays = {field: found[field] for field in (*SHARED, OWN[kind])}
    return kind(queries=tuple(words["queries"]), names=tuple(words["names"]), texts=words["texts"], **arrays, **more)


def packed_values(values: Floats) -> bytes:
    """Return values of queries as bytes, in which they keep seven digits."""
    return zlib.compress(values.astype(np.float32).tobytes(), 1)


def unpacked_values(stored: bytes | memoryview) -> NDArray[np.float32]:
    return np.frombuffer(zlib.decompress(stored), dtype=np.float32)
