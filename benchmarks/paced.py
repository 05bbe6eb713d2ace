"""A thousand annotators, each with a grade every nineteen seconds: errors and times while it lasts.

`PACED_SECONDS` asks for less than ten minutes. The clips' bytes do not travel: as behind nginx, the server says who may
see a clip, and where it is.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any

from benchmarks.databases import inside, is_sound, make_campaign, on_each
from benchmarks.inside import CROWD, SECONDS_OF_A_GRADE
from campaigns.models.campaign import BATCH_SIZE
from tests.installation import Installation, sql

SECONDS = int(os.environ.get("PACED_SECONDS", "600"))
NAME = "bench"
QUERIES, MOMENTS = 1600, 60
SECONDS_BETWEEN_COUNTS = 60


def figures() -> Iterator[str]:
    yield from on_each(_measured)


def _measured(place: Installation) -> Iterator[str]:
    _prepare(place)
    with _statistics_kept(place):
        rows = _locust(place)
    failed = sum(each["num_failures"] for each in rows)
    total = sum(each["num_requests"] for each in rows)
    yield f"{CROWD:,} annotators for {SECONDS} s: {total:,} requests, {total / SECONDS:.0f} a second, {failed} errors"
    for each in rows:
        times = {float(ms): n for ms, n in each["response_times"].items()}
        p50, p99 = (_centile(times, centile) for centile in (50, 99))
        yield f"{each['name']}: {each['num_requests']:,}, p50 {p50:.0f} ms, p99 {p99:.0f} ms"
    acknowledged = sum(each["num_requests"] - each["num_failures"] for each in rows if each["name"] == "save")
    (stored,) = sql(place, "SELECT count(*) FROM judging_revision")[0]
    yield f"{acknowledged:,} grades acknowledged, {stored:,} stored"
    yield is_sound(place, NAME)


@contextmanager
def _statistics_kept(place: Installation) -> Iterator[None]:
    """Have PostgreSQL count its tables each minute, as it does by itself unless its server is told not to."""
    ended = Event()

    def count() -> None:
        while True:
            if place.database == "postgres":
                sql(place, "ANALYZE")
            if ended.wait(SECONDS_BETWEEN_COUNTS):
                return

    counting = Thread(target=count)
    counting.start()
    try:
        yield
    finally:
        ended.set()
        counting.join()


def _prepare(place: Installation) -> None:
    """Make a campaign with a batch for each two annotators, and more; and the annotators' sessions."""
    make_campaign(place, NAME, QUERIES, MOMENTS)
    inside(place, "inside.crowd", NAME)
    (place.home / "sessions.json").write_text(json.dumps(inside(place, "inside.sessions", NAME)))
    sql(place, "UPDATE corpus_clip SET state = 'ready', file = 'clips/clip.mp4'")


def _locust(place: Installation) -> list[dict[str, Any]]:
    """Run the annotators. Return the statistics of each kind of request.

    They begin one after the other while the first of them judges a batch, so that batches are claimed as evenly as on
    an ordinary day, and not by all annotators at once.
    """
    rate = CROWD / min(BATCH_SIZE * SECONDS_OF_A_GRADE, 0.6 * SECONDS)
    done = subprocess.run(
        [
            *(sys.executable, "-m", "locust", "-f", "benchmarks/paced_annotator.py", "--headless"),
            *("--users", str(CROWD), "--spawn-rate", f"{rate:.3f}", "--run-time", f"{SECONDS}s"),
            *("--host", place.address, "--json", "--skip-log", "--only-summary"),
        ],
        env=os.environ | {"PACED_SESSIONS": str(place.home / "sessions.json")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.startswith("["), done.stderr
    rows: list[dict[str, Any]] = json.loads(done.stdout)
    return sorted(rows, key=lambda each: str(each["name"]))


def _centile(times: dict[float, int], centile: int) -> float:
    """Return the time under which so many of a hundred answers came; `times` counts the answers of each time."""
    number, counted = sum(times.values()) * centile / 100, 0
    for time in sorted(times):
        counted += times[time]
        if counted >= number:
            return time
    raise AssertionError("there was no answer")
