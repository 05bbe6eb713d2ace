"""Django's SQLite backend, with one writer at a time in this process.

SQLite's writers wait for each other by polling, and with sixteen busy clients most of the time is lost in sleeping.
With a lock taken before BEGIN IMMEDIATE the threads of this process queue instead. Other processes still wait by
SQLite's own time-out. A new database can be read by its owner only, and so can the files that SQLite puts beside it.
"""

import os
import threading
from contextlib import suppress
from typing import Any

from django.db import OperationalError
from django.db.backends.sqlite3 import base

WRITERS = threading.Lock()  # not re-entrant, because another thread may close a connection


class DatabaseWrapper(base.DatabaseWrapper):
    holds_writers = False

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        with suppress(OSError):  # It is there already, or SQLite says what is wrong.
            os.close(os.open(conn_params["database"], os.O_CREAT | os.O_EXCL, 0o600))
        return super().get_new_connection(conn_params)

    def _start_transaction_under_autocommit(self) -> None:
        if not WRITERS.acquire(timeout=self.settings_dict["OPTIONS"]["timeout"]):
            raise OperationalError("database is locked")
        try:
            super()._start_transaction_under_autocommit()  # type: ignore[misc]
        except BaseException:
            WRITERS.release()
            raise
        self.holds_writers = True

    def _commit(self) -> None:
        super()._commit()  # type: ignore[misc]  # if this fails, Django rolls back, which releases the lock
        self._let_go()

    def _rollback(self) -> None:
        try:
            super()._rollback()  # type: ignore[misc]
        finally:
            self._let_go()

    def _close(self) -> None:
        try:
            super()._close()  # type: ignore[misc]
        finally:
            self._let_go()

    def _let_go(self) -> None:
        if self.holds_writers:
            self.holds_writers = False
            WRITERS.release()
