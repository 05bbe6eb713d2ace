"""The Celery tasks: running a job, sending lost messages again, and upkeep."""

from celery import shared_task

from jobs.models import Job, Sign
from jobs.running import run, worker_name
from jobs.sending import TASK, send
from jobs.upkeep import do_all


@shared_task(name=TASK)  # type: ignore[untyped-decorator]
def run_job(pk: int) -> None:
    if job := Job.objects.take(worker_name(), pk):
        run(job)


@shared_task(name="jobs.upkeep")  # type: ignore[untyped-decorator]
def upkeep() -> None:
    do_all()


@shared_task(name="jobs.sweep")  # type: ignore[untyped-decorator]
def sweep() -> int:
    Sign.leave(worker_name())
    due = list(Job.objects.due().order_by("due").values_list("pk", flat=True)[:1000])
    for pk in due:
        send(pk)
    return len(due)
