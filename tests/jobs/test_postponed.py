"""A fault of what surrounds a job uses up none of its attempts: the job waits for hours, or for another machine."""

from __future__ import annotations

import errno
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.db import OperationalError
from django.db.models.functions import Now

from jobs.errors import JobError, JobLeft, JobNotYet, JobPostponed
from jobs.models import FIRST_WAIT, LONGEST_WAIT, REST, SPREAD, Job
from jobs.registry import Report
from jobs.running import run, work_off
from jobs.tasks import resend
from tests.jobs.conftest import Register
from tests.jobs.test_jobs import ask, come_due, take

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]
FAULTS: list[Exception] = [
    JobPostponed("the store does not answer"),
    OSError(errno.ENOSPC, "No space left on device"),
    ConnectionResetError("by peer"),
    OperationalError("the database is restarting"),
]


def raise_(fault: BaseException) -> Any:
    def work(arguments: dict[str, Any], report: Report) -> None:
        raise fault

    return work


def seconds_to_wait(job: Job) -> float:
    job.refresh_from_db()
    assert job.started
    return (job.due - job.started).total_seconds()


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: type(fault).__name__)
def test_a_fault_of_the_surroundings_uses_up_no_attempt(
    work: Register, settings: Any, caplog: pytest.LogCaptureFixture, fault: Exception
) -> None:
    work(raise_(fault))
    job = ask()
    for _ in range(settings.JOB_ATTEMPTS + 2):
        run(take())
        assert Job.objects.take("willy") is None
        come_due(job)
    job.refresh_from_db()
    assert (job.state, job.attempts, job.waits, job.lease) == (Job.State.WAITING, 0, 5, None)
    assert str(fault) in job.error
    assert caplog.messages[0] == f"count, sheep is postponed: {job.error}"
    assert not any(record.exc_info for record in caplog.records)
    work(lambda arguments, report: None)
    run(take())
    job.refresh_from_db()
    assert (job.state, job.error) == (Job.State.DONE, "")


def test_the_waits_grow_to_an_hour_and_are_spread(work: Register) -> None:
    work(raise_(JobPostponed("the store does not answer")))
    job, waits = ask(), []
    for _ in range(12):
        run(take())
        waits.append(seconds_to_wait(job))
        come_due(job)
    middle = [min(FIRST_WAIT * 2**number, LONGEST_WAIT) for number in range(12)]
    for found, right in zip(waits, middle, strict=True):
        assert right * (1 - SPREAD) - 1 <= found <= right * (1 + SPREAD) + 1
    assert len({round(wait) for wait in waits[-5:]}) > 1
    assert sum(middle) > 5 * 3600


def test_what_has_not_come_yet_is_looked_for_every_five_minutes(
    work: Register, caplog: pytest.LogCaptureFixture
) -> None:
    work(raise_(JobNotYet("there is none yet")))
    job = ask()
    for _ in range(4):
        run(take())
        assert REST * (1 - SPREAD) - 1 <= seconds_to_wait(job) <= REST * (1 + SPREAD) + 1
        come_due(job)
    assert (job.attempts, caplog.messages) == (0, [])


def test_asking_brings_the_next_attempt_forward(work: Register) -> None:
    work(raise_(JobPostponed("the store does not answer")))
    ask()
    run(take())
    assert Job.objects.take("wanda") is None
    ask()
    assert take().waits == 1


def test_asking_again_costs_a_job_no_place(work: Register) -> None:
    first, second = ask("a"), ask("b")
    Job.objects.filter(pk=first.pk).update(due=Now() - timedelta(seconds=2))
    Job.objects.filter(pk=second.pk).update(due=Now() - timedelta(seconds=1))
    ask("a")
    assert take().pk == first.pk


def test_a_job_that_a_machine_leaves_is_taken_by_another_at_once(work: Register) -> None:
    work(raise_(JobLeft("the film is not here")))
    ask()
    run(take("here:1"))
    assert Job.objects.take("here:1") is None
    assert Job.objects.take("here:2") is None
    assert resend() == 1  # so that a worker of another machine hears of it
    run(take("there:1"))
    assert Job.objects.take("there:2") is None
    assert Job.objects.take("here:1") is None
    job = take("elsewhere:1")
    assert (job.left_by, job.waits, job.attempts) == ("|here|there|", 2, 1)
    job.finish()
    assert ask().left_by == ""


def test_a_job_that_needs_a_package_is_left_to_machines_that_have_it(work: Register) -> None:
    work(raise_(ModuleNotFoundError("No module named 'torch'", name="torch")))
    job = ask()
    run(take("here:1"))
    job.refresh_from_db()
    assert (job.left_by, job.attempts) == ("|here|", 0)
    assert job.error == "torch is not installed on here: pip install 'reeljudge[worker]'"


def test_the_machine_that_left_a_job_tries_again_when_it_is_due(work: Register) -> None:
    work(raise_(JobLeft("the film is not here")))
    job = ask()
    for _ in range(2):
        run(take("here:1"))
        assert Job.objects.take("here:1") is None
        come_due(job)
    job.refresh_from_db()
    assert (job.left_by, job.error) == ("|here|", "the film is not here")
    assert take("here:1")


def test_when_a_job_is_tried_again_is_told_in_a_terminal(work: Register) -> None:
    work(raise_(JobPostponed("the store does not answer")))
    job = ask()
    out = StringIO()
    assert work_off(out) == [job]
    job.refresh_from_db()
    due = f"{job.due:%Y-%m-%d %H:%M:%S}"
    assert out.getvalue() == (f"  count, sheep: waiting: the store does not answer; next attempt at {due}\n")


def test_a_terminal_obeys_no_sign_of_an_error(work: Register) -> None:
    def mock(arguments: dict[str, Any], report: Report) -> None:
        report(1, 1, "\x1b]0;message\x07")
        raise JobError("film \x1b[31m\r\n\u202e.mp4")

    work(mock)
    ask("sheep\x1b[2J")
    out = StringIO()
    work_off(out)
    assert out.getvalue() == "  count, sheep\\x1b[2J: failed: film \\x1b[31m\\r\\n\\u202e.mp4\n"


def test_an_ended_job_is_no_workers_any_more(work: Register) -> None:
    seen: list[bool] = []

    def work_on(arguments: dict[str, Any], report: Report) -> None:
        seen.append(Job.objects.get().end())
        report(1, 1)
        seen.append(False)

    work(work_on)
    job = ask()
    run(take())
    job.refresh_from_db()
    assert (seen, job.state, job.error) == ([True], Job.State.FAILED, "cancelled")
    assert not job.end()
    assert Job.objects.take("wanda") is None
