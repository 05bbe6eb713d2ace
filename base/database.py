"""What Django leaves to the database: rows kept for good, its clock, lists in JSON, sessions; and encrypted secrets."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import cache, partial
from typing import Any

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.backends import db
from django.db import connection, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations import RunPython
from django.utils import timezone
from django.utils.translation import gettext

from base.errors import WrongState

UPDATE, DELETE = "UPDATE", "DELETE"
PURPOSE = b"reeljudge secrets of the second factor"  # of the keys that are derived from SECRET_KEY

TRIGGER_ON_SQLITE = """
CREATE TRIGGER {table}_refuses_{verb} BEFORE {verb}{columns} ON {table}{when}
BEGIN SELECT RAISE(ABORT, '{table}: {verb} is refused, because its rows are kept for good'); END
"""

# One function serves all tables; each % stands for a value of RAISE.
REFUSAL_ON_POSTGRESQL = """
CREATE OR REPLACE FUNCTION reeljudge_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '%: % is refused, because its rows are kept for good', TG_TABLE_NAME, TG_OP
        USING ERRCODE = 'restrict_violation';
END $$
"""
TRIGGER_ON_POSTGRESQL = """
CREATE TRIGGER {table}_refuses_{verb} BEFORE {verb}{columns} ON {table}
FOR EACH ROW{when} EXECUTE FUNCTION reeljudge_refuse()
"""


def refuse(table: str, *verbs: str, but: Collection[str] = (), when: str = "") -> RunPython:
    """Return the operation of a migration after which the database refuses UPDATE or DELETE on a table's rows.

    An UPDATE that sets only the columns `but` is allowed; one that sets another is refused even if it changes nothing,
    unless there is a condition `when` on OLD and NEW, in the SQL of both databases, and it does not hold.

    Whoever tries gets an IntegrityError. The operation belongs after the last change of the table: on SQLite, Django
    changes a table by copying it, and the copy has no triggers.
    """
    return Statements(partial(_create, table, verbs, but, when), partial(_drop, table, verbs))


def refuse_no_longer(table: str, *verbs: str) -> RunPython:
    """Return the operation that ends it, before a migration that sets it anew. On SQLite a copied table has none."""
    return Statements(partial(_drop, table, verbs), RunPython.noop)


class Statements(RunPython):
    """RunPython whose code asks for no models, which Django would take a tenth of a second to make."""

    code: Any

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        self.code(None, schema_editor)


def _create(
    table: str, verbs: tuple[str, ...], but: Collection[str], when: str, apps: Any, editor: BaseDatabaseSchemaEditor
) -> None:
    statement = TRIGGER_ON_POSTGRESQL if editor.connection.vendor == "postgresql" else TRIGGER_ON_SQLITE
    with editor.connection.cursor() as cursor:
        if editor.connection.vendor == "postgresql":
            cursor.execute(REFUSAL_ON_POSTGRESQL)
        for verb in verbs:
            kept = _all_but(but, table, editor) if but and verb == UPDATE else ""
            condition = f" WHEN ({when})" if when and verb == UPDATE else ""
            cursor.execute(statement.format(table=table, verb=verb, columns=kept, when=condition))


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


CLOCKS = {
    "postgresql": {
        "now": "STATEMENT_TIMESTAMP()",
        "lease_end": "STATEMENT_TIMESTAMP() + %(lease)s * INTERVAL '1 second'",
        "later_of": "GREATEST",
        "since_began": "EXTRACT(EPOCH FROM STATEMENT_TIMESTAMP() - began)",
    },
    "sqlite": {
        "now": "STRFTIME('%%Y-%%m-%%d %%H:%%M:%%f', 'NOW')",
        "lease_end": "STRFTIME('%%Y-%%m-%%d %%H:%%M:%%f', 'NOW', %(lease)s || ' seconds')",
        "later_of": "MAX",
        "since_began": "(JULIANDAY('NOW') - JULIANDAY(began)) * 86400",
    },
}


@cache
def with_clock(statement: str) -> str:
    """Return the statement with {now}, {lease_end}, {later_of} and {since_began} as this database says them."""
    return statement.format(**CLOCKS[connection.vendor])


@contextmanager
def prepared() -> Iterator[None]:
    """Have PostgreSQL parse and plan each statement of the block once a connection: for long ones that never differ."""
    if connection.vendor != "postgresql":
        yield
        return
    from psycopg import Cursor

    connection.ensure_connection()
    usual = connection.connection.cursor_factory  # writes the values into the text of each statement
    connection.connection.cursor_factory = Cursor
    try:
        yield
    finally:
        connection.connection.cursor_factory = usual


def first_prepared(statement: str, values: Any) -> tuple[Any, ...] | None:
    """Return the first row of a statement that is prepared."""
    with prepared(), connection.cursor() as cursor:
        cursor.execute(statement, values)
        row: tuple[Any, ...] | None = cursor.fetchone()
        return row


class JSONLength(models.Func):
    """The number of elements of a JSON list."""

    function = "JSON_ARRAY_LENGTH"
    arity = 1
    output_field = models.IntegerField()

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        return self.as_sql(compiler, connection, function="jsonb_array_length", **context)


SESSION = "SELECT session_data FROM django_session WHERE session_key = %s AND expire_date > %s"
OF_STRANGERS = 10 * 60  # seconds after it was last written: how long the session of a stranger lasts


class SessionStore(db.SessionStore):
    """Django's sessions, read by a statement that is written once and not anew at each request."""

    def get_session_cookie_age(self) -> int:
        """Return how long the session lasts if nothing else is said of it, so that strangers leave few rows."""
        return settings.SESSION_COOKIE_AGE if SESSION_KEY in self else OF_STRANGERS

    def load(self) -> dict[str, Any]:
        now = connection.ops.adapt_datetimefield_value(timezone.now())
        row = first_prepared(SESSION, [self.session_key, now])
        if row is None:
            self._session_key = None
            return {}
        data: dict[str, Any] = self.decode(row[0])
        return data


ANY_ROW = 2**62 - 57  # stands for a row's key in a statement that is compiled for all rows


def compiled(rows: Callable[..., models.QuerySet[Any, Any]], keys: int = 1) -> Callable[..., tuple[Any, ...] | None]:
    """Return a function that asks for the first of some rows, given keys that they depend on; see `compiled_all`."""
    ask = compiled_all(rows, keys)
    return lambda *given: next(iter(ask(*given)), None)


def compiled_all(rows: Callable[..., models.QuerySet[Any, Any]], keys: int = 1) -> Callable[..., list[tuple[Any, ...]]]:
    """Return a function that asks for some rows, given the keys that they depend on.

    Django takes longer to make a statement of ten subqueries than the database takes to answer it, and only the keys
    ever differ. So it is made once.

    rows: makes the rows, as `values_list` has them, of the keys and of what else there is to say, of which each value
    has a statement of its own.
    keys: how many there are.
    """
    marks = [ANY_ROW + number for number in range(keys)]

    @cache
    def statement(*others: Any) -> tuple[Any, str, tuple[Any, ...], Any]:
        compiler = rows(*marks, *others).query.get_compiler(connection=connection)
        sql, params = compiler.as_sql()
        return compiler, sql, params, compiler.get_converters([each[0] for each in compiler.select])

    def ask(*given: Any) -> list[tuple[Any, ...]]:
        compiler, sql, params, converters = statement(*given[keys:])
        own = dict(zip(marks, given, strict=False))
        with prepared(), connection.cursor() as cursor:
            cursor.execute(sql, [own.get(param, param) if isinstance(param, int) else param for param in params])
            found = cursor.fetchall()
        return [tuple(row) for row in compiler.apply_converters(found, converters)] if converters else found

    return ask


def counts_for(model: type[models.Model], counts: Callable[[], dict[str, Any]]) -> Callable[[int], dict[str, Any]]:
    """Return a function that counts what belongs to one row of a model, given its key, in one compiled statement.

    counts: makes the subqueries by name, each of which has one value, or several as a JSON object. They know the
    row as `OuterRef("pk")`.
    """
    named = cache(counts)
    ask = compiled(lambda key: model._base_manager.filter(pk=key).values_list(*named().values()))

    def count(key: int) -> dict[str, Any]:
        row = ask(key)
        return dict(zip(named(), row, strict=True)) if row else dict.fromkeys(named(), 0)

    return count


def encrypt(text: str) -> str:
    """Return a secret as the database stores it, encrypted by a key that is derived from SECRET_KEY."""
    return _keys().encrypt(text.encode()).decode()


def decrypt(encrypted: str) -> str:
    """Return the text. Raises WrongState if neither SECRET_KEY nor one of SECRET_KEY_FALLBACKS encrypted it."""
    try:
        return _keys().decrypt(encrypted.encode()).decode()
    except InvalidToken as fault:
        raise WrongState(
            gettext("Your second factor cannot be read, because this site has a new key. Ask your operator.")
        ) from fault


def renewed(encrypted: str) -> str:
    """Return the same text encrypted by the present SECRET_KEY."""
    return encrypt(decrypt(encrypted))


def _keys() -> MultiFernet:
    return MultiFernet([_key(secret) for secret in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)])


def _key(secret: str) -> Fernet:
    derived = HKDF(algorithm=SHA256(), length=32, salt=None, info=PURPOSE).derive(secret.encode())
    return Fernet(urlsafe_b64encode(derived))
