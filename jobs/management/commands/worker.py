"""manage.py worker: run jobs from the table."""

import logging
import signal
import sys
import time
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, InterfaceError, close_old_connections

from base.errors import Busy
from base.text import printable
from jobs.errors import Stopped
from jobs.models import Job, Sign
from jobs.queue import SECONDS_BETWEEN_UPKEEP
from jobs.registry import do_upkeep
from jobs.running import is_stopping, run_in_log, stop, work_off, worker_name

log = logging.getLogger(__name__)
SECONDS_BETWEEN_LOOKS = 0.5
SECONDS_BETWEEN_SIGNS = 20


class Command(BaseCommand):
    help = "Run jobs, such as ranking and cutting clips. With --until-idle, run all due jobs with progress, and end."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--until-idle", action="store_true", help="end when no job is due")

    def handle(self, **options: Any) -> None:
        signal.signal(signal.SIGTERM, stop)
        try:
            if options["until_idle"]:
                if failed := work_off():
                    last = printable(f"{failed[-1]}: {failed[-1].error}")
                    raise CommandError(f"{len(failed)} job(s) are not done; the last: {last}")
            else:
                _work_for_ever()
        except (KeyboardInterrupt, Stopped):
            sys.exit(0)


def _work_for_ever() -> None:
    next_upkeep = next_sign = time.monotonic()
    while not is_stopping():
        close_old_connections()
        try:
            if time.monotonic() >= next_upkeep:
                next_upkeep = time.monotonic() + SECONDS_BETWEEN_UPKEEP
                do_upkeep()
            if time.monotonic() >= next_sign:
                next_sign = time.monotonic() + SECONDS_BETWEEN_SIGNS
                Sign.leave(worker_name())
            if job := Job.objects.take(worker_name()):
                run_in_log(job, sys.stdout)
                continue
        except (InterfaceError, DatabaseError, Busy) as fault:
            log.warning("the database is busy or restarting; looking again", exc_info=fault)
        time.sleep(SECONDS_BETWEEN_LOOKS)
