"""The Celery tasks: one runs a job, the other sends lost messages again."""

from celery import shared_task

from jobs.models import Job
from jobs.running import run, worker_name
from jobs.sending import TASK, send


@shared_task(name=TASK)  # type: ignore[untyped-decorator]
def run_job(pk: int) -> None:
    if job := Job.objects.take(worker_name(), pk):
        run(job)


@shared_task(name="jobs.sweep")  # type: ignore[untyped-decorator]
def sweep() -> int:
    due = list(Job.objects.due().values_list("pk", flat=True)[:1000])
    for pk in due:
        send(pk)
    return len(due)
