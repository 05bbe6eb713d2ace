"""Without Redis, or with one that hangs, whoever asks for a job waits some seconds at most, and no worker gives up."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import datetime
from pathlib import Path

import celery
import pytest
from celery.beat import Scheduler
from django.utils import timezone

from jobs import queue
from jobs.models import Job
from jobs.queue import Lane, messages
from tests.installation import ROOT, Installation, sql
from tests.redis_servers import RedisServer
from tests.terminal import refused
from tests.waiting import a_while, wait_until

PATIENCE = 5  # seconds to connect and for an answer, each with a limit of two, on a busy machine
SECONDS_AWAY = 30  # longer than any of the worker's limits of waiting


def test_celery_without_the_setting_is_refused() -> None:
    assert refused("celery", "worker").startswith("REDIS_URL: is not set; expected redis://")


def seconds_to_ask(key: str) -> float:
    """The time until a request that asks for a job is answered."""
    began = time.monotonic()
    Job.objects.ask("count", key)
    return time.monotonic() - began


@pytest.mark.any_database
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("fault", ["stopped", "frozen"])
def test_who_asks_for_jobs_waits_some_seconds_at_most_and_once(
    app: celery.Celery, redis: RedisServer, fault: str
) -> None:
    seconds_to_ask("before")
    assert messages(Lane.LONG) == 1
    redis.stop() if fault == "stopped" else redis.freeze()
    took = [seconds_to_ask(f"sheep {number}") for number in range(20)]
    assert max(took) < PATIENCE
    assert sum(took) < PATIENCE + 1
    assert Job.objects.count() == 21
    redis.start() if fault == "stopped" else redis.thaw()
    queue.resting_until = 0.0
    seconds_to_ask("after")
    assert messages(Lane.LONG) >= 1


@pytest.mark.django_db(transaction=True)
def test_what_was_not_sent_is_logged_once(
    app: celery.Celery, redis: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    redis.stop()
    for number in range(3):
        seconds_to_ask(f"sheep {number}")
    assert len(caplog.messages) == 1
    assert caplog.messages[0].startswith("Redis does not answer (")
    assert "jobs are sent again within half a minute" in caplog.messages[0]


def test_messages_of_the_schedule_end_when_the_next_one_comes(app: celery.Celery, redis: RedisServer) -> None:
    scheduler = Scheduler(app=app)
    assert {*scheduler.schedule} >= {"resend", "upkeep"}
    for name in ("resend", "upkeep"):
        scheduler.apply_entry(scheduler.schedule[name])
    with closing(redis.client()) as client:
        messages = [json.loads(each) for lane in Lane.values for each in client.lrange(lane, 0, -1)]
    assert len(messages) == 2
    for message in messages:
        name = message["headers"]["task"].removeprefix("jobs.")
        ends = datetime.fromisoformat(message["headers"]["expires"])
        assert ends <= timezone.now() + scheduler.schedule[name].schedule.run_every


@pytest.fixture
def place(tmp_path: Path, redis: RedisServer) -> Iterator[Installation]:
    made = Installation(tmp_path / "home", redis=redis.url)
    made.start()
    yield made
    made.stop()


def ask_for_job(place: Installation, key: str) -> Callable[[], object]:
    """Ask for a job of a kind that nobody knows, and return a function that says whether a worker has seen it."""
    place.shell(f"from jobs.models import Job; Job.objects.ask('knit', '{key}')")
    return lambda: sql(place, f"SELECT 1 FROM jobs_job WHERE key = '{key}' AND state = 'failed'")


def works(place: Installation, key: str) -> None:
    wait_until(ask_for_job(place, key), lambda: f"{key} is worked on:\n{(place.home / 'log').read_text()}")


@pytest.mark.long
def test_a_celery_worker_goes_on_whatever_redis_does(place: Installation, redis: RedisServer) -> None:
    works(place, "before")
    redis.stop()
    late = ask_for_job(place, "while it is away")
    a_while(SECONDS_AWAY)
    redis.start()
    wait_until(late, lambda: "what was asked for meanwhile is worked on")
    redis.freeze()
    late = ask_for_job(place, "while it is frozen")
    a_while(SECONDS_AWAY)
    redis.thaw()
    wait_until(late, lambda: "what was asked for meanwhile is worked on")
    works(place, "after")
    assert [process.poll() for process in place.processes] == [None, None]


GIVES_UP = """
from config.celery import app
app.conf.broker_connection_max_retries = 1
app.worker_main(["worker", "-c", "1", "-P", "solo"])
"""


@pytest.mark.long
def test_a_celery_worker_with_a_number_of_retries_ends_as_if_all_were_well(
    place: Installation, redis: RedisServer
) -> None:
    """The control: this is why there is no such number."""
    redis.stop()
    command = [sys.executable, "-c", GIVES_UP]
    done = subprocess.run(command, cwd=ROOT, env=place.env, capture_output=True, check=False, timeout=120)
    assert done.returncode == 0
