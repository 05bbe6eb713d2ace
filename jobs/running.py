"""Running jobs that a worker has taken: by Celery, in a log, or in a terminal with a line of progress."""

import logging
import os
import socket
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TextIO

from celery import shared_task
from django.db import DatabaseError, InterfaceError, OperationalError
from django.utils.timezone import localtime

from base.errors import Busy, ReeljudgeError
from base.text import printable
from jobs.errors import JobError, JobLeft, JobLost, JobPostponed
from jobs.models import Job, Sign
from jobs.queue import TASK, machine_of, send
from jobs.registry import KINDS, Report, do_upkeep

log = logging.getLogger(__name__)
SECONDS_BETWEEN_REPORTS = 0.5
SECONDS_BETWEEN_LINES = 10  # of a log
# Faults of what surrounds the work, whatever it is: a disk, the network, the database.
SURROUNDINGS = (OSError, OperationalError, InterfaceError)

Watch = Callable[[Job], None]


def worker_name() -> str:
    return f"{socket.gethostname()}:{os.getpid()}"


def run(job: Job, watch: Watch | None = None) -> None:
    """Run a taken job until it is done, has failed or is given back. `watch` is called after each report."""
    try:
        _run(job, watch)
    except JobLost as lost:
        log.warning("%s", lost)


def _run(job: Job, watch: Watch | None) -> None:
    kind = KINDS.get(job.kind)
    if kind is None:
        job.fail(f"no work is registered for jobs of kind {job.kind!r}; known: {', '.join(sorted(KINDS))}")
        return
    refusals: tuple[type[Exception], ...] = (JobError, ReeljudgeError, *kind.refusals)
    try:
        kind.run(job, _reporter(job, watch))
        job.finish()
    except JobLost:
        raise
    except JobLeft as fault:
        job.leave(str(fault))
    except ModuleNotFoundError as fault:
        reason = f"{fault.name} is not installed on {machine_of(job.worker)}: pip install 'reeljudge[worker]'"
        log.warning("%s is left to other machines: %s", job, reason)
        job.leave(reason)
    except (JobPostponed, Busy) as fault:
        _postpone(job, str(fault))
    except refusals as fault:
        job.fail(str(fault))
    except SURROUNDINGS as fault:
        _postpone(job, f"{type(fault).__name__}: {fault}")
    except Exception as fault:
        log.exception("%s failed at attempt %s", job, job.attempts)
        job.retry(f"{type(fault).__name__}: {fault}")
    except BaseException:
        with suppress(JobLost, DatabaseError):  # If this fails, the job's lease runs out.
            job.release()
        raise


def _postpone(job: Job, reason: str) -> None:
    log.warning("%s is postponed: %s", job, printable(reason))
    job.postpone(reason)


def _reporter(job: Job, watch: Watch | None) -> Report:
    last = 0.0

    def report(done: int, total: int, message: str = "") -> None:
        nonlocal last
        now = time.monotonic()
        if now - last < SECONDS_BETWEEN_REPORTS and done < total:
            return
        last = now
        job.report(done, total, message)
        if watch:
            watch(job)

    return report


def work_off(out: TextIO = sys.stdout) -> list[Job]:
    """Run due jobs until none is left. Return the jobs that failed or will be tried again later."""
    seen: dict[int, Job] = {}
    while job := Job.objects.take(worker_name()):
        run(job, progress_on(out))
        job.refresh_from_db()
        _ended(job, out)
        seen[job.pk] = job
    return [job for job in seen.values() if job.state != Job.State.DONE]


def work_off_one(job: Job, out: TextIO = sys.stdout) -> bool:
    """Run one job if it is due, and no worker has it. Return whether it was this call that ran it."""
    taken = Job.objects.take(worker_name(), job.pk)
    if taken:
        run(taken, progress_on(out))
        taken.refresh_from_db()
        _ended(taken, out)
    return taken is not None


def run_in_log(job: Job, out: TextIO) -> None:
    """Run a job, with a line of progress now and then if it takes long, and one when such a job has ended."""
    lines = 0

    def show(job: Job) -> None:
        nonlocal lines
        lines += line(job)

    line = _lines_on(out)
    run(job, show)
    if lines:
        job.refresh_from_db()
        out.write(f"  {printable(str(job))}: {outcome(job)}\n")
        out.flush()


def progress_on(out: TextIO) -> Watch:
    """Return a function that shows a job's progress, and what it is doing."""
    line = _lines_on(out)

    def show(job: Job) -> None:
        if out.isatty():
            bar = "━" * (job.percent // 4)
            out.write(f"\r\033[K  {printable(str(job))}  {bar:<25} {job.percent:3d} %{_doing(job)}")
            out.flush()
        else:
            line(job)

    return show


def _lines_on(out: TextIO) -> Callable[[Job], bool]:
    """Return a function that writes a line of progress unless it did so lately, and tells whether it did."""
    last = time.monotonic()

    def line(job: Job) -> bool:
        nonlocal last
        if time.monotonic() - last < SECONDS_BETWEEN_LINES:
            return False
        last = time.monotonic()
        out.write(f"  {printable(str(job))}: {job.percent} %{_doing(job)}\n")
        out.flush()
        return True

    return line


def _doing(job: Job) -> str:
    """Return what the job does, and how long that takes on."""
    doing = f": {printable(job.message)}" if job.message else ""
    return f"{doing}, {job.time_left} left" if job.time_left else doing


def _ended(job: Job, out: TextIO) -> None:
    start = "\r\033[K" if out.isatty() else ""
    out.write(f"{start}  {printable(str(job))}: {outcome(job)}\n")


def outcome(job: Job) -> str:
    """Return a job's state in one line for a terminal, with its error and the time of its next attempt."""
    words = f"{job.state}: {printable(job.error)}" if job.error else job.state
    return f"{words}; next attempt at {localtime(job.due):%Y-%m-%d %H:%M:%S}" if job.is_delayed else words


@shared_task(name=TASK)  # type: ignore[untyped-decorator]
def run_job(pk: int) -> None:
    if job := Job.objects.take(worker_name(), pk):
        run(job)


@shared_task(name="jobs.upkeep")  # type: ignore[untyped-decorator]
def upkeep() -> None:
    do_upkeep()


@shared_task(name="jobs.sweep")  # type: ignore[untyped-decorator]
def sweep() -> int:
    """Send messages that may be lost again, and return how many."""
    Sign.leave(worker_name())
    due = list(Job.objects.due().order_by("due").values_list("pk", flat=True)[:1000])
    for pk in due:
        send(pk)
    return len(due)
