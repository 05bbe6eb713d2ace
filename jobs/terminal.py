"""Running all due jobs in a terminal, with a line of progress."""

import sys
from typing import TextIO

from jobs.models import Job
from jobs.running import run, worker_name


def work_off(out: TextIO = sys.stdout) -> list[Job]:
    """Run due jobs until none is left. Return the jobs that failed or will be tried again later."""
    seen: dict[int, Job] = {}
    while job := Job.objects.take(worker_name()):
        run(job, lambda job: _progress(job, out))
        job.refresh_from_db()
        _ended(job, out)
        seen[job.pk] = job
    return [job for job in seen.values() if job.state != Job.State.DONE]


def _progress(job: Job, out: TextIO) -> None:
    if out.isatty():
        filled = "━" * (job.percent // 4)
        out.write(f"\r  {job}  {filled:<25} {job.percent:3d} %")
        out.flush()


def _ended(job: Job, out: TextIO) -> None:
    start = "\r\033[K" if out.isatty() else ""
    tail = f"{job.state}: {job.error}" if job.error else job.state
    out.write(f"{start}  {job}: {tail}\n")
