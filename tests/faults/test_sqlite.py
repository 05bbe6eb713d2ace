"""Somebody else writes to SQLite for half a minute."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.faults.account import check
from tests.faults.conftest import Note
from tests.faults.crowd import Annotator, at_work, make_campaign
from tests.faults.servers import running
from tests.installation import Installation
from tests.waiting import a_while

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]
SECONDS = 30


def test_no_grade_is_lost_while_another_process_writes(
    tmp_path: Path, note: Note, control: Callable[..., None]
) -> None:
    with running(tmp_path / "home") as place:
        annotators = make_campaign(place, "held", batches=40)
        reader = annotators.pop()
        with at_work(annotators) as crowd, closing(_open(place)) as writer:
            crowd.reach(50)
            writer.execute("BEGIN IMMEDIATE")
            began, at_first = time.monotonic(), len(crowd.grades)
            seen = pages_while_held(reader, began)
            held_back = len(crowd.grades) - at_first
            writer.execute("ROLLBACK")
            freed = time.monotonic()
            seconds = crowd.recovers(freed)
            crowd.more(100)
        done = check(place, annotators)
    assert held_back <= len(annotators)  # nothing was stored meanwhile but what was under way
    assert seen
    control("a writer that holds SQLite", "sqlite", f"{held_back} grades in {SECONDS} s")
    note(f"SQLite's writer held for {SECONDS} s", "sqlite", done, seconds)


def pages_while_held(reader: Annotator, began: float) -> int:
    """Read a page again and again; return how often it came."""
    seen = 0
    while time.monotonic() - began < SECONDS:
        seen += reader.ask("GET", "/judge/").is_good
        a_while(1)
    return seen


def _open(place: Installation) -> sqlite3.Connection:
    return sqlite3.connect(place.home / "reeljudge.sqlite3", isolation_level=None, timeout=60)
