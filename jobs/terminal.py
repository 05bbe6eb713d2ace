"""Running all due jobs in a terminal, with a line of progress, or in a log, with a line now and then."""

import sys
import time
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
        run(job, _progress_on(out))
        job.refresh_from_db()
        _ended(job, out)
        seen[job.pk] = job
    return [job for job in seen.values() if job.state != Job.State.DONE]


def work_off_one(job: Job, out: TextIO = sys.stdout) -> bool:
    """Run one job if it is due, and no worker has it. Return whether it was this call that ran it."""
    taken = Job.objects.take(worker_name(), job.pk)
    if taken:
        run(taken, _progress_on(out))
        taken.refresh_from_db()
        _ended(taken, out)
    return taken is not None


def _progress_on(out: TextIO) -> Watch:
    """Return a function that shows a job's progress, and what it is doing."""
    last = time.monotonic()

    def show(job: Job) -> None:
        nonlocal last
        doing = f": {printable(job.message)}" if job.message else ""
        if out.isatty():
            out.write(f"\r\033[K  {job}  {'━' * (job.percent // 4):<25} {job.percent:3d} %{doing}")
            out.flush()
        elif time.monotonic() - last >= SECONDS_BETWEEN_LINES:
            last = time.monotonic()
            out.write(f"  {job}: {job.percent} %{doing}\n")
            out.flush()

    return show


def _ended(job: Job, out: TextIO) -> None:
    start = "\r\033[K" if out.isatty() else ""
    out.write(f"{start}  {printable(str(job))}: {outcome(job)}\n")


def outcome(job: Job) -> str:
    """Return a job's state in one line for a terminal, with its error and the time of its next attempt."""
    told = f"{job.state}: {printable(job.error)}" if job.error else job.state
    return f"{told}; next attempt at {localtime(job.due):%Y-%m-%d %H:%M:%S}" if job.is_delayed else told
