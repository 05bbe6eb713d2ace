"""Running a benchmark on SQLite, and on PostgreSQL if there is one."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.installation import Installation, installation

KINDS = {"SQLite": "sqlite", "PostgreSQL": "postgres"}


def on_each(measured: Callable[[Installation], Iterator[str]]) -> Iterator[str]:
    """Yield the figures of an installation on each database, each after the database's name."""
    for name, kind in KINDS.items():
        if kind == "postgres" and not {"TEST_POSTGRES_URL", "TEST_REDIS_URL"} <= os.environ.keys():
            yield f"{name}: skipped, it is not here"
            continue
        with tempfile.TemporaryDirectory() as home, installation(Path(home), kind) as place:
            yield from (f"{name}: {line}" for line in measured(place))
