"""The Celery tasks: one for each kind of job, and one for each task of the schedule."""

from __future__ import annotations

from typing import Any

from celery import shared_task
from celery.exceptions import Reject
from django.db.models import Count
from django.utils import timezone

from jobs.errors import JobFailed, Stopped
from jobs.models import Job
from jobs.queue import UNKNOWN, messages, send
from jobs.registry import KINDS, do_upkeep
from jobs.running import is_stopping, run, worker_name

MOST_SENT = 1000  # jobs of a lane that are sent again at a time


def run_job(task: Any, number: int) -> None:
    """Run a job, unless it is done, gone or in other hands. Have Celery try it again when it is due again.

    Raises JobFailed if it has failed.
    """
    if is_stopping():
        raise Reject("this worker is ending", requeue=True)
    job = Job.objects.take(worker_name(), pk=number)
    if job is None:
        return
    try:
        run(job)
    except Stopped:
        return  # given back, and sent again
    job = Job.objects.filter(pk=number).first()  # it may go with what it was about
    if job and job.has_failed:
        raise JobFailed(job.error)
    if job and job.is_delayed:
        seconds = (job.due - timezone.now()).total_seconds()
        raise task.retry(countdown=max(0.0, seconds), max_retries=None)


for name in [UNKNOWN, *(kind.task for kind in KINDS.values())]:
    shared_task(name=name, bind=True, throws=(JobFailed,))(run_job)


@shared_task(name="jobs.upkeep")  # type: ignore[untyped-decorator]
def upkeep() -> None:
    do_upkeep()


@shared_task(name="jobs.resend")  # type: ignore[untyped-decorator]
def resend() -> int:
    """Send jobs that are due again, as many in each lane as it lacks messages, and return how many."""
    due = Job.objects.due()
    numbers = due.order_by().values_list("lane").annotate(Count("pk"))
    lacking = {lane: max(0, min(number - messages(lane), MOST_SENT)) for lane, number in numbers}
    for lane, number in lacking.items():
        for job in due.filter(lane=lane).order_by("-urgent", "due", "pk")[:number]:
            send(job)
    return sum(lacking.values())
