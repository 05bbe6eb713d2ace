"""The project: settings, addresses, and Celery's application if REDIS_URL is set."""

import os

if os.environ.get("REDIS_URL"):
    from config.celery import app as celery_app  # noqa: F401 - shared tasks use its broker
