"""The project: settings, addresses, and Celery's application where there is a Redis to reach it through."""

import os

if os.environ.get("REDIS_URL"):
    from config.celery import app as celery_app  # noqa: F401 - shared tasks find their broker by it
