"""Parts: what a running job shares with all workers that have nothing more urgent to do.

A part is a job of a kind of its own, which no list shows. Whoever needs it asks for it, and works on what nobody has
taken yet; so parts are done where only one worker is, and two jobs that need the same part have it done once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from functools import partial
from typing import Any

from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now

from jobs.errors import JobError, JobLost, JobPostponed
from jobs.models import Job
from jobs.queue import JobQuerySet, send
from jobs.registry import Kind, each_hour
from jobs.running import run, worker_name

SECONDS_BETWEEN_LOOKS = 0.2
KEPT = timedelta(days=1)
Say = Callable[[int, int, str], None]


def share(kind: Kind[...], row: Any, parts: Sequence[dict[str, Any]], report: Say, doing: str) -> Iterator[bytes]:
    """Have all parts done. Then return an iterator of their results, which reads one at a time.

    Each part is given by its arguments, which tell it from the others. A part that returns something is not done again
    until `forget` is called, or for a day: its arguments must name whatever the result depends on. Another stores its
    outcome itself; name only those whose outcome is not there yet.

    Raises JobError if a part has failed.
    Raises JobPostponed if what a part needs is not there now. Parts that nobody has tried are taken back, here as after
    a failure.
    """
    by_key = {_key(arguments): arguments for arguments in parts}
    mine = kind.jobs(row).filter(key__in=list(by_key))

    def progress(done: int) -> None:
        report(done, len(by_key), f"{doing}: {done:,} of {len(by_key):,} parts")

    not_to_ask_for = Q(state__in=[Job.State.WAITING, Job.State.RUNNING]) | Q(result__isnull=False)
    known = set(mine.filter(not_to_ask_for).values_list("key", flat=True))
    _ask(kind, row, {key: arguments for key, arguments in by_key.items() if key not in known})
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
    except (JobError, JobPostponed):
        mine.filter(state=Job.State.WAITING, error="").delete()  # the others would come to no more
        raise
    return _results(mine)


def _ask(kind: Kind[...], row: Any, parts: dict[str, dict[str, Any]]) -> None:
    """Ask for all of these parts at once; for those that have ended before, one by one."""
    about, number = kind.about(row, ""), row.pk if row else 0
    made = [
        Job(kind=kind.code, row=number, key=key, arguments=arguments, due=Now(), **about)
        for key, arguments in parts.items()
    ]
    Job.objects.bulk_create(made, ignore_conflicts=True, batch_size=500)
    for job in kind.jobs(row).filter(key__in=list(parts)):
        if job.is_unfinished:
            transaction.on_commit(partial(send, job))
        else:
            kind.ask(row, job.key, **parts[job.key])


def forget(kind: Kind[...], row: Any) -> None:
    """Delete the parts that nobody works on. Whoever has used their results calls this."""
    kind.jobs(row).exclude(state=Job.State.RUNNING).delete()


def _results(mine: JobQuerySet) -> Iterator[bytes]:
    for pk in list(mine.order_by("pk").values_list("pk", flat=True)):
        yield bytes(mine.values_list("result", flat=True).get(pk=pk) or b"")


def _key(arguments: dict[str, Any]) -> str:
    return " ".join(map(str, arguments.values()))


def _done(mine: JobQuerySet, wanted: int) -> int:
    """Return how many of the parts are done."""
    numbers = mine.numbers()
    if failed := mine.failed().first():
        raise JobError(failed.error)
    if (delayed := _delayed(mine)) and not delayed.left_by:
        raise JobPostponed(delayed.error)
    if sum(numbers.values()) < wanted:
        raise JobPostponed("parts of this work were cancelled; it begins again")
    return numbers[Job.State.DONE]


def _delayed(mine: JobQuerySet) -> Job | None:
    return mine.exclude(error="").filter(state=Job.State.WAITING, due__gt=Now()).first()


def _wait_for(mine: JobQuerySet) -> None:
    """Wait a moment for those who work on the other parts. If nobody does, no machine has what a part needs."""
    if not mine.running().exists() and (delayed := _delayed(mine)):
        raise JobPostponed(delayed.error)
    time.sleep(SECONDS_BETWEEN_LOOKS)


@each_hour
def forget_parts_that_were_done() -> None:
    Job.objects.filter(is_part=True, ended__lt=Now() - KEPT).delete()
