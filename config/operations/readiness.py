"""Whether this machine can answer requests (the database and its migrations), and what else work needs."""

from __future__ import annotations

import logging
import os
import shutil
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NoAnswer
from pathlib import Path
from threading import Event, Lock, Thread

from django.conf import settings
from django.core.files.storage import FileSystemStorage, default_storage
from django.db import InterfaceError, OperationalError, connection, connections

from config.operations import schema
from jobs.models import WorkerHeartbeat
from jobs.queue import Lane

log = logging.getLogger(__name__)
OK = "ok"
SECONDS_OF_PATIENCE = 3.0  # for all checks together
SECONDS_KEPT = 2.0  # during which an outcome is given again, so that asking often costs nothing


def state(names: Iterable[str]) -> dict[str, str]:
    """Return for each of these checks `ok`, or in a few words what is wrong."""
    end = time.monotonic() + SECONDS_OF_PATIENCE
    looks = {name: _look(name) for name in names}
    return {name: _outcome(look, end) for name, look in looks.items()}


def _outcome(look: Future[str], end: float) -> str:
    try:
        return look.result(max(0.0, end - time.monotonic()))
    except NoAnswer:
        return f"no answer within {SECONDS_OF_PATIENCE:.0f} seconds"


_looks: dict[str, tuple[float, Future[str]]] = {}
_lock = Lock()


def _look(name: str) -> Future[str]:
    """Return the check that is under way or was made just now, or begin one. At most one of each is under way."""
    with _lock:
        began, look = _looks.get(name, (0.0, None))
        if look is None or (look.done() and time.monotonic() - began > SECONDS_KEPT):
            look = Future()
            _looks[name] = time.monotonic(), look
            # A thread that nobody waits for: a check that hangs delays neither the answer nor the server's end.
            Thread(target=_make, args=(name, look), daemon=True).start()
        return look


def _make(name: str, look: Future[str]) -> None:
    try:
        found = CHECKS[name]()
    except Exception as fault:  # whatever it is, it is the outcome
        if isinstance(fault, OperationalError | InterfaceError):
            log.warning("not ready: %s", name, exc_info=fault)
        else:
            log.warning("not ready: %s: %s: %s", name, type(fault).__name__, " ".join(str(fault).split()))
        found = "failed"
    finally:
        connections.close_all()
    look.set_result(found)


def _database() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return OK


def _migrations() -> str:
    """Whether the database has this program's tables. Their columns are compared until once all were there."""
    if number := schema.unapplied():
        return f"{number} migrations are not applied; run `migrate`"
    return _columns()


def _columns() -> str:
    if not _compared.is_set():
        if missing := schema.missing():
            return missing
        _compared.set()
    return OK


_compared = Event()


def _release() -> str:
    """Whether the tables are of this version, or of a later one with which it works."""
    try:
        schema.must_suit()
    except schema.OtherDatabase as refusal:
        return str(refusal)
    return OK


def _media() -> str:
    if isinstance(default_storage, FileSystemStorage) or not settings.MEDIA_STORE:
        folder = Path(settings.MEDIA_ROOT)
        # The first clip makes the folder.
        return OK if os.access(folder if folder.exists() else folder.parent, os.R_OK | os.X_OK) else "failed"
    default_storage.exists("readyz")  # asks the store, whatever it answers
    return OK


def free_bytes(folder: Path) -> int:
    """Return how much the disk of a folder can still hold. A folder that is not there yet has its parent's disk."""
    there = next(each for each in (folder, *folder.parents) if each.exists())
    return shutil.disk_usage(there).free


def _workers() -> str:
    served = set(WorkerHeartbeat.objects.recent().values_list("lane", flat=True))
    idle = [lane for lane in Lane.values if lane not in served]
    return f"nobody takes jobs of the lane {', '.join(idle)}" if idle else OK


CHECKS: dict[str, Callable[[], str]] = {
    "database": _database,
    "migrations": _migrations,
    "release": _release,
    "media": _media,
    "workers": _workers,
}
# Without these no request can be answered. What else fails is the same for all machines, so that a balancer which left
# a machine out for it would leave out all of them.
TO_ANSWER = ("database", "migrations")
