"""The Celery tasks: run one job, and send again what was lost on the way."""

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
