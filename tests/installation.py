"""A whole Reeljudge of its own: database, web server and worker as processes, as `make run` has them."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg

from tests import forks, made_once
from tests.waiting import wait_until

ROOT = Path(__file__).parent.parent


class Installation:
    """A folder and a database of its own; `start` gives it both and serves it, `stop` ends whatever it runs."""

    def __init__(self, home: Path, database: str = "", redis: str = "") -> None:
        self.home, self.redis = home, redis
        self.env = {name: value for name, value in os.environ.items() if name not in ("DATABASE_URL", "REDIS_URL")}
        self.env |= {"REELJUDGE_HOME": str(home), "MEDIA_ROOT": str(home / "media")}
        self.env["MONITORING_TOKEN"] = "let-me-see"
        if database:
            self.env["DATABASE_URL"] = database
        if redis:
            self.env["REDIS_URL"] = redis
        self.processes: list[subprocess.Popen[bytes]] = []
        self.warm: subprocess.Popen[str] | None = None
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def database(self) -> str:
        """The name of its kind of database."""
        return "postgres" if "DATABASE_URL" in self.env else "sqlite"

    def manage(self, *arguments: str, check: bool = True) -> str:
        """Run a command of `manage.py`; returns what it printed."""
        done = self.command(*arguments)
        assert not (check and done["code"]), f"{' '.join(arguments)}: {done['code']}\n{done['out']}\n{done['err']}"
        return str(done["out"])

    def command(self, *arguments: str) -> dict[str, Any]:
        """Run a command of `manage.py`, in a fork of a process that is kept warm; returns its code, out and err."""
        if self.warm is None:
            self.warm = subprocess.Popen(
                [sys.executable, "-m", "tests.warm"],
                cwd=ROOT,
                env=self.env,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        assert self.warm.stdin
        assert self.warm.stdout
        self.warm.stdin.write(f"{json.dumps(arguments)}\n")
        self.warm.stdin.flush()
        answer: dict[str, Any] = json.loads(self.warm.stdout.readline())
        return answer

    def shell(self, code: str) -> str:
        """Run code that knows the models; returns what it printed."""
        return self.manage("shell", "--no-imports", "-c", code)

    def run(self, *arguments: str) -> str:
        """Run Python with these arguments; returns what it printed."""
        done = subprocess.run(
            [sys.executable, *arguments], cwd=ROOT, env=self.env, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{' '.join(arguments)}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def create(self) -> None:
        """Give it a migrated database, unless it has its own at an address, and the static files."""
        self.home.mkdir(exist_ok=True)
        if "DATABASE_URL" not in self.env:
            made_once.migrated_sqlite(self.home / "reeljudge.sqlite3")
        (self.home / "static").symlink_to(made_once.collected_static())

    def start(self) -> None:
        self.create()
        self.serve()

    def serve(self, wait: bool = True) -> None:
        """Start the processes, at first or after they were killed, and wait until the server answers."""
        processes = ["--processes", "2"] if "DATABASE_URL" in self.env else []
        self.spawn("manage.py", "serve", "--bind", f"127.0.0.1:{self.port}", *processes)
        if self.redis:
            self.spawn("-m", "celery", "-A", "config", "worker", "-B", "-c", "1", "-l", "warning")
        if wait:
            self._wait()

    def spawn(self, *arguments: str) -> None:
        """Start Python with these arguments; `stop` and `kill` end it."""
        log = (self.home / "log").open("ab")
        command = [sys.executable, *arguments]
        process = subprocess.Popen(command, cwd=ROOT, env=self.env, stdout=log, stderr=log, start_new_session=True)
        log.close()
        self.processes.append(process)

    def _wait(self) -> None:
        def answers() -> bool:
            with suppress(OSError), urllib.request.urlopen(f"{self.address}/sign-in/", timeout=5):
                return True
            return False

        wait_until(answers, lambda: f"the server starts:\n{(self.home / 'log').read_text()}")

    def end_commands(self) -> None:
        """End the process that is kept warm for commands; the next command starts another."""
        if self.warm:
            self.warm.communicate()
            self.warm = None

    def stop(self) -> None:
        self.end_commands()
        for process in self.processes:
            os.killpg(process.pid, signal.SIGTERM)
        for process in self.processes:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        self.processes.clear()

    def kill(self) -> None:
        """As when the power fails: nobody is asked to finish."""
        for process in self.processes:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        self.processes.clear()

    def accounts(self, campaign: str, role: str, *names: str) -> dict[str, str]:
        """Add people to a campaign by the command that a lead would use; returns their passwords."""
        printed = self.manage("add_member", campaign, *names, "--role", role)
        return dict(re.findall(r"^(\S+): .* password (\S+)$", printed, re.M))


def sql(place: Installation, *statements: str) -> list[tuple[Any, ...]]:
    """Change rows behind the server's back, or look at them; returns those of the last statement."""
    rows: list[tuple[Any, ...]] = []
    if address := place.env.get("DATABASE_URL"):
        with psycopg.connect(address) as postgres:
            for statement in statements:
                cursor = postgres.execute(statement.encode())
                rows = cursor.fetchall() if cursor.description else []
        return rows
    with closing(sqlite3.connect(place.home / "reeljudge.sqlite3", timeout=30)) as lite, lite:
        for statement in statements:
            rows = lite.execute(statement).fetchall()
    return rows


def _redis_of_this_process() -> str:
    """A database of the Redis server for each process of tests: else one's worker takes another's jobs."""
    server, _, number = os.environ["TEST_REDIS_URL"].rpartition("/")
    return f"{server}/{int(number) + int(os.environ.get(forks.NUMBER, 0))}"


@contextmanager
def installation(home: Path, kind: str) -> Iterator[Installation]:
    """Of kind `sqlite`, or `postgres` (with Redis) on the servers that the environment names; running."""
    database = redis = name = ""
    server = os.environ.get("TEST_POSTGRES_URL", "")
    if kind == "postgres":
        name, redis = f"reeljudge_{uuid4().hex[:12]}", _redis_of_this_process()
        database = made_once.migrated_postgres(server, name)
    made = Installation(home, database, redis)
    try:
        made.start()
        yield made
    finally:
        made.stop()
        if name:
            made_once.drop(server, name)
