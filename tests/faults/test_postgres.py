"""PostgreSQL stops in the middle of everything, or takes no more connections."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from config.operations.logs import SECONDS_BETWEEN_LINES
from tests.faults.account import account, check
from tests.faults.conftest import Note
from tests.faults.crowd import at_work, make_campaign
from tests.faults.servers import Postgres, postgres, running
from tests.installation import Installation
from tests.waiting import wait_until

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]
STOPS, BETWEEN = 4, 150
CONNECTIONS = 40
PROCESSES = 5  # two of the web server, its parent, and the worker and its child


def test_no_acknowledged_grade_is_lost_when_postgres_stops_at_once(tmp_path: Path, note: Note) -> None:
    with postgres() as server, running(tmp_path / "home", server.url) as place:
        annotators = make_campaign(place, "stopped", batches=60)
        seconds = []
        with at_work(annotators) as crowd:
            for _ in range(STOPS):
                crowd.more(BETWEEN)
                stopped = time.monotonic()
                server.stop("immediate")
                server.start()
                seconds.append(crowd.recovers(stopped))
            crowd.more(BETWEEN)
        done = check(place, annotators)
    assert crowd.refused[503]  # the stops were felt, and foreseen
    note(f"PostgreSQL immediate stop, {STOPS} times", "postgres", done, max(seconds))


def test_without_synchronous_commit_grades_are_lost(tmp_path: Path, control: Callable[..., None]) -> None:
    """The log's writer is stopped: it would bring almost everything to the disk before the server ends."""
    with postgres(synchronous_commit="off") as server, running(tmp_path / "home", server.url) as place:
        annotators = make_campaign(place, "unsafe", batches=10)
        ((writer,),) = server.sql("SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'")
        os.kill(writer, signal.SIGSTOP)
        with at_work(annotators) as crowd:
            crowd.reach(50)
            server.stop("immediate")
        server.start()
        lost = account(place, annotators).lost
    assert lost
    control("synchronous_commit off, immediate stop", "postgres", f"{lost} lost")


def test_no_grade_is_lost_when_all_connections_are_taken(tmp_path: Path, note: Note) -> None:
    with (
        postgres(max_connections=CONNECTIONS) as server,
        running(tmp_path / "home", server.url) as place,
        contextlib.ExitStack() as taken,
    ):
        annotators = make_campaign(place, "exhausted", batches=40)
        with at_work(annotators) as crowd:
            crowd.reach(50)
            take_all(server, taken)
            refused = crowd.refused[503]
            wait_until(lambda: crowd.refused[503] > refused + 50, lambda: f"it is felt: {crowd.refused}")
            freed = time.monotonic()
            taken.close()
            seconds = crowd.recovers(freed)
            crowd.more(BETWEEN)
        done = check(place, annotators)
    note("connections exhausted", "postgres", done, seconds)


def test_an_outage_is_a_few_lines_of_the_log(tmp_path: Path, note: Note) -> None:
    """A line in 15 seconds of each process, whatever is refused meanwhile: a full disk would be the next outage."""
    with postgres() as server, running(tmp_path / "home", server.url) as place:
        annotators = make_campaign(place, "away", batches=20)
        with at_work(annotators) as crowd:
            crowd.reach(20)
            before, stopped = lines_of(place), time.monotonic()
            server.stop("immediate")
            wait_until(lambda: crowd.refused[503] > 110, lambda: f"it is felt: {crowd.refused}")
            server.start()
            seconds = crowd.recovers(stopped)
        written, refused = lines_of(place) - before, crowd.refused[503]
        done = check(place, annotators)
    assert written <= PROCESSES * (1 + (time.monotonic() - stopped) / SECONDS_BETWEEN_LINES)
    note(f"PostgreSQL away, {refused} requests refused, {written} lines of the log", "postgres", done, seconds)


def lines_of(place: Installation) -> int:
    return len((place.home / "log").read_text().splitlines())


def take_all(server: Postgres, taken: contextlib.ExitStack) -> None:
    """Take every connection there is, also those that the web server had."""
    first = taken.enter_context(psycopg.connect(server.url, autocommit=True))
    others = "pg_backend_pid() <> pid AND application_name <> 'taken' AND datname IS NOT NULL"
    held = 1
    while held < CONNECTIONS:
        first.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {others}".encode())
        with contextlib.suppress(psycopg.OperationalError):
            while True:
                taken.enter_context(psycopg.connect(server.url, application_name="taken"))
                held += 1
