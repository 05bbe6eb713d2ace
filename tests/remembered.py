"""Fixtures whose rows and files are made once in a process, and put back for the tests that follow.

Most tests begin with the same few rows, and Django takes a hundred times as long to make them as SQLite to store them.
What a fixture returns is read anew. Times that it took from the clock move on, as if it had just ended; those in files
stay. On PostgreSQL, and in a test that has written anything else before, rows are made as usual.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache, wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from django.apps import apps
from django.conf import settings
from django.db import connection, models, transaction

P = ParamSpec("P")
Built = TypeVar("Built", bound="models.Model | list[Any]")
Row = tuple[Any, ...]
Rows = dict[str, dict[Any, Row]]  # by table and primary key
Files = dict[Path, bytes]  # by name in MEDIA_ROOT


@dataclass(frozen=True)
class Outcome:
    """What a fixture has done to the database, and the files that there are then."""

    rows: Rows  # all that there are
    new: dict[str, list[Row]]  # those that it made or changed, and all that hold a time that moves on
    gone: list[tuple[str, Any]]
    began: datetime  # of the first fixture
    ended: datetime
    model: type[models.Model]
    keys: list[Any]
    is_list: bool
    files: Files


class Beginning:
    """What the running test has in the database: the fixtures that made it, unless it has written anything else."""

    def __init__(self) -> None:
        self.fixtures: tuple[str, ...] = ()
        self.changes = -1

    def start(self) -> None:
        self.fixtures, self.changes = (), _changes()

    @property
    def is_known(self) -> bool:
        return self.changes == _changes()

    def add(self, fixture: str) -> None:
        self.fixtures, self.changes = (*self.fixtures, fixture), _changes()


beginning = Beginning()
outcomes: dict[tuple[str, ...], Outcome] = {}


def remembered(build: Callable[P, Built]) -> Callable[P, Built]:
    """Decorate the function of a fixture that makes rows and files, and nothing else.

    It returns one of the rows, or several of a kind.
    """

    @wraps(build)
    def fixture(*arguments: P.args, **options: P.kwargs) -> Built:
        names = [each for each in (*arguments, *options.values()) if isinstance(each, str)]
        name = " ".join([build.__module__, build.__qualname__, *names])
        if connection.vendor != "sqlite" or not beginning.is_known:
            return build(*arguments, **options)
        if outcome := outcomes.get((*beginning.fixtures, name)):
            _put_back(outcome)
            beginning.add(name)
            found = [outcome.model._base_manager.get(pk=key) for key in outcome.keys]
            return found if outcome.is_list else found[0]  # type: ignore[return-value]
        earlier = outcomes.get(beginning.fixtures)
        before, began = (earlier.rows, earlier.began) if earlier else (_rows(), _now())
        beginning.changes = -1  # what it calls is a part of it, and not remembered alone
        built = build(*arguments, **options)
        beginning.add(name)
        outcomes[beginning.fixtures] = _outcome(before, _rows(), began, built)
        return built

    return fixture


def _changes() -> int:
    """Return how many rows this connection has ever written, which SQLite counts."""
    is_counted = connection.vendor == "sqlite" and connection.connection
    return connection.connection.total_changes if is_counted else 0


def _outcome(before: Rows, after: Rows, began: datetime, built: models.Model | list[Any]) -> Outcome:
    returned = built if isinstance(built, list) else [built]
    new = {
        table: [
            row
            for key, row in rows.items()
            if before[table].get(key) != row or any(_moves(value, began) for value in row)
        ]
        for table, rows in after.items()
    }
    gone = [(table, key) for table, rows in before.items() for key in rows.keys() - after[table].keys()]
    new = {table: rows for table, rows in new.items() if rows}
    keys = [row.pk for row in returned]
    return Outcome(after, new, gone, began, _now(), type(returned[0]), keys, isinstance(built, list), _files())


def _files() -> Files:
    media = Path(settings.MEDIA_ROOT)
    return {file.relative_to(media): file.read_bytes() for file in media.rglob("*") if file.is_file()}


def _rows() -> Rows:
    with connection.cursor() as cursor:
        plain: sqlite3.Connection = cursor.connection
        return {
            table: {row[0]: row for row in plain.execute(f'SELECT {_columns(table)} FROM "{table}"')}
            for table in _tables()
        }


def _put_back(outcome: Outcome) -> None:
    later = _now() - outcome.ended
    with transaction.atomic(), connection.cursor() as cursor:
        plain: sqlite3.Connection = cursor.connection
        for table, key in outcome.gone:
            plain.execute(f'DELETE FROM "{table}" WHERE {_columns(table).partition(",")[0]} = ?', [key])
        for table, rows in outcome.new.items():
            marks = ", ".join("?" * len(rows[0]))
            moved = [[_moved(value, outcome.began, later) for value in row] for row in rows]
            plain.executemany(f'INSERT OR REPLACE INTO "{table}" ({_columns(table)}) VALUES ({marks})', moved)
    for name, content in outcome.files.items():
        file = Path(settings.MEDIA_ROOT) / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)


def _moved(value: Any, began: datetime, later: timedelta) -> Any:
    """A time that the fixtures took from the clock, moved; or any other value."""
    if not isinstance(value, datetime):
        return value
    return str(value + later if _moves(value, began) else value)


def _moves(value: Any, began: datetime) -> bool:
    """Whether it is a time that the fixtures took from the clock, and not one that is far away."""
    return isinstance(value, datetime) and began <= value < began + timedelta(days=366)


def _now() -> datetime:
    """The time as SQLite stores it, whose own clock has no microseconds."""
    now = datetime.now(UTC).replace(tzinfo=None)
    return now - timedelta(microseconds=now.microsecond % 1000)


@cache
def _tables() -> list[str]:
    return [model._meta.db_table for model in apps.get_models(include_auto_created=True) if model._meta.managed]


@cache
def _columns(table: str) -> str:
    """Return the columns that are stored, for SQL. The primary key is the first."""
    with connection.cursor() as cursor:
        return ", ".join(f'"{name}"' for _, name, *_ in cursor.connection.execute(f'PRAGMA table_info("{table}")'))
