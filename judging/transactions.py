"""Locks, and what happens when two people are faster than one row allows."""

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from django.db import IntegrityError, OperationalError, models, transaction

from judging.errors import Busy

P = ParamSpec("P")
T = TypeVar("T")
Row = TypeVar("Row", bound=models.Model)
ATTEMPTS = 3


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
            raise Busy("Others are writing to the same place. Nothing was stored; send it again.") from fault

    return attempt


def _once(verb: Callable[..., T], *args: Any, **kwargs: Any) -> T:
    with transaction.atomic():
        return verb(*args, **kwargs)
