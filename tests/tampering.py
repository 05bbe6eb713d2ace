"""Changing rows that the product keeps for good, as only whoever owns the database can: without its triggers.

Tests set times so, or break what the audit is to find; and the database is emptied between tests.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection

from judging.models import Judgement

SQLITE = "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"
POSTGRESQL = "SELECT DISTINCT tgrelid::regclass::text FROM pg_trigger WHERE NOT tgisinternal"


@contextmanager
def tampering() -> Iterator[None]:
    """While the block runs, the database has no triggers of ours."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            tables = [table for (table,) in _all(cursor, POSTGRESQL)]
            _execute(cursor, *_alter(tables, "DISABLE"))
            yield
            _execute(cursor, *_alter(tables, "ENABLE"))
        else:
            triggers = _all(cursor, SQLITE)
            _execute(cursor, *[f"DROP TRIGGER {name}" for name, _ in triggers])
            yield
            _execute(cursor, *[made for _, made in triggers])


def forget(judgement: Judgement) -> None:
    """As if the judgement had never been made."""
    with tampering():
        judgement.revisions.all().delete()
        judgement.delete()


def _alter(tables: list[str], how: str) -> list[str]:
    # PostgreSQL changes no table whose deferred constraints are still to be checked.
    check_now = ["SET CONSTRAINTS ALL IMMEDIATE", "SET CONSTRAINTS ALL DEFERRED"]
    return check_now + [f"ALTER TABLE {table} {how} TRIGGER USER" for table in tables]


def _all(cursor: Any, question: str) -> list[Any]:
    cursor.execute(question)
    return list(cursor.fetchall())


def _execute(cursor: Any, *statements: str) -> None:
    for statement in statements:
        cursor.execute(statement)
