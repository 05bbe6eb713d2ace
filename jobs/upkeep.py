"""What has to be done from time to time, whatever jobs there are. Apps register what they have to do."""

import logging
from collections.abc import Callable
from importlib import import_module

from django.conf import settings
from django.db import DatabaseError, InterfaceError

log = logging.getLogger(__name__)
SECONDS_BETWEEN = 3600.0
Task = Callable[[], None]
TASKS: list[Task] = []


def each_hour(task: Task) -> Task:
    """Register the decorated function, in the order of the apps."""
    TASKS.append(task)
    return task


def do_all() -> None:
    """Do all that is registered. What goes wrong in one task is logged, and hinders neither the others nor the jobs."""
    for task in TASKS:
        try:
            task()
        except (InterfaceError, DatabaseError):
            raise  # The database is away, and the caller waits for it.
        except Exception:
            log.exception("upkeep: %s", task.__name__)


@each_hour
def clear_sessions() -> None:
    """Delete the sessions that have expired. Nothing else does, and every sign-in makes one."""
    import_module(settings.SESSION_ENGINE).SessionStore.clear_expired()
