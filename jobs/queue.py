"""The queue of jobs: asking for one, taking one, choosing among them, and sending it to Celery.

With Redis, each job is a Celery task, named after its kind, with the job's primary key as its only argument. Without it
the embedded worker looks at the table itself.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import models, transaction
from django.db.models import Case, Count, DurationField, ExpressionWrapper, F, Min, Q, When
from django.db.models.functions import Coalesce, Now

from base.errors import TooManyRequests
from base.transactions import all_or_nothing, locked

if TYPE_CHECKING:
    from jobs.models import Job

log = logging.getLogger(__name__)
TASK_NAMES: dict[str, str] = {}  # the name of the Celery task of each kind of job, which `jobs.registry` fills in
UNKNOWN = "jobs.unknown"  # and of jobs whose kind is not registered any more
URGENT, USUAL = 0, 6  # priorities, of which Redis has the lowest number first
SECONDS_BETWEEN_UPKEEP = 3600.0
REST = 15.0  # seconds without messages after one that Redis did not take
LOOK_AGAIN = 60  # seconds after which one of many jobs may have ended
CANCELLED = "cancelled"  # the error of a job that a person ended
LATELY = timedelta(days=7)  # for as long a job that is done is listed


class JobState(models.TextChoices):
    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


class Lane(models.TextChoices):
    """What a job waits behind: the kinds that take about as long. The most urgent lane comes first."""

    QUICK = "quick"
    JUDGING = "judging"
    LONG = "long"
    TRAINING = "training"  # the systems that somebody trains here, and searches with them


class JobQuerySet(models.QuerySet["Job"]):
    def due(self, machine: str = "") -> JobQuerySet:
        """Return the jobs that a worker on this machine, or on any, can take.

        These are waiting ones that are due, waiting ones that only other machines have left, and running ones with an
        old lease.
        """
        left_by_others = ~Q(left_by="") & ~Q(left_by__contains=f"|{machine}|")
        waiting = Q(state=JobState.WAITING) & (Q(due__lte=Now()) | left_by_others)
        abandoned = Q(state=JobState.RUNNING, lease__lt=Now())
        return self.unfinished().filter(waiting | abandoned)

    def whole(self) -> JobQuerySet:
        """Return the jobs without those that are parts of others."""
        return self.filter(is_part=False)

    def unfinished(self) -> JobQuerySet:
        return self.filter(state__in=[JobState.WAITING, JobState.RUNNING])

    def running(self) -> JobQuerySet:
        return self.filter(state=JobState.RUNNING)

    def failed(self) -> JobQuerySet:
        return self.filter(state=JobState.FAILED)

    def cancelled(self) -> JobQuerySet:
        """Return the failed jobs that a person cancelled."""
        return self.failed().filter(error=CANCELLED)

    def not_done(self) -> JobQuerySet:
        """Return the jobs that are waited for, and those that failed and can be tried again."""
        return self.filter(state__in=[JobState.WAITING, JobState.RUNNING, JobState.FAILED])

    def current(self) -> JobQuerySet:
        """Return the jobs that are not done, and those that were done this week."""
        return self.filter(~Q(state=JobState.DONE) | Q(ended__gt=Now() - LATELY))

    def numbers(self) -> dict[str, int]:
        """Return how many jobs there are in each state."""
        return dict.fromkeys(JobState.values, 0) | dict(self.order_by().values_list("state").annotate(Count("pk")))

    def in_order(self) -> JobQuerySet:
        """Sort the jobs for people: what runs, what failed, what waits, and what is done, the last first."""
        order = [JobState.RUNNING, JobState.FAILED, JobState.WAITING, JobState.DONE]
        place = Case(*(When(state=state, then=number) for number, state in enumerate(order)))
        ended = Case(When(state__in=[JobState.FAILED, JobState.DONE], then=F("ended")))
        return self.order_by(place, ended.desc(nulls_last=True), "due", "pk")

    def owned_by(self, *owners: models.Model) -> JobQuerySet:
        """Return the jobs of these campaigns and corpora."""
        return self.filter(owner__in=[key_of(owner) for owner in owners])

    def ask(
        self,
        kind: str,
        key: str = "",
        row: int = 0,
        about: dict[str, Any] | None = None,
        by: int | None = None,
        **arguments: Any,
    ) -> Job:
        """Return the job of this kind, row and key. Make it if there is none, and queue it again if it has ended.

        Call this in the transaction that makes the work necessary, so that the job exists exactly if it commits.
        `about` holds the columns that tell people what the job is, and `by` is the primary key of the user to whom it
        counts. Raises TooManyRequests if as many jobs of this user wait or run in its lane as the settings allow.
        """
        about = (about or {}) | {"asked_by_id": by}
        with transaction.atomic():
            job, made = self.select_for_update().get_or_create(
                kind=kind, key=key, row=row, defaults={"arguments": arguments, "due": Now(), **about}
            )
            if by and (made or not job.is_unfinished):
                _must_have_place(self.model, by, job)
            if not made:
                job.ask_again(arguments, about)
        transaction.on_commit(lambda: send(job))
        return job

    def waits(self) -> dict[str, float]:
        """Return for each lane the seconds for which a job has been due and waits for a worker."""
        wait = ExpressionWrapper(Now() - Min(Coalesce("lease", "due")), DurationField())
        longest = dict(self.due().order_by().values("lane").annotate(wait=wait).values_list("lane", "wait"))
        return {lane: max(0.0, longest[lane].total_seconds()) if lane in longest else 0.0 for lane in Lane.values}

    @transaction.atomic
    def hurry(self) -> int:
        """Have those of the jobs that wait done before others of their lane, because somebody waits for them now."""
        waiting = self.filter(state=JobState.WAITING, urgent=False)
        jobs = list(waiting.select_for_update(skip_locked=True))
        for job in jobs:
            transaction.on_commit(partial(send, job, URGENT))
        return self.filter(pk__in=[job.pk for job in jobs]).update(urgent=True)

    def take(self, worker: str, lanes: Sequence[str] = (), pk: int | None = None) -> Job | None:
        """Lease a due job to the worker: of these lanes or of any, or the one with this primary key.

        A job of an urgent lane comes before others, then one that somebody waits for, then the one that has been due
        longest. Return None if no job is due, for which nobody has to wait. A job whose workers die again and again
        fails instead.

        Raises Busy if others were in the way three times.
        """
        due = self.due(machine_of(worker))
        due = due.filter(lane__in=lanes) if lanes else due
        due = due if pk is None else due.filter(pk=pk)
        return _take(due, worker) if due.exists() else None


def _must_have_place(jobs: type[Job], by: int, job: Job) -> None:
    """Refuse a job of somebody who has too many in its lane. The lock has two of one person come one by one."""
    locked(get_user_model()._default_manager.filter(pk=by)).get()
    others = jobs.objects.unfinished().filter(asked_by=by, lane=job.lane).exclude(pk=job.pk)
    if others.count() >= settings.JOBS_WAITING:
        raise TooManyRequests(
            f"As many of your jobs wait or run as one person may have: {settings.JOBS_WAITING}.", LOOK_AGAIN
        )


@all_or_nothing
def _take(due: JobQuerySet, worker: str) -> Job | None:
    lane = Case(*(When(lane=lane, then=number) for number, lane in enumerate(Lane)))
    jobs = due.select_for_update(skip_locked=True).order_by(lane, "-urgent", "due", "pk")
    while (job := jobs.first()) and job.is_worn_out:
        job.fail(f"its worker died without a report, {job.attempts} times; the last was {job.worker}")
    if job:
        job.start(worker)
    return job


def key_of(owner: models.Model) -> str:
    """Return by what name jobs know their owner: its model and its primary key, as in `campaign 7`."""
    return f"{owner._meta.model_name} {owner.pk}"


def machine_of(worker: str) -> str:
    """Return the machine of a worker, whose name is `machine:process`."""
    return worker.rpartition(":")[0] or worker


resting_until = 0.0  # after a failure: so whoever asks for a thousand jobs waits only once


def send(job: Job, priority: int | None = None) -> None:
    """Send a job that is due to the workers of its lane. If the message is lost, the job is sent again."""
    global resting_until
    if not settings.REDIS_URL or time.monotonic() < resting_until:
        return
    from celery import current_app
    from kombu.exceptions import OperationalError

    priority = priority if priority is not None else URGENT if job.urgent else USUAL
    try:
        sent = (TASK_NAMES.get(job.kind, UNKNOWN), [job.pk])
        current_app.send_task(*sent, queue=job.lane, priority=priority, retry=False)
    except (OperationalError, OSError) as fault:
        resting_until = time.monotonic() + REST
        log.warning("Redis does not answer (%s); jobs are sent again within half a minute", fault)


def messages(lane: str) -> int:
    """Return how many messages of the lane wait for a worker."""
    from celery import current_app

    if not settings.REDIS_URL:
        return 0
    with current_app.connection_for_read() as connection:
        return int(connection.default_channel.queue_declare(lane).message_count)
