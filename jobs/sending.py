"""How a job reaches a worker: by Celery where there is Redis, by the worker's own look at the table elsewhere."""

import logging

from django.conf import settings

log = logging.getLogger(__name__)
TASK = "jobs.run"  # the name under which Celery knows what runs a job


def send(pk: int) -> None:
    """Wake a worker up for the job. Losing this message loses nothing: the sweeper sends it again."""
    if not settings.REDIS_URL:
        return
    from celery import current_app
    from kombu.exceptions import OperationalError

    try:
        current_app.send_task(TASK, [pk], retry=False)
    except OperationalError as fault:
        log.warning("Redis does not answer (%s); the sweeper will send job %s later", fault, pk)
