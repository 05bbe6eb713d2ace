"""How a job reaches a worker: by Celery where there is Redis, by the worker's own look at the table elsewhere."""

import logging

from django.conf import settings

log = logging.getLogger(__name__)


def send(pk: int) -> None:
    """Wake a worker up for the job. Losing this message loses nothing: the sweeper sends it again."""
    if not settings.REDIS_URL:
        return
    from kombu.exceptions import OperationalError

    from jobs.tasks import run_job

    try:
        run_job.apply_async([pk], retry=False)
    except OperationalError as fault:
        log.warning("Redis does not answer (%s); the sweeper will send job %s later", fault, pk)
