"""Waking up a worker for a job by Celery. Without Redis the embedded worker looks at the table itself."""

import logging

from django.conf import settings

log = logging.getLogger(__name__)
TASK = "jobs.run"  # the name of the Celery task that runs a job


def send(pk: int) -> None:
    """Send a message that wakes up a worker for the job. If it is lost, the sweeper sends it again."""
    if not settings.REDIS_URL:
        return
    from celery import current_app
    from kombu.exceptions import OperationalError

    try:
        current_app.send_task(TASK, [pk], retry=False)
    except OperationalError as fault:
        log.warning("Redis does not answer (%s); the sweeper will send job %s later", fault, pk)
