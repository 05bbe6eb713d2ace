"""Many people who do something in the same moment, each with a connection of their own."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from django.db import connections

from base.errors import Busy, ReeljudgeError

# So many are inside the database at a time, as on a web server: PostgreSQL has a hundred connections for all,
# and four processes of tests share them.
CONNECTIONS = 16
TRIES = 50
Given = TypeVar("Given")


def at_once(*verbs: Callable[[], Given]) -> list[Given | ReeljudgeError]:
    """Do all in the same moment; what each gave, or the fault that it was answered with.

    Who is told that it is busy asks again, as the browser does.
    """
    start = threading.Barrier(len(verbs), timeout=60)
    inside = threading.BoundedSemaphore(CONNECTIONS)

    def one(verb: Callable[[], Given]) -> Given | ReeljudgeError:
        start.wait()
        with inside:
            try:
                return _patiently(verb)
            except ReeljudgeError as fault:
                return fault
            finally:
                connections.close_all()

    with ThreadPoolExecutor(len(verbs)) as threads:
        return list(threads.map(one, verbs))


def _patiently(verb: Callable[[], Given]) -> Given:
    for _ in range(TRIES):
        with contextlib.suppress(Busy):
            return verb()
    raise AssertionError(f"busy {TRIES} times")
