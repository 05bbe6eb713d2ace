"""Tables whose rows are kept for good: a trigger of the database refuses to change or to delete them."""

from collections.abc import Collection
from functools import partial
from typing import Any

from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations import RunPython

UPDATE, DELETE = "UPDATE", "DELETE"

SQLITE = """
CREATE TRIGGER {table}_refuses_{verb} BEFORE {verb}{columns} ON {table}
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
CREATE TRIGGER {table}_refuses_{verb} BEFORE {verb}{columns} ON {table}
FOR EACH ROW EXECUTE FUNCTION reeljudge_refuse()
"""


def refuse(table: str, *verbs: str, but: Collection[str] = ()) -> RunPython:
    """Return the operation of a migration after which the database refuses UPDATE or DELETE on a table's rows.

    An UPDATE that sets only the columns `but` is allowed; one that sets another is refused even if it changes nothing.

    Whoever tries gets an IntegrityError. The operation belongs at the end of a migration: on SQLite, Django changes a
    table by copying it, and the copy has no triggers.
    """
    return RunPython(partial(_create, table, verbs, but), partial(_drop, table, verbs))


def _create(
    table: str, verbs: tuple[str, ...], but: Collection[str], apps: Any, editor: BaseDatabaseSchemaEditor
) -> None:
    statement = POSTGRESQL if editor.connection.vendor == "postgresql" else SQLITE
    with editor.connection.cursor() as cursor:
        if editor.connection.vendor == "postgresql":
            cursor.execute(POSTGRESQL_FUNCTION)
        for verb in verbs:
            kept = _all_but(but, table, editor) if but and verb == UPDATE else ""
            cursor.execute(statement.format(table=table, verb=verb, columns=kept))


def _all_but(but: Collection[str], table: str, editor: BaseDatabaseSchemaEditor) -> str:
    """Return the part of a trigger that names all columns of a table but some."""
    with editor.connection.cursor() as cursor:
        columns = [each.name for each in editor.connection.introspection.get_table_description(cursor, table)]
    kept = ", ".join(editor.quote_name(column) for column in columns if column not in but)
    return f" OF {kept}"


def _drop(table: str, verbs: tuple[str, ...], apps: Any, editor: BaseDatabaseSchemaEditor) -> None:
    on = f" ON {table}" if editor.connection.vendor == "postgresql" else ""
    with editor.connection.cursor() as cursor:
        for verb in verbs:
            cursor.execute(f"DROP TRIGGER {table}_refuses_{verb}{on}")
