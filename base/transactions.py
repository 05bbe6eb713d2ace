"""Locks, transactions that are tried again, storing many rows, and snapshots."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from django.db import IntegrityError, OperationalError, connection, models, transaction
from django.utils.translation import gettext

from base.errors import Busy

P = ParamSpec("P")
T = TypeVar("T")
Row = TypeVar("Row", bound=models.Model)
ATTEMPTS = 3
ROWS_AT_A_TIME = 2000


def locked(rows: models.QuerySet[Row], *, skip_locked: bool = False) -> models.QuerySet[Row]:
    """Return the rows, locked until the transaction ends.

    SQLite has no row locks. There BEGIN IMMEDIATE lets one transaction write at a time.
    """
    # Primary keys never change, so transactions that only refer to these rows need not wait (no_key).
    return rows.select_for_update(of=("self",), skip_locked=skip_locked, no_key=True)


def all_or_nothing(verb: Callable[P, T]) -> Callable[P, T]:
    """Run a function in a transaction, and again if another transaction was in its way, three times at most.

    Raises Busy if the third attempt fails too.
    """

    @wraps(verb)
    def attempt(*args: P.args, **kwargs: P.kwargs) -> T:
        for _ in range(ATTEMPTS - 1):
            try:
                return _once(verb, *args, **kwargs)
            except (IntegrityError, OperationalError):
                if transaction.get_connection().in_atomic_block:
                    raise  # only the function that began the transaction can try it again
        try:
            return _once(verb, *args, **kwargs)
        except (IntegrityError, OperationalError) as fault:
            raise Busy(gettext("Others are writing to the same place. Nothing was stored; send it again.")) from fault

    return attempt


def _once(verb: Callable[..., T], *args: Any, **kwargs: Any) -> T:
    with transaction.atomic():
        return verb(*args, **kwargs)


def store(rows: Iterable[models.Model]) -> None:
    """Store many new rows of one model, some thousands at a time."""
    rows = list(rows)
    if rows:
        type(rows[0])._default_manager.bulk_create(rows, batch_size=ROWS_AT_A_TIME)


def many_rows_are_new() -> None:
    """Have PostgreSQL count its tables after a bulk load. Until then it plans queries as if they were empty."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")


@contextmanager
def snapshot() -> Iterator[None]:
    """Read the database in one state until the end of the block, whatever others write. Writing is not possible."""
    if connection.vendor == "sqlite":
        # Django's own transaction would keep everybody else from writing until it ends.
        with connection.cursor() as cursor:
            cursor.execute("BEGIN DEFERRED")
            cursor.execute("PRAGMA query_only = ON")
            try:
                yield
            finally:
                cursor.execute("ROLLBACK")
                cursor.execute("PRAGMA query_only = OFF")
    else:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            yield
