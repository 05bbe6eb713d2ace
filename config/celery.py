"""Celery on Redis, which wakes workers up if REDIS_URL is set. The state of a job is in its row only."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
app = Celery("reeljudge")
app.config_from_object("config.celeryconfig")
app.autodiscover_tasks(["jobs"], related_name="running")
