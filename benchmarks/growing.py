"""Loading a database with copies of a generated campaign, until it holds a number of judgements.

Ten copies of the queries, each with annotators of its own, share a campaign, so that campaigns grow with the database.
Rows travel by PostgreSQL's COPY. Indexes are made at the end, as after a restored backup.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg import sql

OF_A_CAMPAIGN = 10  # copies
STRIDE = 10_000_000  # between the primary keys of a row and of its copy; more than there are rows
WORKERS = 1000  # between worker numbers
# Beside foreign keys, what must differ between copies.
RENAMED = {("Query", "query_id"), ("Query", "text"), ("Campaign", "title")}
# Candidates' primary keys in a list.
PLACES = """(
    SELECT coalesce(jsonb_agg(key::bigint + {shift} ORDER BY number), '[]')
    FROM jsonb_array_elements_text({name}) WITH ORDINALITY AS place (key, number)
)"""
CONSTRAINTS = """
    SELECT conrelid::regclass::text, conname, 'CONSTRAINT', pg_get_constraintdef(oid)
    FROM pg_constraint WHERE contype = 'u' AND conrelid = %s::regclass
"""
INDEXES = """
    SELECT indrelid::regclass::text, indexrelid::regclass::text, 'INDEX', pg_get_indexdef(indexrelid)
    FROM pg_index WHERE indrelid = %s::regclass AND NOT indisprimary
    AND indexrelid NOT IN (SELECT conindid FROM pg_constraint WHERE contype = 'u')
"""


def grow(address: str, judgements: int) -> None:
    """Copy everything until there are so many judgements."""
    # One reads what is committed, while the other writes.
    with psycopg.connect(address, autocommit=True) as reading, psycopg.connect(address, autocommit=True) as writing:
        # Foreign keys need no check: all are copied.
        writing.execute("SET session_replication_role = replica")
        writing.execute("SET maintenance_work_mem = '512MB'")
        writing.execute("SET synchronous_commit = off")
        first = _number(reading, "SELECT count(*) FROM judging_judgement")
        with _without_indexes(writing):
            for copy in range(1, round(judgements / first)):
                for model in _models():
                    _copy(reading, writing, model, copy)
        for model in _models():
            _go_on_counting(writing, model._meta.db_table)
        _draw_orders()
        reading.execute("VACUUM (ANALYZE)")


def _draw_orders() -> None:
    """Give copies of queries, whose ids and campaigns differ, places of their own."""
    from campaigns.models import Campaign
    from judging.pool.queries import draw_order

    for campaign in Campaign.objects.all():
        draw_order(campaign)


def _models() -> list[Any]:
    from django.contrib.auth.models import User

    from campaigns.models import Campaign, Event, Membership
    from judging import models as judging

    of_people: list[Any] = [User, Campaign, Membership, Event]
    names = ("Query", "Batch", "Candidate", "Assignment", "Reopening", "Judgement", "Revision", "Flag")
    return [*of_people, *(getattr(judging, name) for name in (*names, "Review", "Adjudication", "Sitting"))]


def _copy(reading: Any, writing: Any, model: Any, copy: int) -> None:
    if model.__name__ == "Campaign" and copy % OF_A_CAMPAIGN:
        return
    fields = [field for field in model._meta.concrete_fields if not field.generated]
    columns = sql.SQL(", ").join(sql.Identifier(field.column) for field in fields)
    values = sql.SQL(", ").join(sql.SQL(_value(model, field, copy)) for field in fields)
    table, own = sql.Identifier(model._meta.db_table), sql.Literal(STRIDE)
    out = sql.SQL("COPY (SELECT {} FROM {} WHERE id < {}) TO STDOUT").format(values, table, own)
    into = sql.SQL("COPY {} ({}) FROM STDIN").format(table, columns)
    with reading.cursor().copy(out) as rows, writing.cursor().copy(into) as copies:
        for some in rows:
            copies.write(some)


def _value(model: Any, field: Any, copy: int) -> str:
    """Return the SQL of a column of the copy."""
    name, of_campaign = f'"{field.column}"', model.__name__ == "Campaign"
    target = field.related_model.__name__ if field.is_relation else model.__name__ if field.primary_key else ""
    if target == "Campaign":
        return f"{name} + {STRIDE * (copy // OF_A_CAMPAIGN)}"
    if target and (field.primary_key or field.related_model in _models()):
        return f"{name} + {STRIDE * copy}"
    if (model.__name__, field.name) == ("Assignment", "places"):
        return PLACES.format(name=name, shift=STRIDE * copy)
    if field.get_internal_type() == "UUIDField":
        return f"CASE WHEN {name} IS NULL THEN NULL ELSE gen_random_uuid() END"
    if (model.__name__, field.name) in RENAMED or (field.unique and not of_campaign):
        return f"{name} || '-{copy}'"
    if of_campaign and field.unique:
        return f"{name} || '-{copy // OF_A_CAMPAIGN}'"
    return f"{name} + {WORKERS * copy}" if field.name == "worker" else name


@contextmanager
def _without_indexes(writing: Any) -> Iterator[None]:
    """Drop all indexes but those of primary keys, and make them again at the end."""
    tables = [model._meta.db_table for model in _models()]
    found = [row for table in tables for which in (CONSTRAINTS, INDEXES) for row in writing.execute(which, [table])]
    for table, name, kind, _ in found:
        writing.execute(f"ALTER TABLE {table} DROP CONSTRAINT {name}" if kind == "CONSTRAINT" else f"DROP INDEX {name}")
    yield
    for table, name, kind, definition in found:
        writing.execute(
            f"ALTER TABLE {table} ADD CONSTRAINT {name} {definition}" if kind == "CONSTRAINT" else definition
        )


def _go_on_counting(writing: Any, table: str) -> None:
    """Have the next row of a table get a primary key that no copy has."""
    last = f"(SELECT max(id) FROM {table})"
    writing.execute(f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), coalesce({last}, 1))")


def _number(connection: Any, statement: str) -> int:
    return int(connection.execute(statement).fetchone()[0])


def grow_here(judgements: str) -> None:
    """Copy everything in the database of this process."""
    grow(os.environ["DATABASE_URL"], int(judgements))
