"""PostgreSQL and installations that the tests start for themselves, so that they can be stopped, filled and killed."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests import made_once
from tests.installation import Installation

INSTALLED = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
DATABASE = "reeljudge"


def free_port() -> int:
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


class Postgres:
    """A PostgreSQL with a data folder of its own, which holds a migrated and empty database of Reeljudge.

    PostgreSQL refuses to run as root; root lets the account `postgres` run it.
    """

    def __init__(self, folder: Path) -> None:
        self.data, self.port = folder / "data", free_port()
        self.url = f"postgres://postgres@127.0.0.1:{self.port}/{DATABASE}"
        self.account: dict[str, Any] = as_postgres()

    def create(self, settings: dict[str, object]) -> None:
        """Copy the data folder that was made once, and change these settings."""
        subprocess.run(["cp", "-a", made_once.once("postgres-data", _make_data), self.data], check=True)
        with (self.data / "postgresql.conf").open("a") as configuration:
            for name, value in {"port": self.port, "unix_socket_directories": "", **settings}.items():
                configuration.write(f"{name} = '{value}'\n")

    def start(self) -> None:
        self.control("start", "-w", "-t", "120", "-l", str(self.data / "log"))

    def stop(self, mode: str = "immediate") -> None:
        self.control("stop", "-m", mode, "-w", check=False)

    def control(self, verb: str, *arguments: str, check: bool = True) -> None:
        command = [str(INSTALLED[-1] / "pg_ctl"), "-D", str(self.data), verb, *arguments]
        subprocess.run(command, check=check, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **self.account)

    def sql(self, statement: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.url, autocommit=True) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []


def as_postgres() -> dict[str, Any]:
    """Return what makes a child process run under an account that PostgreSQL accepts."""
    if os.getuid():
        return {}
    account = pwd.getpwnam("postgres")
    return {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": [], "cwd": "/"}


def _make_data(place: Path) -> None:
    """Make the data folder of a stopped server."""
    made_once.folder().chmod(0o755)
    place.mkdir(mode=0o700)
    account = as_postgres()
    if account:
        os.chown(place, account["user"], account["group"])
    made = Postgres(place)
    made.data = place
    command = [str(INSTALLED[-1] / "initdb"), "-D", str(place), "-U", "postgres", "-A", "trust", "--no-sync"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, **account)
    options = f"-p {made.port} -c unix_socket_directories=''"
    made.control("start", "-w", "-o", options, "-l", str(place / "log"))
    with psycopg.connect(made.url.rsplit("/", 1)[0] + "/postgres", autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {DATABASE}".encode())
    made_once.manage({"DATABASE_URL": made.url}, "migrate", "-v0")
    made.control("stop", "-w", "-m", "fast")


@contextmanager
def postgres(disk: Path | None = None, **settings: object) -> Iterator[Postgres]:
    """A running PostgreSQL with these settings, perhaps on a disk of its own; skipped where none is installed."""
    if not INSTALLED:
        pytest.skip("PostgreSQL is not installed here")
    with open_folder() as folder:
        made = Postgres(disk or folder)
        made.create(settings)
        made.start()
        try:
            yield made
        finally:
            made.stop()


@contextmanager
def open_folder() -> Iterator[Path]:
    """A folder that other accounts can pass through, unlike those that pytest makes."""
    folder = Path(tempfile.mkdtemp(prefix="reeljudge-"))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def installed(home: Path, kind: str, redis: str = "", **env: str) -> Iterator[Installation]:
    """A running installation that may be killed: on SQLite, or on a PostgreSQL of its own."""
    with ExitStack() as stack:
        url = stack.enter_context(postgres()).url if kind == "postgres" else ""
        yield stack.enter_context(running(home, url, redis, **env))


@contextmanager
def running(home: Path, database: str = "", redis: str = "", **env: str) -> Iterator[Installation]:
    made = Installation(home, database, redis)
    made.env |= env
    try:
        made.start()
        yield made
    finally:
        made.stop()
