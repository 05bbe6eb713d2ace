"""Confined processes as forks of one for each module, which has imported what they need: hostile files are many.

A fork is limited and confined as the product's own process is, and reads nothing before.
"""

from __future__ import annotations

import ctypes
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from importlib import import_module
from typing import Any
from unittest.mock import patch

from base import confinement
from base.confinement import ROOT, WAITING, Confined, end_waiting

SUBREAPER = 36  # of prctl: a process whose parent has ended becomes a child of this one
STDIN, STDOUT = 10, 13  # among the arguments of Popen._execute_child: the ends of its pipes


class Fork(subprocess.Popen[bytes]):
    """A process that another one has forked, as a child of this one."""

    def __init__(self, channel: socket.socket) -> None:
        self.channel = channel
        super().__init__([], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def _execute_child(self, *arguments: Any) -> None:
        ends = [arguments[STDIN], arguments[STDOUT]]
        socket.send_fds(self.channel, [b"fork"], ends)
        with self.channel.makefile("rb") as answers:
            self.pid = int(answers.readline())
        self._child_created = True
        for end in ends:
            os.close(end)


@contextmanager
def forked(*modules: str) -> Iterator[None]:
    """Let confined processes be forks; `modules` are imported beside their own."""
    kernel = ctypes.CDLL(None)
    with ExitStack() as running:

        @cache
        def channel(module: str, packages: tuple[str, ...]) -> socket.socket:
            ours, theirs = socket.socketpair()
            orders = [str(theirs.fileno()), ",".join(modules), module, ",".join(packages), ""]
            environment = {"PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
            command = [sys.executable, "-m", __name__, *orders]
            with theirs:
                process = subprocess.Popen(command, cwd=ROOT, env=environment, pass_fds=[theirs.fileno()])
            running.callback(process.wait)
            return running.enter_context(ours)  # closed first, which ends the process

        def fork(confined: Confined) -> Fork:
            return Fork(channel(confined.module, confined.packages))

        kernel.prctl(SUBREAPER, 1, 0, 0, 0)
        with patch.object(Confined, "_spawn", fork):
            _end_waiting()
            yield
            _end_waiting()
    kernel.prctl(SUBREAPER, 0, 0, 0, 0)


def _end_waiting() -> None:
    end_waiting()
    WAITING.clear()


def serve(channel: socket.socket, modules: str, *orders: str) -> None:
    """Fork for each two ends of pipes that arrive, until the other end of the channel closes."""
    for module in filter(None, [*modules.split(","), orders[0]]):
        import_module(module)
    while ends := socket.recv_fds(channel, 4, 2)[1]:
        if not (parent := os.fork()):
            if pid := os.fork():  # its parent ends, so that it becomes the child of who asked
                channel.send(b"%d" % pid)
                os._exit(0)
            channel.close()
            for number, end in enumerate(ends):
                os.dup2(end, number)
                os.close(end)
            sys.stdin, sys.stdout = os.fdopen(0), os.fdopen(1, "w")
            try:
                confinement.main(*orders)
            finally:
                os._exit(1)
        os.waitpid(parent, 0)
        channel.send(b"\n")
        for end in ends:
            os.close(end)


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])), *sys.argv[2:])
