"""Waking up a worker for a job by Celery. Without Redis the embedded worker looks at the table itself."""

from __future__ import annotations

import logging
import time
from functools import cache
from importlib import import_module
from threading import Thread

from django.conf import settings

log = logging.getLogger(__name__)
TASK = "jobs.run"  # the name of the Celery task that runs a job
DEADLINE = 1.0  # seconds that whoever asks for a job waits for Redis, whatever is wrong with it
REST = 15.0  # seconds without messages after one that was not published


class Publisher:
    """Publishes messages to Redis. Neither a Redis that refuses nor one that is silent delays anybody for long.

    A message is published in a thread of its own, because no time limit of a client covers all that can hang: finding
    the address, connecting, and waiting for an answer. After a failure no messages are published for a while, so that
    somebody who asks for a thousand jobs waits only once.
    """

    def __init__(self) -> None:
        self.resting_until = 0.0

    def publish(self, pk: int) -> bool:
        """Return whether Redis has taken the message within the deadline."""
        if time.monotonic() < self.resting_until:
            return False
        faults: list[str] = []
        _get_ready()
        thread = Thread(target=_send_task, args=(pk, faults), daemon=True)
        thread.start()
        thread.join(DEADLINE)
        if thread.is_alive():
            faults.append(f"no answer in {DEADLINE:g} s")
        if faults:
            self.resting_until = time.monotonic() + REST
            log.warning("Redis does not answer (%s); the sweeper will send job %s later", faults[0], pk)
        return not faults


publisher = Publisher()


def send(pk: int) -> None:
    """Send a message that wakes up a worker for the job. If it is lost, the sweeper sends it again."""
    if settings.REDIS_URL:
        publisher.publish(pk)


@cache
def _get_ready() -> None:
    """Import all that sending needs, which Celery imports late. It takes seconds on a busy machine, and Redis none."""
    from celery import current_app

    for name in ("app.events", "backends.base", "canvas", "events", "result"):
        import_module(f"celery.{name}")
    with current_app.connection_for_write() as connection:  # which does not connect yet
        _ = current_app.amqp, connection.transport


def _send_task(pk: int, faults: list[str]) -> None:
    from celery import current_app
    from kombu.exceptions import OperationalError

    try:
        current_app.send_task(TASK, [pk], retry=False)
    except (OperationalError, OSError) as fault:
        faults.append(str(fault))
