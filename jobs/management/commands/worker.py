"""manage.py worker: run jobs from the table."""

import logging
import signal
import sys
import time
from argparse import ArgumentParser
from collections.abc import Sequence
from threading import Thread
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, InterfaceError, close_old_connections, connection

from base.errors import Busy
from base.text import printable
from jobs.errors import Stopped
from jobs.models import Job
from jobs.queue import SECONDS_BETWEEN_UPKEEP, Lane
from jobs.registry import do_upkeep
from jobs.running import heartbeats, is_stopping, run_with_progress, stop, work_off, worker_name

log = logging.getLogger(__name__)
SECONDS_BETWEEN_LOOKS = 0.5
# What a worker does side by side if no lane is named: a mail waits for no clip, a clip for no ranking, and nothing for
# a training, which waits for nothing but other trainings.
SLOTS = [[Lane.QUICK], [Lane.JUDGING], [Lane.TRAINING], [Lane.QUICK, Lane.JUDGING, Lane.LONG]]


class Command(BaseCommand):
    help = "Run jobs, such as ranking and cutting clips. With --until-idle, run all due jobs with progress, and end."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--until-idle", action="store_true", help="end when no job is due")
        parser.add_argument(
            "--lane", action="append", choices=Lane.values, help="take jobs of this lane only; may be repeated"
        )

    def handle(self, **options: Any) -> None:
        signal.signal(signal.SIGTERM, stop)
        try:
            if options["until_idle"]:
                if failed := work_off():
                    last = printable(f"{failed[-1]}: {failed[-1].error}")
                    raise CommandError(f"{len(failed)} job(s) are not done; the last: {last}")
            else:
                with heartbeats(options["lane"] or Lane.values):
                    _work_side_by_side([options["lane"]] if options["lane"] else SLOTS)
        except (KeyboardInterrupt, Stopped):
            sys.exit(0)


def _work_side_by_side(slots: Sequence[Sequence[str]]) -> None:
    """Work in the lanes of each slot: those of the last in this thread, and of the others in threads of their own."""
    *others, mine = slots
    threads = [Thread(target=_work_in_thread, args=(lanes,)) for lanes in others]
    for thread in threads:
        thread.start()
    try:
        _work_for_ever(mine)
    finally:
        stop()
        for thread in threads:
            thread.join()


def _work_in_thread(lanes: Sequence[str]) -> None:
    try:
        _work_for_ever(lanes, looks_after=False)
    except Stopped:
        pass
    finally:
        stop()  # whatever ended this thread: without its lane, the worker is better started again
        connection.close()


def _work_for_ever(lanes: Sequence[str], looks_after: bool = True) -> None:
    """Run the jobs of these lanes, or of all. `looks_after` says whether this is the slot that does upkeep too."""
    next_upkeep = time.monotonic()
    while not is_stopping():
        close_old_connections()
        try:
            if looks_after and time.monotonic() >= next_upkeep:
                next_upkeep = time.monotonic() + SECONDS_BETWEEN_UPKEEP
                do_upkeep()
            if job := Job.objects.take(worker_name(), lanes):
                run_with_progress(job, sys.stdout, if_long=True)
                continue
        except (InterfaceError, DatabaseError, Busy) as fault:
            log.warning("the database is busy or restarting; looking again", exc_info=fault)
        time.sleep(SECONDS_BETWEEN_LOOKS)
