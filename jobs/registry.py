"""What apps register: the kinds of job, and what is done each hour."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import reduce
from importlib import import_module
from typing import Any, Generic, ParamSpec, Protocol

from django.apps import apps
from django.conf import settings
from django.db import DatabaseError, InterfaceError
from django.db.models import Model, QuerySet
from django.urls import reverse

from jobs.models import Job
from jobs.queue import TASK_NAMES, JobQuerySet, Lane, key_of

log = logging.getLogger(__name__)
P = ParamSpec("P")
SELF = "self"  # the path from a row to itself


class Report(Protocol):
    """The function by which a running job reports its progress, which also renews its lease."""

    def __call__(self, done: int, total: int, message: str = "") -> None: ...


@dataclass(frozen=True)
class Kind(Generic[P]):
    """A kind of job: the function that does the work, and what everybody has to know about its jobs.

    Calling a kind calls the function. It gets the row first that the job is about, if there is one, then the function
    that reports progress, then the arguments of the job.
    """

    code: str  # its name for programs, such as `score-runs`
    label: str  # and for people
    work: Callable[P, bytes | None]  # only a part returns something
    lane: str = Lane.LONG  # quick work takes seconds, and judging makes what annotators wait for
    of: type[Model] | str | None = None  # the model of the rows that its jobs are about, or the model's name
    # The path from the row to the campaign or corpus that the job belongs to, such as `query.campaign`, or `self`;
    # None if that is the site.
    owner: str | None = None
    person: str | None = None  # the path from the row to the one user whom the job is for, if it is not for all members
    subject: str = "{0}"  # what the job is about, in words: a format of the row
    page: tuple[str, ...] = ()  # the name of the address about it, and the paths from the row to its parameters
    for_leads: bool = False  # whether only those who may change the owner see its jobs
    by_members: bool = False  # whether everybody who sees a job may have it tried again: everybody may ask for it
    is_part: bool = False  # whether its jobs are parts of others (`jobs.parts`), which no list shows
    # Errors whose message says why the work cannot be done, so that trying again by itself is of no use.
    refusals: tuple[type[Exception], ...] = ()

    @property
    def task(self) -> str:
        """The name of its Celery task: the app and the function, such as `judging.cut_clips`."""
        return f"{self.work.__module__.partition('.')[0]}.{self.work.__name__}"

    def __call__(self, *arguments: P.args, **options: P.kwargs) -> bytes | None:
        return self.work(*arguments, **options)

    def ask(self, row: Model | None = None, key: str = "", by: int | None = None, **arguments: Any) -> Job:
        """Return the job about this row, as `Job.objects.ask`. The key tells several jobs about one row apart.

        `by` is the primary key of the user who may not have too many such jobs waiting. By default that is the person
        whom the job is for; nobody, if it is work of a campaign, which is done once, whoever asks for it.
        """
        about = self.about(row, key)
        by = by or getattr(about.get("person"), "pk", None)
        return Job.objects.ask(self.code, key, row.pk if row else 0, about, by, **arguments)

    def about(self, row: Model | None, key: str) -> dict[str, Any]:
        """Return the columns that tell people what the job is, and workers where it waits."""
        about = self._about_row(row) if row else {"subject": key[:200]}
        about |= {"label": self.label, "for_leads": self.for_leads, "by_members": self.by_members}
        return about | {"lane": self.lane, "is_part": self.is_part}

    def _about_row(self, row: Model) -> dict[str, Any]:
        name, *paths = self.page or ("",)
        return {
            "subject": self.subject.format(row)[:200],
            "address": reverse(name, args=[_follow(row, path) for path in paths]) if name else "",
            "owner": key_of(_follow(row, self.owner)) if self.owner else "",
            "person": _follow(row, self.person) if self.person else None,
        }

    def jobs(self, rows: Model | QuerySet[Any] | Iterable[Model] | None = None) -> JobQuerySet:
        """Return the jobs of this kind, or those about one row or several."""
        jobs = Job.objects.filter(kind=self.code)
        if rows is None:
            return jobs
        if isinstance(rows, Model):
            return jobs.filter(row=rows.pk)
        keys: Any = rows.order_by().values("pk") if isinstance(rows, QuerySet) else [row.pk for row in rows]
        return jobs.filter(row__in=keys)

    def run(self, job: Job, report: Report) -> bytes | None:
        """Do the work of a job, and return its result. If the row that it is about is gone, nothing is left to do."""
        work: Callable[..., bytes | None] = self.work
        if self.of is None:
            return work(report, **job.arguments)
        row = self.rows().filter(pk=job.row).first()
        return work(row, report, **job.arguments) if row else None

    def rows(self) -> QuerySet[Any]:
        """Return the rows that its jobs can be about."""
        model = apps.get_model(self.of) if isinstance(self.of, str) else self.of
        assert model
        rows: QuerySet[Any] = model._base_manager.all()
        return rows if self.owner in (None, SELF) else rows.select_related(self.owner.replace(".", "__"))


KINDS: dict[str, Kind[...]] = {}


def kind(code: str, label: str, **about: Any) -> Callable[[Callable[P, bytes | None]], Kind[P]]:
    """Register the decorated function as the work of a kind of job; `Kind` has the rest. It must be idempotent."""

    def register(work: Callable[P, bytes | None]) -> Kind[P]:
        made = Kind(code, label, work, **about)
        KINDS[code] = made
        TASK_NAMES[code] = made.task
        return made

    return register


def _follow(row: Model, path: str) -> Any:
    return row if path == SELF else reduce(getattr, path.split("."), row)


Task = Callable[[], None]
TASKS: list[Task] = []


def each_hour(task: Task) -> Task:
    """Register the decorated function as upkeep, in the order of the apps."""
    TASKS.append(task)
    return task


def do_upkeep() -> None:
    """Do all that is registered. What goes wrong in one task is logged, and hinders neither the others nor the jobs."""
    for task in TASKS:
        try:
            task()
        except (InterfaceError, DatabaseError):
            raise  # The database is away, and the caller waits for it.
        except Exception:
            log.exception("upkeep: %s", task.__name__)


@each_hour
def clear_sessions() -> None:
    """Delete the sessions that have expired. Nothing else does, and every sign-in makes one."""
    import_module(settings.SESSION_ENGINE).SessionStore.clear_expired()


@each_hour
def forget_jobs_of_rows_that_are_gone() -> None:
    """Delete the jobs about rows that were deleted, such as a draft. Nothing of them can be done any more."""
    for each in KINDS.values():
        if each.of:
            there = each.rows().order_by().values("pk")
            each.jobs().exclude(state=Job.State.RUNNING).exclude(row__in=there).delete()
