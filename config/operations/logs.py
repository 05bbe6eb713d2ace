"""The number of the request that a line of the log belongs to. Settings load this: it imports nothing of Django's."""

import logging
from contextvars import ContextVar

request_id: ContextVar[str] = ContextVar("request_id", default="-")


class RequestFilter(logging.Filter):
    """Gives each record of the log the number of its request, or `-` if it belongs to none."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.request_id = request_id.get()
        return True
