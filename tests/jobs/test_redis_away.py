"""Without Redis, or with one that hangs, whoever asks for a job waits a second at most, and no worker gives up."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from datetime import datetime
from pathlib import Path
from threading import Thread

import celery
import pytest
from celery.beat import Scheduler
from django.utils import timezone
from kombu.exceptions import OperationalError

from config import celeryconfig
from jobs import queue
from jobs.models import Job
from jobs.queue import DEADLINE, TASK, Lane
from tests.installation import ROOT, Installation, sql
from tests.redis_servers import RedisServer
from tests.terminal import refused
from tests.waiting import a_while, wait_until

PATIENCE = DEADLINE + 0.5  # seconds, on a busy machine
SECONDS_AWAY = 30  # longer than any of the worker's limits of waiting


def test_celery_without_the_setting_is_refused() -> None:
    assert refused("celery", "worker").startswith("REDIS_URL: is not set; expected redis://")


def waiting(app: celery.Celery) -> int:
    """How many messages Redis holds."""
    with app.connection_for_read() as connection:
        return int(connection.default_channel.client.llen(Lane.LONG))


def seconds_to_ask(key: str) -> float:
    """The time until a request that asks for a job is answered."""
    began = time.monotonic()
    Job.objects.ask("count", key)
    return time.monotonic() - began


@pytest.mark.any_database
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("fault", ["stopped", "frozen"])
def test_who_asks_for_jobs_waits_a_second_at_most_and_once(app: celery.Celery, redis: RedisServer, fault: str) -> None:
    seconds_to_ask("before")
    assert waiting(app) == 1
    redis.stop() if fault == "stopped" else redis.freeze()
    took = [seconds_to_ask(f"sheep {number}") for number in range(20)]
    assert max(took) < PATIENCE
    assert sum(took) < PATIENCE + 1
    assert Job.objects.count() == 21
    redis.start() if fault == "stopped" else redis.thaw()
    queue.publisher.resting_until = 0
    seconds_to_ask("after")
    assert waiting(app) >= 1


@pytest.mark.django_db(transaction=True)
def test_what_was_not_sent_is_logged_once(
    app: celery.Celery, redis: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    redis.stop()
    for number in range(3):
        seconds_to_ask(f"sheep {number}")
    assert len(caplog.messages) == 1
    assert caplog.messages[0].startswith("Redis does not answer (")
    assert "the sweeper will wake workers of lane long up" in caplog.messages[0]


NOT_IMPORTED_YET = """
import sys
import django
django.setup()
from jobs import queue
send, late = queue._send_task, []
def send_task(*arguments):
    before = {*sys.modules}
    send(*arguments)
    late.extend({*sys.modules} - before)
queue._send_task = send_task
print(queue.publisher.publish('long'), sorted(late))
"""


def test_importing_celery_is_not_taken_for_a_silent_redis(redis: RedisServer) -> None:
    """The first message of a process: when the deadline begins to run, everything is imported."""
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "config.settings", "REDIS_URL": redis.url}
    command = [sys.executable, "-c", NOT_IMPORTED_YET]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "True []\n"


def test_messages_of_the_schedule_end_when_the_next_one_comes(app: celery.Celery, redis: RedisServer) -> None:
    scheduler = Scheduler(app=app)
    assert {*scheduler.schedule} >= {"sweep", "upkeep"}
    for name in ("sweep", "upkeep"):
        scheduler.apply_entry(scheduler.schedule[name])
    with closing(redis.client()) as client:
        messages = [json.loads(each) for lane in Lane.values for each in client.lrange(lane, 0, -1)]
    assert len(messages) == 2
    for message in messages:
        name = message["headers"]["task"].removeprefix("jobs.")
        ends = datetime.fromisoformat(message["headers"]["expires"])
        assert ends <= timezone.now() + scheduler.schedule[name].schedule.run_every


def test_nobody_stops_a_worker_through_redis() -> None:
    assert not celeryconfig.worker_enable_remote_control


def test_the_deadline_is_needed(app: celery.Celery, redis: RedisServer) -> None:
    """The control: Celery alone waits longer for a frozen Redis, in spite of its own time limits."""
    app.conf.broker_connection_timeout = 1
    redis.freeze()

    def send() -> None:
        with suppress(OperationalError):
            app.send_task(TASK, [Lane.LONG], retry=False)

    thread = Thread(target=send, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    assert thread.is_alive()
    redis.stop()
    thread.join(60)
    assert not thread.is_alive()


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
