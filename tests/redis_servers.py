"""A Redis server of a test's own, which it may stop, freeze and start again."""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from tempfile import gettempdir

import pytest
import redis

from tests.waiting import wait_until


class RedisServer:
    """Forgets everything when it is stopped, as a Redis without persistence does."""

    def __init__(self) -> None:
        if not shutil.which("redis-server"):
            pytest.skip("redis-server is not here")
        self.process: subprocess.Popen[bytes] | None = None
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        options = ["--port", str(self.port), "--bind", "127.0.0.1", "--save", ""]
        self.process = subprocess.Popen(["redis-server", *options], cwd=gettempdir(), stdout=subprocess.DEVNULL)
        wait_until(self.answers, lambda: "Redis answers")

    def client(self) -> redis.Redis:
        return redis.Redis(port=self.port, socket_timeout=2)

    def answers(self) -> bool:
        with closing(self.client()) as client:
            try:
                return bool(client.ping())
            except redis.RedisError:
                return False

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


@contextmanager
def own_redis() -> Iterator[RedisServer]:
    made = RedisServer()
    made.start()
    try:
        yield made
    finally:
        made.stop()
