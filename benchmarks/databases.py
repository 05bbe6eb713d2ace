"""The same on SQLite and on PostgreSQL, as far as they are here."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.installation import Installation, installation

KINDS = {"SQLite": "sqlite", "PostgreSQL": "postgres"}


def on_each(measured: Callable[[Installation], Iterator[str]]) -> Iterator[str]:
    """The figures of an installation on each database, after its name."""
    for name, kind in KINDS.items():
        if kind == "postgres" and not {"TEST_POSTGRES_URL", "TEST_REDIS_URL"} <= os.environ.keys():
            yield f"{name}: skipped, it is not here"
            continue
        with tempfile.TemporaryDirectory() as home, installation(Path(home), kind) as place:
            yield from (f"{name}: {line}" for line in measured(place))
