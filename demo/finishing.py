"""Seeing the demo's jobs to their end, whoever does them."""

from __future__ import annotations

import sys
import time
from typing import TextIO

from django.db.models import Q
from django.db.models.functions import Now

from base.errors import ReeljudgeError
from jobs.models import Job
from jobs.running import work_off

SECONDS_BETWEEN_LOOKS = 0.2


def finish_jobs(out: TextIO = sys.stdout) -> None:
    """Run all jobs that are due, and wait for those that the worker of a running server has.

    Raises
    ------
    ReeljudgeError
        If a job fails.
    """
    due = Q(state=Job.State.RUNNING) | Q(due__lte=Now())
    while True:
        if failed := work_off(out):
            raise ReeljudgeError(f"{failed[0]}: {failed[0].error}")
        if not Job.objects.unfinished().filter(due).exists():
            return
        time.sleep(SECONDS_BETWEEN_LOOKS)
