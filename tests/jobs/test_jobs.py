"""Long work is a row: asked for once, in one worker's hands at a time, and ended readably whatever happens."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from datetime import timedelta
from functools import partial
from io import StringIO
from threading import Barrier, Thread
from typing import Any

import celery
import pytest
from django.contrib.sessions.models import Session
from django.core.management import CommandError, call_command
from django.db import OperationalError, connection, transaction
from django.db.models.functions import Now
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from base.errors import Busy
from config import celeryconfig
from jobs.errors import JobError, JobLost
from jobs.models import Job, WorkerHeartbeat
from jobs.queue import UNKNOWN, Lane
from jobs.registry import Report, do_upkeep
from jobs.running import run, work_off
from jobs.tasks import resend, upkeep
from judging.models import Batch
from judging.pool.clips import cut_clips
from tests.jobs.conftest import Register
from tests.redis_servers import RedisServer
from tests.terminal import ROOT, environment
from tests.waiting import wait_until

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


def ask(key: str = "sheep", **arguments: Any) -> Job:
    return Job.objects.ask("count", key, **arguments)


def message(job: Job) -> None:
    """What a worker of Celery does with the message of a job."""
    celery.current_app.tasks[UNKNOWN](job.pk)


def take(worker: str = "wanda") -> Job:
    job = Job.objects.take(worker)
    assert job is not None
    return job


def lapse(job: Job) -> None:
    """Let the lease run out."""
    Job.objects.filter(pk=job.pk).update(lease=Now() - timedelta(seconds=1))


def come_due(job: Job) -> None:
    Job.objects.filter(pk=job.pk).update(due=Now())


def count(arguments: dict[str, Any], report: Report) -> None:
    report(1, 2, "counting")
    report(2, 2)


def test_asking_twice_makes_one_row() -> None:
    assert ask(flock=1).pk == ask(flock=1).pk
    assert ask("goats").pk != ask("sheep").pk
    assert Job.objects.count() == 2


def test_a_job_exists_exactly_if_the_transaction_that_asks_commits() -> None:
    with transaction.atomic():
        ask()
        transaction.set_rollback(True)
    assert not Job.objects.exists()
    with transaction.atomic():
        ask()
    assert Job.objects.exists()


def test_a_job_is_worked_off(work: Register) -> None:
    seen: list[dict[str, Any]] = []

    def note(arguments: dict[str, Any], report: Report) -> None:
        seen.append(arguments)
        report(3, 3)

    work(note)
    job = ask(flock=7)
    run(take())
    job.refresh_from_db()
    assert (job.state, job.done, job.total, job.percent) == (Job.State.DONE, 3, 3, 100)
    assert (job.lease, job.error, job.attempts) == (None, "", 1)
    assert seen == [{"flock": 7}]
    assert Job.objects.take("wanda") is None


def test_an_ended_job_is_revived_by_asking(work: Register) -> None:
    work(count)
    for state in (Job.State.DONE, Job.State.FAILED):
        ask(flock=1)
        Job.objects.update(state=state, attempts=3, error="lost count", lease=None)
        job = ask(flock=2)
        assert (job.state, job.attempts, job.error, job.arguments) == (Job.State.WAITING, 0, "", {"flock": 2})


def test_the_longest_due_comes_first() -> None:
    first, second = ask("a"), ask("b")
    Job.objects.filter(pk=second.pk).update(due=Now() - timedelta(hours=1))
    assert [take().pk, take().pk] == [second.pk, first.pk]


def test_what_is_due_later_waits() -> None:
    Job.objects.filter(pk=ask().pk).update(due=Now() + timedelta(seconds=30))
    assert Job.objects.take("wanda") is None


def test_a_job_in_one_workers_hands_is_not_taken_by_another() -> None:
    job = ask()
    assert take().worker == "wanda"
    assert Job.objects.take("willy") is None
    assert Job.objects.take("willy", pk=job.pk) is None


def test_reporting_keeps_the_lease() -> None:
    ask()
    job = take()
    lapse(job)
    job.report(1, 2, "counting")
    assert Job.objects.take("willy") is None
    job.refresh_from_db()
    assert (job.done, job.total, job.message, job.percent) == (1, 2, "counting", 50)


def test_an_abandoned_job_is_taken_over_and_its_worker_is_fenced_off() -> None:
    ask()
    wandas = take("wanda")
    lapse(wandas)
    willys = take("willy")
    assert (willys.pk, willys.attempts) == (wandas.pk, 2)
    late: list[Callable[[], None]] = [
        partial(wandas.report, 1, 2),
        wandas.finish,
        partial(wandas.fail, "too late"),
        partial(wandas.retry, "too late"),
        wandas.release,
    ]
    for write in late:
        with pytest.raises(JobLost):
            write()
    willys.finish()
    assert Job.objects.get().state == Job.State.DONE


def test_a_worker_that_slept_through_a_revival_is_fenced_off() -> None:
    ask()
    wandas = take("wanda")
    lapse(wandas)
    take("willy").finish()
    ask()
    willys = take("willy")
    assert willys.attempts == wandas.attempts == 1
    with pytest.raises(JobLost):
        wandas.finish()
    willys.finish()


@pytest.mark.parametrize("end", [None, JobError("no sheep"), ValueError("no sheep"), KeyboardInterrupt()])
def test_losing_the_lease_does_no_harm_however_the_work_ends(work: Register, end: BaseException | None) -> None:
    def outlast(arguments: dict[str, Any], report: Report) -> None:
        lapse(Job.objects.get())
        take("willy")
        if end:
            raise end

    work(outlast)
    ask()
    if isinstance(end, KeyboardInterrupt):
        with pytest.raises(KeyboardInterrupt):
            run(take("wanda"))
    else:
        run(take("wanda"))
    job = Job.objects.get()
    assert (job.worker, job.state, job.error) == ("willy", Job.State.RUNNING, "")


@pytest.mark.any_database
def test_a_fault_is_tried_again_later_each_time_and_then_fails_readably(work: Register, settings: Any) -> None:
    settings.JOB_ATTEMPTS = 3

    def stumble(arguments: dict[str, Any], report: Report) -> None:
        raise ValueError("lost count")

    work(stumble)
    job = ask()
    waits = []
    for _ in range(2):
        run(take())
        job.refresh_from_db()
        assert (job.state, job.error) == (Job.State.WAITING, "ValueError: lost count")
        assert Job.objects.take("wanda") is None
        assert job.started is not None
        waits.append(round((job.due - job.started).total_seconds()))
        come_due(job)
    run(take())
    job.refresh_from_db()
    assert (job.state, job.error, job.attempts) == (Job.State.FAILED, "ValueError: lost count", 3)
    assert waits == [5, 20]


def test_a_job_that_ends_its_workers_fails_at_last(settings: Any) -> None:
    settings.JOB_ATTEMPTS = 3
    ask()
    for worker in ("wanda", "willy", "wim"):
        lapse(take(worker))
    assert Job.objects.take("wanda") is None
    job = Job.objects.get()
    assert (job.state, job.lease) == (Job.State.FAILED, None)
    assert job.error == "its worker died without a report, 3 times; the last was wim"


@pytest.mark.any_database
def test_a_readable_failure_fails_at_once(work: Register) -> None:
    def refuse(arguments: dict[str, Any], report: Report) -> None:
        raise JobError("flock 7: not there; expected 1 to 3")

    work(refuse)
    ask()
    run(take())
    job = Job.objects.get()
    assert (job.state, job.error, job.attempts) == (Job.State.FAILED, "flock 7: not there; expected 1 to 3", 1)


@pytest.mark.any_database
def test_a_kind_that_nobody_knows_fails_readably() -> None:
    Job.objects.ask("knit", "socks")
    run(take())
    job = Job.objects.get()
    assert job.state == Job.State.FAILED
    assert job.error.startswith("no work is registered for jobs of kind 'knit'; known: ")
    assert "cut-clips" in job.error


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit])
def test_a_worker_told_to_stop_gives_the_job_back(work: Register, stop: type[BaseException]) -> None:
    def interrupted(arguments: dict[str, Any], report: Report) -> None:
        raise stop

    work(interrupted)
    ask()
    with pytest.raises(stop):
        run(take())
    assert Job.objects.get().state == Job.State.WAITING
    assert take("willy").attempts == 1


def test_what_is_asked_for_while_it_runs_is_worked_on_too(work: Register) -> None:
    flocks, seen = [1], []

    def see(arguments: dict[str, Any], report: Report) -> None:
        seen.append(list(flocks))
        if len(flocks) == 1:
            flocks.append(2)
            ask()

    work(see)
    ask()
    assert work_off(StringIO()) == []
    assert seen == [[1], [1, 2]]
    job = Job.objects.get()
    assert (job.state, job.again) == (Job.State.DONE, False)


def test_what_is_asked_for_while_it_fails_is_tried(work: Register) -> None:
    ask()
    job = take()
    ask()
    job.fail("no sheep")
    assert take().attempts == 1


def test_delivering_a_job_twice_runs_it_once(work: Register) -> None:
    seen = []
    work(lambda arguments, report: seen.append(arguments))
    job = ask()
    message(job)
    message(job)
    assert len(seen) == 1


def test_what_is_due_or_abandoned_is_sent_again() -> None:
    ask("running")
    take()
    ask("abandoned")
    lapse(take())
    Job.objects.filter(pk=ask("later").pk).update(due=Now() + timedelta(hours=1))
    ask("waiting")
    assert resend() == 2


class Screen(StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.any_database
def test_progress_is_printed_in_a_terminal(work: Register) -> None:
    work(count)
    ask()
    screen = Screen()
    assert work_off(screen) == []
    assert "\r\x1b[K  count, sheep  ━━━━━━━━━━━━               50 %: counting" in screen.getvalue()
    assert screen.getvalue().endswith("\r\033[K  count, sheep: done\n")


@pytest.mark.any_database
def test_elsewhere_one_line_a_job_is_printed(work: Register) -> None:
    work(count)
    ask("a"), ask("b")
    out = StringIO()
    work_off(out)
    assert out.getvalue() == "  count, a: done\n  count, b: done\n"


def test_a_job_that_goes_with_what_it_is_about_ends_no_worker(work: Register) -> None:
    def remove(arguments: dict[str, Any], report: Report) -> None:
        Job.objects.filter(key="a").delete()

    work(remove)
    ask("a"), ask("b")
    out = StringIO()
    assert work_off(out) == []
    assert out.getvalue() == "  count, b: done\n"


def test_what_is_not_done_is_told_and_ends_the_command_with_an_error(work: Register, own_signals: None) -> None:
    def refuse(arguments: dict[str, Any], report: Report) -> None:
        raise JobError("no sheep") if arguments["final"] else ValueError("lost count")

    work(refuse)
    ask("a", final=True), ask("b", final=False)
    out = StringIO()
    assert [job.key for job in work_off(out)] == ["a", "b"]
    expected = "  count, a: failed: no sheep\n  count, b: waiting: ValueError: lost count; next attempt at "
    assert out.getvalue().startswith(expected)
    ask("a", final=True)
    with pytest.raises(CommandError, match=r"1 job\(s\) are not done; the last: count, a: no sheep"):
        call_command("worker", "--until-idle")


@pytest.mark.django_db(transaction=True)
def test_two_workers_never_take_the_same_job() -> None:
    jobs, hands = 30, 4
    for number in range(jobs):
        ask(f"{number:02}")
    together, taken = Barrier(hands), []

    def grab(worker: str) -> None:
        try:
            together.wait()
            while job := Job.objects.take(worker):
                taken.append(job.pk)
        finally:
            connection.close()

    threads = [Thread(target=grab, args=(f"worker {number}",)) for number in range(hands)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(taken) == len(set(taken)) == jobs
    assert set(Job.objects.values_list("attempts", flat=True)) == {1}


def wait_for(job: Job, state: str) -> None:
    wait_until(lambda: Job.objects.get(pk=job.pk).state == state, lambda: f"{job} is {state}")


def ends(worker: subprocess.Popen[str]) -> tuple[int, str]:
    """The exit code and what was said, after SIGTERM."""
    worker.send_signal(signal.SIGTERM)
    errors = worker.communicate(timeout=10)[1]
    return worker.returncode, errors


def test_a_message_that_comes_again_while_its_job_runs_does_no_harm(work: Register) -> None:
    seen = []

    def longer_than_any_patience(arguments: dict[str, Any], report: Report) -> None:
        seen.append(arguments)
        message(job)

    work(longer_than_any_patience)
    job = ask()
    message(job)
    job.refresh_from_db()
    assert (len(seen), job.state, job.attempts) == (1, Job.State.DONE, 1)


def test_nothing_but_the_lease_ends_a_job_that_goes_forward() -> None:
    assert not {"task_time_limit", "task_soft_time_limit"} & {*vars(celeryconfig)}


@pytest.mark.django_db(transaction=True)
def test_the_embedded_worker_works_jobs_off_and_ends_when_it_is_told(batch: Batch) -> None:
    job = cut_clips.ask(batch)
    command = [sys.executable, "manage.py", "worker"]
    worker = subprocess.Popen(command, cwd=ROOT, env=environment(), stderr=subprocess.PIPE, text=True)
    try:
        wait_for(job, Job.State.DONE)
        wait_for(cut_clips.ask(batch), Job.State.DONE)
        assert set(WorkerHeartbeat.objects.values_list("lane", flat=True)) == {*Lane.values}
        assert ends(worker) == (0, "")
        assert not WorkerHeartbeat.objects.exists()
    finally:
        worker.kill()


ENDLESS = """
import threading, django
django.setup()
from django.core.management import call_command
from config.celery import app
from jobs.registry import kind

@kind("count", "Count")
def count(report):
    while True:
        report(1, 2)
        threading.Event().wait(0.1)

"""
EMBEDDED = "call_command('worker')"
CELERY = "app.worker_main(['worker', '--concurrency', '1', '--loglevel', 'error'])"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("start", [EMBEDDED, CELERY], ids=["embedded", "celery"])
def test_a_worker_gives_a_job_back_when_it_is_told_to_end(app: celery.Celery, redis: RedisServer, start: str) -> None:
    job = ask()
    command = [sys.executable, "-c", ENDLESS + start]
    settings = environment() | {"DJANGO_SETTINGS_MODULE": "config.settings", "REDIS_URL": redis.url}
    worker = subprocess.Popen(command, cwd=ROOT, env=settings, stderr=subprocess.PIPE, text=True)
    try:
        wait_for(job, Job.State.RUNNING)
        assert ends(worker) == (0, "")
    finally:
        worker.kill()
    job.refresh_from_db()
    assert (job.state, job.attempts, job.lease) == (Job.State.WAITING, 0, None)


@pytest.fixture
def sessions() -> Iterator[None]:
    """One that has expired, and one that has not."""
    for days in (-1, 1):
        Session.objects.create(session_key=str(days), expire_date=timezone.now() + timedelta(days=days))
    yield
    assert [each.session_key for each in Session.objects.all()] == ["1"]


def test_the_embedded_worker_clears_sessions(
    sessions: None, own_signals: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("time.sleep", stop)
    monkeypatch.setattr("jobs.management.commands.worker.close_old_connections", lambda: None)
    monkeypatch.setattr("jobs.management.commands.worker.heartbeats", lambda lanes: nullcontext())  # a thread's
    with pytest.raises(SystemExit):
        call_command("worker", lane=[Lane.LONG])


@pytest.mark.any_database
def test_a_task_of_upkeep_that_fails_hinders_no_other(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    done = []

    def broken() -> None:
        raise ValueError("a damaged file")

    monkeypatch.setattr("jobs.registry.TASKS", [broken, lambda: done.append("the other")])
    do_upkeep()
    assert done == ["the other"]
    assert "upkeep: broken" in caplog.text


def test_celery_clears_sessions_by_its_schedule(sessions: None) -> None:
    tasks = {"jobs.resend": resend, "jobs.upkeep": upkeep}
    for each in celeryconfig.beat_schedule.values():
        tasks[str(each["task"])]()


@contextmanager
def in_the_way(times: int) -> Iterator[list[str]]:
    """Others are in the way of that many writers; yields what was refused."""
    refused: list[str] = []

    def refuse(execute: Any, statement: str, *rest: Any) -> Any:
        if statement.startswith("UPDATE") and len(refused) < times:
            refused.append(statement)
            raise OperationalError("database is locked")
        return execute(statement, *rest)

    with connection.execute_wrapper(refuse):
        yield refused


@pytest.mark.django_db(transaction=True)
def test_a_worker_waits_for_its_turn_to_write_like_everybody() -> None:
    Job.objects.ask("count", "sheep")
    with in_the_way(2):
        job = Job.objects.take("me:1")
    assert job is not None
    assert (job.state, job.attempts) == (Job.State.RUNNING, 1)
    Job.objects.ask("count", "goats")
    with in_the_way(3), pytest.raises(Busy):
        Job.objects.take("me:1")
    assert Job.objects.get(key="goats").state == Job.State.WAITING


def test_looking_for_jobs_waits_for_no_writer() -> None:
    """A worker that finds nothing due begins no transaction: on SQLite it would need the lock of all writers."""
    Job.objects.ask("count", "sheep")
    taken = Job.objects.take("me:1")
    assert taken is not None
    with CaptureQueriesContext(connection) as queries:
        assert Job.objects.take("me:2") is None
    assert [query["sql"].split()[0] for query in queries] == ["SELECT"]
