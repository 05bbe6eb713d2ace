"""Lines of the log: their form, the number of their request, and few of them while the database is away; and Sentry.

Settings load this: it imports nothing of Django's.
"""

import logging
import time
from contextvars import ContextVar
from threading import Lock
from typing import Any

SECONDS_BETWEEN_LINES = 15.0  # about a database that is away
# Of an event for Sentry:
KEPT = ("event_id", "level", "logger", "platform", "timestamp", "environment", "release", "sdk", "server_name")
KEPT_OF_A_FRAME = ("filename", "abs_path", "function", "module", "lineno", "in_app")
request_id: ContextVar[str] = ContextVar("request_id", default="-")


class LineFormatter(logging.Formatter):
    """One line for each message, with its time's offset: what somebody sent cannot pass for a line of the log.

    A traceback comes below, indented.
    """

    default_time_format, default_msec_format = "%Y-%m-%dT%H:%M:%S%z", None

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's name
        line = super().formatMessage(record)
        return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in line)

    def formatException(self, ei: Any) -> str:  # noqa: N802 - logging's name
        return "\n".join(f"    {line}" for line in super().formatException(ei).splitlines())


class RequestFilter(logging.Filter):
    """Gives each record of the log the number of its request, or `-` if it belongs to none."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.request_id = request_id.get()
        return True


class OutageFilter(logging.Filter):
    """Lets one line through in 15 seconds of all that a database causes which is away, with their number.

    Each request that is refused meanwhile would write a long traceback, which is the same each time.
    """

    def __init__(self) -> None:
        super().__init__()
        self._lock, self._quiet_until, self._held = Lock(), 0.0, 0

    def filter(self, record: logging.LogRecord) -> bool:
        from django.db import InterfaceError, OperationalError

        fault = record.exc_info[1] if record.exc_info else None
        is_outage = isinstance(fault, OperationalError | InterfaceError)
        if not is_outage and getattr(record, "status_code", None) != 503:
            return True
        with self._lock:
            if time.monotonic() < self._quiet_until:
                self._held += 1
                return False
            if not is_outage:  # an answer of 503 for another reason
                return True
            held, self._held, self._quiet_until = self._held, 0, time.monotonic() + SECONDS_BETWEEN_LINES
        reason = " ".join(str(fault).split())
        more = f"; {held} more like this since the last such line" if held else ""
        record.msg, record.args = f"{record.getMessage()} (the database: {reason}{more})", ()
        record.exc_info = record.exc_text = None
        return True


def start_sentry(dsn: str) -> None:
    """Errors go to Sentry: where in the program they arose, and nothing about persons or of what a corpus says."""
    import sentry_sdk

    sentry_sdk.init(
        dsn,
        send_default_pii=False,
        include_local_variables=False,
        max_request_body_size="never",
        max_breadcrumbs=0,
        before_send=without_words,  # type: ignore[arg-type]
    )


def without_words(event: dict[str, Any], hint: dict[str, Any]) -> dict[str, Any]:
    """Return a copy with those parts of an event that cannot hold a name, an address, a caption or a query.

    The message of an error may quote any of them, so it stays in the log of the machine; `request` is its number there.
    """
    kept = {name: event[name] for name in KEPT if name in event}
    kept["tags"] = {"request": request_id.get()}
    if template := (event.get("logentry") or {}).get("message"):
        kept["logentry"] = {"message": template}  # without what is filled in
    values = (event.get("exception") or {}).get("values") or []
    kept["exception"] = {"values": [_without_words(value) for value in values]}
    return kept


def _without_words(fault: dict[str, Any]) -> dict[str, Any]:
    frames = (fault.get("stacktrace") or {}).get("frames") or []
    return {
        "type": fault.get("type"),
        "module": fault.get("module"),
        "stacktrace": {"frames": [{name: frame.get(name) for name in KEPT_OF_A_FRAME} for frame in frames]},
    }
