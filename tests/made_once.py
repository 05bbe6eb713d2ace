"""What a run of the tests makes once and copies often: migrated databases and collected static files.

The first process that asks makes it; all processes of the run share one folder, which ends with the run. Run as a
program, this module clears away the folder that the environment names, and its databases: the two runs of tests/run.sh
share one.
"""

from __future__ import annotations

import atexit
import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import psycopg

ROOT = Path(__file__).resolve().parent.parent
FOLDER = "REELJUDGE_MADE_ONCE"


def folder() -> Path:
    """The run's folder. Whoever asks first owns it, and clears it away at the end; its children inherit it."""
    if FOLDER not in os.environ:
        made = Path(tempfile.mkdtemp(prefix="reeljudge-"))
        os.environ[FOLDER] = str(made)
        atexit.register(_clear, made)
    return Path(os.environ[FOLDER])


def _clear(made: Path) -> None:
    for file in made.glob("*.postgres"):
        drop(*file.read_text().split())
    shutil.rmtree(made, ignore_errors=True)


def once(name: str, make: Callable[[Path], None]) -> Path:
    """The file or folder of that name in the run's folder; `make` writes it unless another process has."""
    place = folder() / name
    with place.with_name(f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not place.exists():
            make(unfinished := place.with_name(f"{name}.unfinished"))
            unfinished.replace(place)
    return place


def migrated_sqlite(copy: Path) -> None:
    """Put a migrated SQLite database there, in place of what is there."""

    def make(file: Path) -> None:
        manage({"DATABASE_URL": f"sqlite:///{file}"}, "migrate", "-v0")

    for rest in ("-wal", "-shm"):
        copy.with_name(copy.name + rest).unlink(missing_ok=True)
    shutil.copyfile(once("migrated.sqlite3", make), copy)


def migrated_postgres(url: str, name: str) -> str:
    """Create a migrated database of that name on the server of a URL; returns the new database's URL."""
    template = f"template_{folder().name.replace('-', '_')}"

    def make(file: Path) -> None:
        _sql(url, f'CREATE DATABASE "{template}"')
        file.write_text(f"{url} {template}")
        manage({"DATABASE_URL": _at(url, template)}, "migrate", "-v0")

    with (folder() / "copying").open("w") as lock:  # PostgreSQL copies a database for one at a time
        fcntl.flock(lock, fcntl.LOCK_EX)
        once("migrated.postgres", make)
        drop(url, name)
        _sql(url, f'CREATE DATABASE "{name}" TEMPLATE "{template}"')
    return _at(url, name)


def empty_postgres(url: str, name: str) -> str:
    """Create an empty database of that name on the server of a URL; returns the new database's URL."""
    _sql(url, f'CREATE DATABASE "{name}"')
    return _at(url, name)


def collected_static() -> Path:
    """The folder of the collected static files."""
    return once("static", lambda place: manage({"REELJUDGE_HOME": str(place)}, "collectstatic", "-v0")) / "static"


def drop(url: str, name: str) -> None:
    """Remove a database of the server of a URL."""
    _sql(url, f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')


def _at(url: str, name: str) -> str:
    return f"{url.rsplit('/', 1)[0]}/{name}"


def _sql(url: str, statement: str) -> None:
    with psycopg.connect(url, autocommit=True) as server:
        server.execute(statement.encode())


def manage(settings: dict[str, str], *arguments: str) -> None:
    done = subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{' '.join(arguments)}\n{done.stdout}\n{done.stderr}"


if __name__ == "__main__":
    _clear(folder())
