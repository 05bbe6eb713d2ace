"""Running a benchmark on SQLite, and on PostgreSQL if there is one; and campaigns without media."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests import browsing
from tests.installation import Installation, installation

KINDS = {"SQLite": "sqlite", "PostgreSQL": "postgres"}


def on_each(measured: Callable[[Installation], Iterator[str]]) -> Iterator[str]:
    """Yield the figures of an installation on each database, each after the database's name."""
    for name, kind in KINDS.items():
        if kind == "postgres" and not has_postgres():
            yield f"{name}: skipped, it is not here"
            continue
        with fresh(kind) as place:
            yield from (f"{name}: {line}" for line in measured(place))


def has_postgres() -> bool:
    return {"TEST_POSTGRES_URL", "TEST_REDIS_URL"} <= os.environ.keys()


@contextmanager
def fresh(kind: str = "sqlite") -> Iterator[Installation]:
    """An installation with nothing in it."""
    with tempfile.TemporaryDirectory() as home, installation(Path(home), kind) as place:
        yield place


def inside(place: Installation, function: str, *arguments: object) -> Any:
    """Return what a function of a benchmark, such as `inside.pages`, returns in a process inside an installation."""
    return json.loads(place.run("-m", "benchmarks.measuring", function, *map(str, arguments)))


def make_campaign(place: Installation, name: str, queries: int, moments: int) -> None:
    """Make a campaign whose moments have no clips, and wait until its batches are open."""
    lines = [
        {"vid_name": "film", "duration": moments, "ts": [n, n + 1], "desc": f"caption {n}", "type": "v"}
        for n in range(moments)
    ]
    (place.home / "moments.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    listed = [{"query_id": n, "query": f"query {n}"} for n in range(queries)]
    (place.home / "queries.json").write_text(json.dumps(listed))
    place.manage("import_corpus", name, str(place.home / "moments.jsonl"), "--format", "tvr")
    file = str(place.home / "queries.json")
    place.manage("create_campaign", name, "--corpus", name, "--queries", file, "--without-films")
    place.manage("worker", "--until-idle")
    browsing.wait_until_open(place, name, queries)  # the server has a worker of its own, which may rank them


def is_sound(place: Installation, name: str) -> str:
    """Return what the audit of a campaign finds."""
    return f"audit {'broken' if 'BROKEN' in place.manage('audit', name, check=False) else 'ok'}"
