"""Each job is a Celery task, which Celery's own tools show: its kind, its number, how it ended, when it comes again."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import celery
import pytest
from celery.exceptions import Reject, Retry

from jobs.errors import JobFailed, JobPostponed
from jobs.models import Job
from jobs.queue import TASK_NAMES, UNKNOWN, Lane, messages
from jobs.registry import KINDS
from jobs.running import STOPPING
from jobs.tasks import resend
from tests.jobs.conftest import Register
from tests.redis_servers import RedisServer
from tests.terminal import ROOT, environment
from tests.waiting import wait_until

pytestmark = pytest.mark.django_db


def run_task(job: Job) -> None:
    celery.current_app.tasks[UNKNOWN](job.pk)


def test_each_kind_has_a_task_of_its_own_name() -> None:
    names = {kind.task for kind in KINDS.values()}
    assert len(names) == len(KINDS)
    assert names <= celery.current_app.tasks.keys()
    assert TASK_NAMES["cut-clips"] == KINDS["cut-clips"].task == "judging.cut_clips"


def test_a_failure_is_one_for_celery_too(work: Register) -> None:
    job = Job.objects.ask("of an older version")
    with pytest.raises(JobFailed, match="no work is registered"):
        run_task(job)
    run_task(job)  # it has ended


def test_celery_tries_again_what_is_postponed(work: Register) -> None:
    def is_away(*_: object) -> None:
        raise JobPostponed("the store is away")

    work(is_away)
    with pytest.raises(Retry):
        run_task(Job.objects.ask("count"))


def test_a_worker_that_ends_leaves_its_messages_to_others(work: Register) -> None:
    STOPPING[0] = 1
    try:
        with pytest.raises(Reject) as left:
            run_task(Job.objects.ask("count"))
    finally:
        STOPPING[0] = 0
    assert left.value.requeue


def test_a_job_that_is_gone_is_no_fault(work: Register) -> None:
    job = Job.objects.ask("count")
    Job.objects.all().delete()
    run_task(job)


def sent(redis: RedisServer) -> list[tuple[str, list[Any]]]:
    """The tasks and arguments in the queue, in the order in which a worker gets them."""
    with closing(redis.client()) as client:
        keys = [b"long", *(f"long\x06\x16{step}".encode() for step in (3, 6, 9))]
        bodies = [json.loads(each) for key in keys for each in reversed(client.lrange(key, 0, -1))]
    return [(each["headers"]["task"], json.loads(each["headers"]["argsrepr"])) for each in bodies]


@pytest.mark.django_db(transaction=True)
def test_what_somebody_waits_for_comes_first(app: celery.Celery, redis: RedisServer) -> None:
    first, second = Job.objects.ask("score-runs"), Job.objects.ask("count-agreement")
    name = KINDS["count-agreement"].task
    assert sent(redis) == [(KINDS["score-runs"].task, [first.pk]), (name, [second.pk])]
    assert Job.objects.filter(pk=second.pk).hurry() == 1
    assert Job.objects.filter(pk=second.pk).hurry() == 0
    assert sent(redis)[0] == (name, [second.pk])
    assert messages(Lane.LONG) == 3


@pytest.mark.django_db(transaction=True)
def test_ten_thousand_jobs_are_sent_again_once(app: celery.Celery, redis: RedisServer) -> None:
    Job.objects.ask("count", "0")
    due = Job.objects.get()
    Job.objects.bulk_create(Job(kind="count", key=f"{number}", due=due.due) for number in range(1, 10_000))
    assert resend() == 1000
    for _ in range(9):
        resend()
    assert (messages(Lane.LONG), resend()) == (10_000, 0)


@pytest.fixture
def worker(app: celery.Celery, redis: RedisServer) -> Iterator[dict[str, str]]:
    """A worker of Celery's own command; yields its environment."""
    settings = environment() | {"DJANGO_SETTINGS_MODULE": "config.settings", "REDIS_URL": redis.url}
    command = [sys.executable, "-m", "celery", "-A", "config", "worker", "-c", "1", "-l", "error"]
    process = subprocess.Popen(command, cwd=ROOT, env=settings)
    yield settings
    process.terminate()
    process.wait(30)


@pytest.mark.django_db(transaction=True)
def test_celery_inspect_shows_the_jobs(worker: dict[str, str]) -> None:
    job = Job.objects.ask("mail-digest", row=1)  # of a person who is gone: nothing is left to do
    wait_until(lambda: Job.objects.get(pk=job.pk).state == Job.State.DONE, lambda: "the worker is there")

    def inspect(what: str) -> Any:
        command = [sys.executable, "-m", "celery", "-A", "config", "inspect", what, "--json"]
        done = subprocess.run(command, cwd=ROOT, env=worker, capture_output=True, text=True, check=True)
        [answer] = json.loads(done.stdout).values()
        return answer

    registered = {name.partition(" ")[0] for name in inspect("registered")}
    assert {kind.task for kind in KINDS.values()} <= registered
    assert inspect("active") == inspect("scheduled") == []
    assert inspect("stats")["total"] == {KINDS["mail-digest"].task: 1}
