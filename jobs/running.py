"""Running jobs that a worker has taken: by Celery, in a log, or in a terminal with a line of progress."""

import logging
import os
import socket
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from mmap import mmap
from threading import Event, Thread
from typing import Any, TextIO

from celery.signals import worker_ready, worker_shutdown, worker_shutting_down
from django.db import DatabaseError, InterfaceError, OperationalError, connection
from django.utils.timezone import localtime

from base.errors import Busy, ReeljudgeError
from base.text import printable
from jobs.errors import JobError, JobLeft, JobLost, JobNotYet, JobPostponed, Stopped
from jobs.models import Job, WorkerHeartbeat
from jobs.queue import machine_of
from jobs.registry import KINDS, Report

log = logging.getLogger(__name__)
SECONDS_BETWEEN_REPORTS = 0.5
SECONDS_BETWEEN_HEARTBEATS = 20
SECONDS_TO_END = 5  # for the last heartbeat, also where the database is away
SECONDS_BETWEEN_LINES = 10  # of a log
START = "\r\033[K"  # of the line of a terminal, which is emptied
# Faults of what surrounds the work, whatever it is: a disk, the network, the database.
SURROUNDINGS = (OSError, OperationalError, InterfaceError)

# A byte that a worker shares with the processes that Celery forks: 1 after it was told to stop.
STOPPING = mmap(-1, 1)

Watch = Callable[[Job], None]


@worker_shutting_down.connect  # type: ignore[untyped-decorator]
def stop(*_: object, **__: object) -> None:
    """Have the job that this worker runs given back at its next report."""
    STOPPING[0] = 1


def is_stopping() -> bool:
    return STOPPING[0] == 1


def worker_name() -> str:
    return f"{socket.gethostname()}:{os.getpid()}"


@contextmanager
def heartbeats(lanes: Iterable[str]) -> Iterator[None]:
    """Record heartbeats for all of the lanes while the block runs, from a thread, so that no long job delays it."""
    ended = Event()
    thread = Thread(target=_record_heartbeats, args=(worker_name(), list(lanes), ended), daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(SECONDS_TO_END)


def _record_heartbeats(worker: str, lanes: list[str], ended: Event) -> None:
    while not ended.is_set():
        with suppress(InterfaceError, DatabaseError):  # the next one may find the database again
            WorkerHeartbeat.record(worker, lanes)
        connection.close()  # Celery forks its processes from this one
        ended.wait(SECONDS_BETWEEN_HEARTBEATS)
    with suppress(InterfaceError, DatabaseError):
        WorkerHeartbeat.forget(worker)
    connection.close()


HEARTBEATS = ExitStack()  # of a worker of Celery


@worker_ready.connect  # type: ignore[untyped-decorator]
def begin_heartbeats(sender: Any, **_: object) -> None:
    HEARTBEATS.enter_context(heartbeats(sender.app.amqp.queues.consume_from))


@worker_shutdown.connect  # type: ignore[untyped-decorator]
def end_heartbeats(**_: object) -> None:
    HEARTBEATS.close()


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
        job.finish(kind.run(job, _reporter(job, watch)))
    except JobLost:
        raise
    except JobLeft as fault:
        job.hand_over(str(fault))
    except ModuleNotFoundError as fault:
        reason = f"{fault.name} is not installed on {machine_of(job.worker)}: pip install 'reeljudge[worker]'"
        log.warning("%s is left to other machines: %s", job, reason)
        job.hand_over(reason)
    except JobNotYet as fault:
        job.rest(str(fault))
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
        if is_stopping():
            raise Stopped
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
        if run_with_progress(job, out):
            seen[job.pk] = job
    return [job for job in seen.values() if job.state != Job.State.DONE]


def work_off_one(job: Job, out: TextIO = sys.stdout) -> bool:
    """Run one job if it is due, and no worker has it. Return whether it was this call that ran it."""
    taken = Job.objects.take(worker_name(), pk=job.pk)
    if taken:
        run_with_progress(taken, out)
    return taken is not None


def run_with_progress(job: Job, out: TextIO, *, if_long: bool = False) -> bool:
    """Run a taken job, print its progress, and how it ended: always, or only if it took long.

    Return whether it is still there: it may go with what it was about.
    """
    progress = Progress(out)
    run(job, progress)
    try:
        if progress.lines or not if_long:
            progress.end(job)
    except Job.DoesNotExist:
        return False
    return True


class Progress:
    """Shows a job's progress and what it is doing: as a bar on a terminal, elsewhere as a line now and then."""

    def __init__(self, out: TextIO) -> None:
        self.out, self.lines, self.last = out, 0, time.monotonic()

    def __call__(self, job: Job) -> None:
        doing = f": {printable(job.message)}" if job.message else ""
        doing += f", {job.time_left} left" if job.time_left else ""
        if self.out.isatty():
            self._write(f"{START}  {printable(str(job))}  {'━' * (job.percent // 4):<25} {job.percent:3d} %{doing}")
        elif time.monotonic() - self.last >= SECONDS_BETWEEN_LINES:
            self.last, self.lines = time.monotonic(), self.lines + 1
            self._write(f"  {printable(str(job))}: {job.percent} %{doing}\n")

    def end(self, job: Job) -> None:
        """Print how the job ended. Raise Job.DoesNotExist if it is gone."""
        job.refresh_from_db()
        self._write(f"{START if self.out.isatty() else ''}  {printable(str(job))}: {outcome(job)}\n")

    def _write(self, text: str) -> None:
        self.out.write(text)
        self.out.flush()


def outcome(job: Job) -> str:
    """Return a job's state in one line for a terminal, with its error and the time of its next attempt."""
    words = f"{job.state}: {printable(job.error)}" if job.error else job.state
    return f"{words}; next attempt at {localtime(job.due):%Y-%m-%d %H:%M:%S}" if job.is_delayed else words
