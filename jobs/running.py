"""Running a job that a worker has taken: progress, errors, and giving it back when the worker stops."""

import logging
import os
import socket
import time
from collections.abc import Callable
from contextlib import suppress

from django.db import DatabaseError, InterfaceError, OperationalError

from base.text import printable
from jobs.errors import JobError, JobLeft, JobLost, JobPostponed
from jobs.models import Job
from jobs.registry import KINDS, Report

log = logging.getLogger(__name__)
SECONDS_BETWEEN_REPORTS = 0.5
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
    work = KINDS.get(job.kind)
    if work is None:
        job.fail(f"no work is registered for jobs of kind {job.kind!r}; known: {', '.join(sorted(KINDS))}")
        return
    try:
        work(job.arguments, _reporter(job, watch))
        job.finish()
    except JobLost:
        raise
    except JobError as fault:
        job.fail(str(fault))
    except JobLeft as fault:
        job.leave(str(fault))
    except JobPostponed as fault:
        _postpone(job, str(fault))
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
