"""The disk of the database is full, and has room again."""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.account import check
from tests.faults.conftest import Note
from tests.faults.crowd import at_work, make_campaign
from tests.faults.servers import Postgres, open_folder, postgres, running
from tests.waiting import wait_until

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]
MEGABYTES = 160
CHUNK = bytes(64 * 1024)


@contextlib.contextmanager
def small_disk() -> Iterator[Path]:
    """A file system of its own, in memory, which only root may mount."""
    with open_folder() as folder:
        mount = ["mount", "-t", "tmpfs", "-o", f"size={MEGABYTES}m,mode=0755", "tmpfs", str(folder)]
        if os.getuid() or subprocess.run(mount, check=False, stderr=subprocess.DEVNULL).returncode:
            pytest.skip("a small disk cannot be mounted here")
        try:
            yield folder
        finally:
            subprocess.run(["umount", "--lazy", folder], check=True)


def fill(disk: Path) -> None:
    """Write until there is no room at all."""
    with contextlib.suppress(OSError), (disk / "ballast").open("ab", buffering=0) as ballast:
        while True:
            ballast.write(CHUNK)


def empty(disk: Path) -> None:
    (disk / "ballast").unlink()


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_no_grade_is_lost_when_the_disk_is_full(tmp_path: Path, kind: str, note: Note) -> None:
    with small_disk() as disk, contextlib.ExitStack() as stack:
        server = stack.enter_context(postgres(disk)) if kind == "postgres" else None
        home = tmp_path / "home" if server else disk / "home"
        place = stack.enter_context(running(home, server.url if server else ""))
        annotators = make_campaign(place, "full", batches=60)
        with at_work(annotators) as crowd:
            crowd.reach(50)
            fill(disk)
            wait_until(lambda: crowd.refused[503] > 100, lambda: f"it is felt: {crowd.refused}")
            empty(disk)
            freed = time.monotonic()
            if server:
                revive(server)
            seconds = crowd.recovers(freed)
            crowd.more(150)
        done = check(place, annotators)
    note("disk full", kind, done, seconds)


def revive(server: Postgres) -> None:
    """Start it again if it gave up, as systemd does: without room for its log it stops."""
    with contextlib.suppress(subprocess.CalledProcessError):
        server.start()
