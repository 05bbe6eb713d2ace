"""Parts: what a running job shares with all workers that have nothing more urgent to do.

A part is a job of a kind of its own, which no list shows. Whoever needs it asks for it, and works on what nobody has
taken yet; so parts are done where only one worker is, and two jobs that need the same part have it done once.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.db.models.functions import Now

from jobs.errors import JobError, JobLost, JobPostponed
from jobs.models import Job
from jobs.queue import JobQuerySet
from jobs.registry import Kind, Report, each_hour
from jobs.running import run, worker_name

SECONDS_BETWEEN_LOOKS = 0.2
KEPT = timedelta(days=1)


def share(kind: Kind[...], row: Any, parts: Sequence[dict[str, Any]], report: Report, doing: str) -> None:
    """Have all parts done, and return then. Each is given by its arguments, which tell it from the others.

    A part stores its outcome itself. Name only those whose outcome is not there yet: so a job that begins again does
    no part again.

    Raises
    ------
    JobError
        If a part has failed.
    JobPostponed
        If what a part needs is not there now.
    """
    by_key = {_key(arguments): arguments for arguments in parts}
    mine = kind.jobs(row).filter(key__in=list(by_key))

    def progress(done: int) -> None:
        report(done, len(by_key), f"{doing}: {done:,} of {len(by_key):,} parts")

    under_way = set(mine.unfinished().values_list("key", flat=True))
    for key in [key for key in by_key if key not in under_way]:
        progress(0)
        kind.ask(row, key, **by_key[key])
    try:
        while (done := _done(mine, len(by_key))) < len(by_key):
            progress(done)
            if part := mine.take(worker_name()):
                run(part, lambda _, done=done: progress(done))  # type: ignore[misc]
            else:
                _wait_for(mine)
    except JobLost:
        mine.filter(state=Job.State.WAITING).delete()  # nobody waits for them, or whoever does asks again
        raise


def _key(arguments: dict[str, Any]) -> str:
    return " ".join(map(str, arguments.values()))


def _done(mine: JobQuerySet, wanted: int) -> int:
    """Return how many of the parts are done."""
    numbers = mine.numbers()
    if failed := mine.failed().first():
        raise JobError(failed.error)
    if sum(numbers.values()) < wanted:
        raise JobPostponed("parts of this work were cancelled; it begins again")
    return numbers[Job.State.DONE]


def _wait_for(mine: JobQuerySet) -> None:
    """Wait a moment for those who work on the other parts. If nobody does, what a part needs is not there."""
    unfinished = mine.unfinished()
    if not mine.running().exists() and (part := unfinished.exclude(error="").filter(due__gt=Now()).first()):
        raise JobPostponed(part.error)
    time.sleep(SECONDS_BETWEEN_LOOKS)


@each_hour
def forget_parts_that_were_done() -> None:
    Job.objects.filter(is_part=True, ended__lt=Now() - KEPT).delete()
