"""Celery on Redis: how jobs travel when REDIS_URL is set. The Job rows stay the truth."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
app = Celery("reeljudge")
app.config_from_object("config.celeryconfig")
app.autodiscover_tasks(["jobs"])
