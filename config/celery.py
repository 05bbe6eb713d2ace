"""Celery on Redis, which runs the jobs if REDIS_URL is set. The state of a job is in its row only."""

import os
import socket

from celery import Celery
from celery.signals import heartbeat_sent
from django.conf import settings

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
app = Celery("reeljudge")
app.config_from_object("config.celeryconfig")
app.autodiscover_tasks()


@heartbeat_sent.connect  # type: ignore[untyped-decorator]
def note(**_: object) -> None:
    """Note every two seconds that this machine's worker listens to Redis, for the health check of its container."""
    (settings.HOME / f"celery-worker-{socket.gethostname()}").touch()
