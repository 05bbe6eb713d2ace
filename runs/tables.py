"""Runs, judged moments and values per query as arrays: in files of the media store, and in columns of rows."""

from __future__ import annotations

import json
import tempfile
import zlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from django.db.models.fields.files import FieldFile
from numpy.typing import NDArray

from corpus.reading import OWN, SHARED
from corpus.stored_files import opened, store
from metrics.formats.tables import Run, Table
from runs.models import Run as Row
from systems.storage import digest

Made = TypeVar("Made", bound=Table)
Floats = NDArray[np.float64]


def store_run(row: Row, token: str, file: Path, predictions: Run) -> None:
    """Store a run's file and its arrays in a folder of the token's name, and set what the row says of them."""
    folder = f"runs/{row.campaign.name}/{token}"
    row.sha256, row.size = digest(file), file.stat().st_size
    row.queries, row.predictions = len(predictions), predictions.start.size
    row.file.name, row.table.name = store(f"{folder}/run", file).name, store_table(f"{folder}/table.npz", predictions)


def store_table(name: str, table: Table) -> str:
    """Store the arrays of a run or of qrels, and return the name under which they are stored."""
    arrays = {field: getattr(table, field) for field in (*SHARED, *OWN[type(table)])}
    words = {"queries": table.queries, "names": table.names, "texts": dict(table.texts)}
    if isinstance(table, Run):
        words["existence"] = dict(table.existence)
    packed = np.frombuffer(json.dumps(words).encode(), dtype=np.uint8)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "table.npz"
        np.savez(file, words=packed, **arrays)
        return store(name, file).name


def read_table(kind: type[Made], file: FieldFile, **more: Any) -> Made:
    """Return a stored table."""
    with opened(file) as content, np.load(content, allow_pickle=False) as found:
        words = json.loads(found["words"].tobytes())
        arrays = {field: found[field] for field in (*SHARED, *OWN[kind])}
    if issubclass(kind, Run):
        more["existence"] = words.get("existence", {})
    return kind(queries=tuple(words["queries"]), names=tuple(words["names"]), texts=words["texts"], **arrays, **more)


def packed_values(values: Floats) -> bytes:
    """Return values of queries as bytes, in which they keep seven digits."""
    return zlib.compress(values.astype(np.float32).tobytes(), 1)


def unpacked_values(stored: bytes | memoryview) -> NDArray[np.float32]:
    return np.frombuffer(zlib.decompress(stored), dtype=np.float32)


def renamed(run: Run, names: Mapping[str, str]) -> Run:
    """Return the run under the ids that the qrels have. Of queries with the same text it keeps the first."""
    chosen: dict[str, int] = {}
    for number, query in enumerate(run.queries):
        name = names.get(query, query)
        if name == query or name not in chosen:
            chosen[name] = number
    if list(chosen) == list(run.queries):
        return run
    kept = sorted(chosen.items(), key=lambda each: each[1])
    existence = {name: run.existence[query] for name, n in kept if (query := run.queries[n]) in run.existence}
    return of_queries(run, dict(kept), "scores", existence=existence)


def of_queries(table: Made, numbers: Mapping[str, int], *own: str, **more: Any) -> Made:
    """Return the rows of some queries of a table, given their numbers there by the names that they have then.

    own: the columns beside the times; more: what else is others' then.
    """
    spans = [np.arange(table.offsets[n], table.offsets[n + 1]) for n in numbers.values()]
    rows = np.concatenate([*spans, np.zeros(0, np.int64)])
    offsets = np.append(0, np.cumsum([span.size for span in spans])).astype(np.int64)
    columns = {name: getattr(table, name)[rows] for name in ("video", "start", "end", *own)}
    return replace(table, queries=tuple(numbers), offsets=offsets, **columns, **more)
