"""The number of the request that a line of the log belongs to. Settings load this: it imports nothing of Django's."""

import logging
from contextvars import ContextVar
from typing import Any

request_id: ContextVar[str] = ContextVar("request_id", default="-")


class LineFormatter(logging.Formatter):
    """One line for each message, with its time's offset: what somebody sent cannot pass for a line of the log.

    A traceback comes below, indented.
    """

    default_time_format, default_msec_format = "%Y-%m-%dT%H:%M:%S%z", None

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's name
        line = super().formatMessage(record)
        return "".join(
            each if each.isprintable() else each.encode("unicode_escape").decode() for each in line
        )

    def formatException(self, ei: Any) -> str:  # noqa: N802 - logging's name
        return "\n".join(f"    {line}" for line in super().formatException(ei).splitlines())


class RequestFilter(logging.Filter):
    """Gives each record of the log the number of its request, or `-` if it belongs to none."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.request_id = request_id.get()
        return True
