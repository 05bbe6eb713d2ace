"""The worker that `serve` starts: it comes again when it dies, and ends with the server, however that ends."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from config.operations.management.commands.serve import WORKER
from tests.installation import Installation, installation
from tests.waiting import wait_until

pytestmark = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="about Linux")


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Installation]:
    with installation(tmp_path / "home", "sqlite") as made:
        yield made


def below(pid: int) -> list[int]:
    """Return the processes that a process has started, from the children to the youngest."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [each for child in map(int, children) for each in (child, *below(child))]


def workers(place: Installation) -> list[int]:
    """Return the process that watches the worker, and the worker."""
    started = below(place.processes[0].pid)
    return [pid for pid in started if Path(f"/proc/{pid}/comm").read_text().strip() == WORKER]


def is_alive(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists() and Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"


def test_a_worker_that_dies_comes_again(place: Installation) -> None:
    watcher, worker = workers(place)
    os.kill(worker, signal.SIGKILL)
    wait_until(lambda: len(workers(place)) == 2 and workers(place)[1] != worker, lambda: "another worker comes")
    assert workers(place)[0] == watcher


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_the_worker_ends_with_the_server(place: Installation, how: int) -> None:
    started = below(place.processes[0].pid)
    assert len(started) == 3
    os.kill(place.processes[0].pid, how)
    place.processes.pop().wait()
    wait_until(lambda: not any(map(is_alive, started)), lambda: "all processes end")
