"""The web server is killed again and again while annotators judge."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults.account import account, check
from tests.faults.conftest import Note
from tests.faults.crowd import at_work, make_campaign
from tests.faults.servers import installed
from tests.installation import Installation

pytestmark = [pytest.mark.long, pytest.mark.timeout(1800)]
GRADES, BETWEEN = 3000, 250  # acknowledged in all, and between two kills
WEAKENED = {"DJANGO_SETTINGS_MODULE": "tests.faults.weakened", "WEAKENED": "AcknowledgesFirst"}


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_no_acknowledged_grade_is_lost_when_the_web_server_is_killed(tmp_path: Path, kind: str, note: Note) -> None:
    """All of it, or one of its processes, which it replaces itself."""
    with installed(tmp_path / "home", kind) as place:
        annotators = make_campaign(place, "killed", batches=150)
        kills: list[Callable[[Installation], None]] = [kill_all, kill_one]
        seconds: list[float] = []
        with at_work(annotators) as crowd:
            while len(crowd.grades) < GRADES:
                crowd.more(BETWEEN)
                killed = time.monotonic()
                kills[len(seconds) % 2](place)
                seconds.append(crowd.recovers(killed))
        done = check(place, annotators)
    assert done.acknowledged >= GRADES
    assert crowd.unreached  # the kills were felt
    note(f"kill -9 of web under load, {len(seconds)} times", kind, done, max(seconds))


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_what_is_acknowledged_before_the_commit_is_lost(
    tmp_path: Path, kind: str, control: Callable[..., None]
) -> None:
    with installed(tmp_path / "home", kind, **WEAKENED) as place:
        annotators = make_campaign(place, "killed", batches=20)
        with at_work(annotators) as crowd:
            crowd.reach(100)
            place.kill()
        lost = account(place, annotators).lost
    assert lost
    control("acknowledgement before commit", kind, f"{lost} lost")


def kill_all(place: Installation) -> None:
    place.kill()
    place.serve(wait=False)


def kill_one(place: Installation) -> None:
    os.kill(web_processes(place)[0], signal.SIGKILL)


def web_processes(place: Installation) -> list[int]:
    """The processes that answer requests."""
    parent = place.processes[0].pid
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    return [int(pid) for pid in children if "serve" in Path(f"/proc/{pid}/cmdline").read_text()]
