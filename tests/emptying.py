"""How tests that commit empty the tables of PostgreSQL after themselves."""

from __future__ import annotations

from typing import Any

from django.db.backends.postgresql.operations import DatabaseOperations

truncations = DatabaseOperations.sql_flush


def delete_instead_of_truncate() -> None:
    """Let Django's `flush` delete rows: a truncation writes each table and index anew, which takes two seconds."""
    DatabaseOperations.sql_flush = _deletions  # type: ignore[assignment,method-assign]


def _deletions(self: DatabaseOperations, style: Any, tables: list[str], **options: bool) -> list[str]:
    """In any order: as a replica the database checks no foreign keys. Only a superuser may say that it is one."""
    with self.connection.cursor() as cursor:
        cursor.execute("SELECT usesuper FROM pg_user WHERE usename = current_user")
        if not cursor.fetchone()[0]:
            return truncations(self, style, tables, **options)
    deletions = [f"DELETE FROM {self.quote_name(table)}" for table in tables]
    return ["SET LOCAL session_replication_role = replica", *deletions]
