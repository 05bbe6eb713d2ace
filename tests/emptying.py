"""How tests that commit empty the database after themselves: all but what migrating has made, which stays."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from unittest.mock import patch

from django.core.management.commands import flush
from django.db import connection
from django.db.backends.base.operations import BaseDatabaseOperations
from django.db.backends.postgresql.operations import DatabaseOperations

from tests.tampering import tampering

# Django would make these rows anew for each test, which takes four times as long as deleting all others.
KEPT = {"auth_permission", "django_content_type"}
truncations = DatabaseOperations.sql_flush
execute = BaseDatabaseOperations.execute_sql_flush


def emptying() -> Iterable[Any]:
    """The patches of Django's `flush`."""
    yield patch.object(flush, "emit_post_migrate_signal", lambda *_, **__: None)
    if connection.vendor == "sqlite":
        yield patch.object(BaseDatabaseOperations, "execute_sql_flush", _without_triggers)
    else:
        yield patch.object(DatabaseOperations, "sql_flush", _deletions)


def _without_triggers(operations: BaseDatabaseOperations, statements: list[str]) -> None:
    """SQLite deletes, which triggers would refuse."""
    with tampering():
        execute(operations, [each for each in statements if not any(f'"{table}"' in each for table in KEPT)])


def _deletions(self: DatabaseOperations, style: Any, tables: list[str], **options: bool) -> list[str]:
    """In any order: as a replica the database checks no foreign keys. Only a superuser may say that it is one.

    A truncation writes each table and index anew, which takes two seconds.
    """
    tables = [table for table in tables if table not in KEPT]
    with self.connection.cursor() as cursor:
        cursor.execute("SELECT usesuper FROM pg_user WHERE usename = current_user")
        if not cursor.fetchone()[0]:
            return truncations(self, style, tables, **options)
    deletions = [f"DELETE FROM {self.quote_name(table)}" for table in tables]
    return ["SET LOCAL session_replication_role = replica", *deletions]
