"""Locks, and what happens when two people are faster than one row allows."""

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
    """The rows, locked until the transaction ends.

    SQLite has no row locks; there BEGIN IMMEDIATE makes every transaction the only writer.
    """
    # No key is ever changed, so rows that refer to these need not wait.
    return rows.select_for_update(of=("self",), skip_locked=skip_locked, no_key=True)


def all_or_nothing(verb: Callable[P, T]) -> Callable[P, T]:
    """Run a verb in a transaction of its own, and again when another's write came between, three times at most."""

    @wraps(verb)
    def attempt(*args: P.args, **kwargs: P.kwargs) -> T:
        for _ in range(ATTEMPTS - 1):
            try:
                return _once(verb, *args, **kwargs)
            except (IntegrityError, OperationalError):
                if transaction.get_connection().in_atomic_block:
                    raise  # only whoever began the transaction can begin it again
        try:
            return _once(verb, *args, **kwargs)
        except (IntegrityError, OperationalError) as fault:
            raise Busy(
                gettext("Others are writing to the same place. Nothing was stored; send it again.")
            ) from fault

    return attempt


def _once(verb: Callable[..., T], *args: Any, **kwargs: Any) -> T:
    with transaction.atomic():
        return verb(*args, **kwargs)


def store(rows: Iterable[models.Model]) -> None:
    """Many new rows of one model, some thousands at a time."""
    rows = list(rows)
    if rows:
        type(rows[0])._default_manager.bulk_create(rows, batch_size=ROWS_AT_A_TIME)


def many_rows_are_new() -> None:
    """Tell PostgreSQL after a bulk load: until it has counted anew it plans as for empty tables."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")


@contextmanager
def snapshot() -> Iterator[None]:
    """See the database as it is now until the end, however much others write. For reading only."""
    if connection.vendor == "sqlite":
        # Not Django's transaction, which would be the only writer and hold up everybody for as long.
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
