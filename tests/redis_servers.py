"""A Redis server of a test's own, which it may stop, freeze and start again."""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
from pathlib import Path

import pytest

from tests.waiting import wait_until


class RedisServer:
    """Forgets everything when it is stopped, as a Redis without persistence does."""

    def __init__(self, folder: Path) -> None:
        if not shutil.which("redis-server"):
            pytest.skip("redis-server is not here")
        self.folder = folder
        self.process: subprocess.Popen[bytes] | None = None
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        options = ["--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--dir", str(self.folder)]
        self.process = subprocess.Popen(["redis-server", *options], stdout=subprocess.DEVNULL)
        wait_until(self._listens, lambda: "Redis listens")

    def freeze(self) -> None:
        """Let it neither answer nor refuse."""
        assert self.process
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        assert self.process
        self.process.send_signal(signal.SIGCONT)

    def stop(self) -> None:
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None

    def _listens(self) -> bool:
        with socket.socket() as one:
            return one.connect_ex(("127.0.0.1", self.port)) == 0
