"""manage.py celery: run Celery's own commands, such as the worker and the sweeper."""

import sys
from argparse import REMAINDER, ArgumentParser
from typing import Any

from django.conf import settings

from base.commands import ReeljudgeCommand
from base.errors import ReeljudgeError


class Command(ReeljudgeCommand):
    help = "Run a command of Celery with the jobs of this installation: `celery worker --concurrency 1`, `celery beat`."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("words", nargs=REMAINDER, metavar="…", help="a command of Celery and its options")

    def handle(self, words: list[str], **options: Any) -> None:
        if not settings.REDIS_URL:
            raise ReeljudgeError(
                "REDIS_URL: is not set; expected redis://host:6379/0, from which Celery takes the jobs"
            )
        from celery import current_app  # of config/celery.py, which the setting REDIS_URL loads

        sys.exit(current_app.start(words))
