"""Tables whose rows are kept for good: a trigger of the database refuses to change or to delete them."""

from functools import partial
from typing import Any

from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations import RunPython

UPDATE, DELETE = "UPDATE", "DELETE"

SQLITE = """
CREATE TRIGGER {table}_refuses_{verb} BEFORE {verb} {columns} ON {table}
BEGIN SELECT RAISE(ABORT, '{table}: {verb} is refused, because its rows are kept for good'); END
"""

# One function serves all tables; each % stands for a value of RAISE.
POSTGRESQL_FUNCTION = """
CREATE OR REPLACE FUNCTION reeljudge_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '%: % is refused, because its rows are kept for good', TG_TABLE_NAME, TG_OP
        USING ERRCODE = 'restrict_violation';
END $$
"""
POSTGRESQL = """
CREATE TRIGGER {table}_refuses_{verb} BEFORE {verb} {columns} ON {table}
FOR EACH ROW EXECUTE FUNCTION reeljudge_refuse()
"""


def refuse(table: str, *verbs: str) -> RunPython:
    """Return the operation of a migration after which the database refuses UPDATE or DELETE on a table's rows.

    Whoever tries gets an IntegrityError. The operation belongs at the end of a migration: on SQLite, Django changes a
    table by copying it, and the copy has no triggers.
    """
    return RunPython(partial(_create, table, verbs), partial(_drop, table, verbs))


def refuse_changes_of(table: str, *columns: str) -> RunPython:
    """Return the same as `refuse`, which refuses UPDATE alone, and of these columns alone."""
    listed = "OF " + ", ".join(f'"{column}"' for column in columns)
    return RunPython(partial(_create, table, (UPDATE,), columns=listed), partial(_drop, table, (UPDATE,)))


def _create(
    table: str, verbs: tuple[str, ...], apps: Any, editor: BaseDatabaseSchemaEditor, columns: str = ""
) -> None:
    statement = POSTGRESQL if editor.connection.vendor == "postgresql" else SQLITE
    with editor.connection.cursor() as cursor:
        if editor.connection.vendor == "postgresql":
            cursor.execute(POSTGRESQL_FUNCTION)
        for verb in verbs:
            cursor.execute(statement.format(table=table, verb=verb, columns=columns))


def _drop(table: str, verbs: tuple[str, ...], apps: Any, editor: BaseDatabaseSchemaEditor) -> None:
    on = f" ON {table}" if editor.connection.vendor == "postgresql" else ""
    with editor.connection.cursor() as cursor:
        for verb in verbs:
            cursor.execute(f"DROP TRIGGER {table}_refuses_{verb}{on}")
