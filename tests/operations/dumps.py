"""Databases of earlier releases (tests/operations/released), restored into an installation of their own."""

from __future__ import annotations

import gzip
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from tests import made_once
from tests.installation import Installation

DUMPS = Path(__file__).parent / "released"
SECRET_KEY = "of-the-fixture-of-the-first-release-and-of-nothing-else-0123456789"
# Sessions and leases were those of a day; the test is on another.
SESSIONS_OF_NOW = "UPDATE django_session SET expire_date = '2999-01-01'"


@contextmanager
def restored(home: Path, kind: str, version: str = "0.1.0") -> Iterator[Installation]:
    """An installation, not started, with the database of a release as it was dumped: of kind `sqlite` or `postgres`."""
    script = gzip.decompress((DUMPS / f"{version}.{kind}.sql.gz").read_bytes()).decode()
    with empty(home, kind) as made:
        if kind == "postgres":
            with psycopg.connect(made.env["DATABASE_URL"]) as postgres:
                postgres.execute(script.encode())
                postgres.execute("SET search_path TO public; " + SESSIONS_OF_NOW)
        else:
            with closing(sqlite3.connect(home / "reeljudge.sqlite3")) as lite:
                lite.executescript(script + SESSIONS_OF_NOW)
        yield made


@contextmanager
def empty(home: Path, kind: str) -> Iterator[Installation]:
    """An installation, not started, whose database has no tables."""
    home.mkdir(exist_ok=True)
    server, name = os.environ.get("TEST_POSTGRES_URL", ""), f"reeljudge_{uuid4().hex[:12]}"
    url = ""
    if kind == "postgres":
        if not server:
            pytest.skip("PostgreSQL is not here (TEST_POSTGRES_URL)")
        url = made_once.empty_postgres(server, name)
    made = Installation(home, url)
    made.env["SECRET_KEY"] = SECRET_KEY
    (home / "static").symlink_to(made_once.collected_static())
    try:
        yield made
    finally:
        made.stop()
        if url:
            made_once.drop(server, name)
