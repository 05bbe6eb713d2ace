"""Running all due jobs in a terminal, with a line of progress, or in a log, with a line now and then."""

import sys
import time
from collections.abc import Callable
from typing import TextIO

from django.utils.timezone import localtime

from base.text import printable
from jobs.models import Job
from jobs.running import Watch, run, worker_name

SECONDS_BETWEEN_LINES = 10  # of a log


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
    told = 0

    def show(job: Job) -> None:
        nonlocal told
        told += line(job)

    line = _lines_on(out)
    run(job, show)
    if told:
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
    told = f"{job.state}: {printable(job.error)}" if job.error else job.state
    return f"{told}; next attempt at {localtime(job.due):%Y-%m-%d %H:%M:%S}" if job.is_delayed else told
