"""Jobs: long work, with a row for each job. The row alone holds the state; Celery runs it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from random import SystemRandom
from typing import Any

from django.conf import settings
from django.db import models, transaction
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils import timezone

from base.text import in_words
from jobs.errors import JobLost
from jobs.queue import CANCELLED, JobQuerySet, JobState, Lane, machine_of, send

# Seconds until a postponed job is tried again; each wait is twice the one before.
FIRST_WAIT, LONGEST_WAIT = 30, 3600
REST = 300  # seconds until a job looks again for what it waits for
LEAST_TO_ESTIMATE = 2.0  # seconds of a stage before its pace tells how long it takes
HEARTBEAT_HOLDS = timedelta(seconds=90)
SPREAD = 0.25  # of each wait, by chance, so that jobs that were postponed together do not come back together


def stage(message: str) -> str:
    """Return what a job does, without how much of it is done: `encoding captions` of `encoding captions: 3 of 9`."""
    return message.partition(":")[0]


class Job(models.Model):
    """A piece of long work. There is one job for each kind, row and key."""

    State = JobState

    kind = models.CharField(max_length=40)
    row = models.BigIntegerField(default=0, help_text="primary key of what it is about; 0 if that is no row")
    key = models.CharField(max_length=200, blank=True, help_text="of several jobs about one row")
    arguments = models.JSONField(default=dict)
    # For people
    label = models.CharField(max_length=60, blank=True, help_text="what kind of work it is")
    subject = models.CharField(max_length=200, blank=True, help_text="what it is about")
    address = models.CharField(max_length=300, blank=True, help_text="of the page about that")
    owner = models.CharField(max_length=40, blank=True, help_text="such as campaign 7; empty: the site")
    for_leads = models.BooleanField(default=False, help_text="whether only leads see it")
    by_members = models.BooleanField(default=False, help_text="whether whoever sees it may try it again")
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, null=True, related_name="+", help_text="whom alone it is for"
    )
    asked_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+", help_text="to whom it counts"
    )
    state = models.CharField(max_length=10, choices=State.choices, default=State.WAITING)
    lane = models.CharField(max_length=10, choices=Lane.choices, default=Lane.LONG, db_default=Lane.LONG)
    urgent = models.BooleanField(default=False, db_default=False, help_text="whether somebody waits for it now")
    is_part = models.BooleanField(default=False, db_default=False, help_text="of another job; then no list shows it")
    result = models.BinaryField(null=True, help_text="what a part has returned, for those who share it")
    due = models.DateTimeField()
    done = models.PositiveIntegerField(default=0)
    total = models.PositiveIntegerField(default=0)
    message = models.CharField(max_length=200, blank=True)
    stage_began = models.DateTimeField(null=True, help_text="when it began with what the message says now")
    attempts = models.PositiveSmallIntegerField(default=0)
    waits = models.PositiveSmallIntegerField(default=0, help_text="how often it was postponed")
    left_by = models.TextField(blank=True, help_text="machines that lack what it needs: |name|name|")
    again = models.BooleanField(default=False, help_text="asked for once more while it was running")
    worker = models.CharField(max_length=100, blank=True)
    lease = models.DateTimeField(null=True)
    error = models.TextField(blank=True)
    created = models.DateTimeField(db_default=Now())
    started = models.DateTimeField(null=True)
    ended = models.DateTimeField(null=True)

    objects = JobQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["kind", "row", "key"], name="one_job_per_kind_row_and_key"),
            models.CheckConstraint(
                condition=~Q(state=JobState.RUNNING) | Q(lease__isnull=False), name="running_job_has_a_lease"
            ),
        ]
        indexes = [models.Index(fields=["state", "due"]), models.Index(fields=["owner", "state"])]

    def __str__(self) -> str:
        return ", ".join(filter(None, [self.label or self.kind, self.subject or self.key]))

    @property
    def percent(self) -> int:
        return round(100 * self.done / self.total) if self.total else 0

    @property
    def time_left(self) -> str:
        """How long the present stage takes on, in words, at its pace so far; empty while nobody can tell."""
        if not self.stage_began or not 0 < self.done < self.total:
            return ""
        took = (timezone.now() - self.stage_began).total_seconds()
        left = took * (self.total - self.done) / self.done
        return "" if took < LEAST_TO_ESTIMATE or left < 1 else f"about {in_words(left)}"

    @property
    def is_running(self) -> bool:
        return self.state == Job.State.RUNNING

    @property
    def is_unfinished(self) -> bool:
        return self.state in (Job.State.WAITING, Job.State.RUNNING)

    @property
    def has_failed(self) -> bool:
        return self.state == Job.State.FAILED

    @property
    def is_cancelled(self) -> bool:
        return self.has_failed and self.error == CANCELLED

    @property
    def is_to_begin_later(self) -> bool:
        return self.state == Job.State.WAITING and self.due > timezone.now()

    @property
    def is_delayed(self) -> bool:
        """Whether an attempt came to nothing, and the next one is at `due`."""
        return self.state == Job.State.WAITING and bool(self.error)

    @property
    def is_worn_out(self) -> bool:
        return self.is_running and self.attempts >= settings.JOB_ATTEMPTS

    def try_again(self) -> Job:
        """Have the job done once more, from its beginning, and now. Doing it twice is harmless.

        It counts to who asked for it, whoever tries it again.
        """
        return Job.objects.ask(self.kind, self.key, self.row, by=self.asked_by_id, **self.arguments)

    def ask_again(self, arguments: dict[str, Any], about: dict[str, Any]) -> None:
        """Have the job run once more for work that came after its last start. The caller holds the row's lock."""
        if self.state in (Job.State.DONE, Job.State.FAILED):
            self.revive(arguments, about)
        elif self.state == Job.State.RUNNING:
            self.again = True
            self.save(update_fields=["again"])
        else:  # now, if it was to be later; else it keeps its place before those that came after it
            Job.objects.filter(pk=self.pk, due__gt=Now()).update(due=Now())

    def revive(self, arguments: dict[str, Any], about: dict[str, Any]) -> None:
        """Queue an ended job again, and count its attempts from zero."""
        for name, value in about.items():
            setattr(self, name, value)
        self.arguments, self.state, self.due = arguments, Job.State.WAITING, Now()
        self.attempts = self.waits = self.done = self.total = 0
        self.message = self.error = self.left_by = ""
        self.urgent, self.result = False, None
        self.save()

    def start(self, worker: str) -> None:
        self.state, self.worker, self.started, self.again = Job.State.RUNNING, worker, Now(), False
        self.lease = Now() + timedelta(seconds=settings.JOB_LEASE)
        self.stage_began = None
        self.attempts = F("attempts") + 1
        self.save()
        self.refresh_from_db()

    def report(self, done: int, total: int, message: str = "") -> None:
        """Store the progress and renew the lease.

        Raises JobLost if another worker has taken the job over.
        """
        new_stage = self.stage_began is None or stage(message) != stage(self.message) or total != self.total
        self.stage_began = timezone.now() if new_stage else self.stage_began
        self._mine(
            done=done,
            total=total,
            message=message[:200],
            stage_began=self.stage_began,
            lease=Now() + timedelta(seconds=settings.JOB_LEASE),
        )
        self.done, self.total, self.message = done, total, message[:200]

    def finish(self, result: bytes | None = None) -> None:
        self._end(state=Job.State.DONE, done=F("total"), error="", result=result)

    def fail(self, error: str) -> None:
        self._end(state=Job.State.FAILED, error=error)

    def retry(self, error: str) -> None:
        """Queue the job again after an error, with a longer wait each time. After the last attempt it fails."""
        if self.attempts >= settings.JOB_ATTEMPTS:
            return self.fail(error)
        wait = timedelta(seconds=5 * 4 ** (self.attempts - 1))
        return self._mine(state=Job.State.WAITING, due=Now() + wait, lease=None, error=error)

    def postpone(self, error: str) -> None:
        """Queue the job again when what it needs may be there again. The attempt does not count."""
        self._postpone(error, self.left_by)

    def hand_over(self, error: str) -> None:
        """Leave the job to the workers of other machines. This machine tries again as if the job were postponed."""
        machine = machine_of(self.worker)
        known = f"|{machine}|" in self.left_by
        self._postpone(error, self.left_by if known else f"{self.left_by or '|'}{machine}|")
        transaction.on_commit(lambda: send(self))

    def rest(self, reason: str) -> None:
        """Queue the job again for when it is to look once more. The attempt does not count."""
        self._wait(REST, reason, self.left_by)

    def _postpone(self, error: str, left_by: str) -> None:
        self._wait(min(LONGEST_WAIT, FIRST_WAIT * 2 ** min(self.waits, 10)), error, left_by)

    def _wait(self, wait: float, error: str, left_by: str) -> None:
        wait = round(wait * SystemRandom().uniform(1 - SPREAD, 1 + SPREAD))
        self._mine(
            state=Job.State.WAITING,
            due=Now() + timedelta(seconds=wait),
            lease=None,
            error=error,
            attempts=F("attempts") - 1,
            waits=F("waits") + 1,
            left_by=left_by,
        )

    def end(self) -> bool:
        """End a job that has not ended, and return whether this call did. Its worker stops at its next report."""
        unfinished = Job.objects.unfinished().filter(pk=self.pk)
        ended = {"state": Job.State.FAILED, "lease": None, "again": False, "ended": Now()}
        return bool(unfinished.update(error=CANCELLED, **ended))

    def release(self) -> None:
        """Give the job back, because the worker was told to stop. The attempt does not count."""
        self._mine(state=Job.State.WAITING, due=Now(), lease=None, attempts=F("attempts") - 1)
        transaction.on_commit(lambda: send(self))

    def _end(self, **changes: Any) -> None:
        """Store the outcome, and queue the job once more if somebody asked for it while it ran."""
        with transaction.atomic():
            self._mine(lease=None, ended=Now(), **changes)
            rows = Job.objects.filter(pk=self.pk, again=True)
            if rows.update(again=False, state=Job.State.WAITING, due=Now(), attempts=0, waits=0, left_by=""):
                transaction.on_commit(lambda: send(self))

    def _mine(self, **changes: Any) -> None:
        # The worker and the number of attempts are the fence: a worker that takes the job over changes them.
        mine = Job.objects.filter(pk=self.pk, state=Job.State.RUNNING, attempts=self.attempts, worker=self.worker)
        if not mine.update(**changes):
            raise JobLost(f"{self} is in the hands of another worker")


class WorkerHeartbeatQuerySet(models.QuerySet["WorkerHeartbeat"]):
    def recent(self) -> WorkerHeartbeatQuerySet:
        """Return the heartbeats of processes that run."""
        return self.filter(at__gt=Now() - HEARTBEAT_HOLDS)


class WorkerHeartbeat(models.Model):
    """When a process that takes the jobs of a lane last reported. It does so every 20 seconds, whatever it does."""

    worker = models.CharField(max_length=100)
    lane = models.CharField(max_length=10, choices=Lane.choices)
    version = models.CharField(max_length=40, db_default="", help_text="of Reeljudge that it runs; empty: an older one")
    at = models.DateTimeField()

    objects = WorkerHeartbeatQuerySet.as_manager()

    class Meta:
        db_table = "jobs_sign"
        constraints = [models.UniqueConstraint(fields=["worker", "lane"], name="one_sign_per_worker_and_lane")]

    def __str__(self) -> str:
        return f"{self.worker} ({self.lane}) at {self.at:%H:%M:%S}"

    @staticmethod
    def record(worker: str, lanes: Iterable[str]) -> None:
        """Store that the worker takes the jobs of these lanes, and forget workers that ended without a word."""
        heartbeats = [WorkerHeartbeat(worker=worker, lane=lane, version=settings.VERSION, at=Now()) for lane in lanes]
        key, changes = ["worker", "lane"], ["version", "at"]
        WorkerHeartbeat.objects.bulk_create(heartbeats, update_conflicts=True, unique_fields=key, update_fields=changes)
        WorkerHeartbeat.objects.filter(at__lt=Now() - HEARTBEAT_HOLDS).delete()

    @staticmethod
    def forget(worker: str) -> None:
        WorkerHeartbeat.objects.filter(worker=worker).delete()
