"""Whether the database is the one that this program knows: its migrations, and the columns of its tables."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from django.apps import apps
from django.conf import settings
from django.core.cache import cache
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.models import Model

from base.errors import ReeljudgeError
from campaigns.models import CacheEntry

# The oldest version that works with the tables of this one, so that it may go on beside it. Raise it with a migration
# that takes away what an older program asks for: then an upgrade asks for a pause.
OLDEST = "0.2.0"
SUITS = "oldest-version"  # the key of the cache under which the database says which version its tables still suit
MOST_NAMED = 3  # differences in one message
COLUMNS = {
    "postgresql": "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = current_schema",
    "sqlite": "SELECT t.name, c.name FROM sqlite_master AS t, PRAGMA_TABLE_XINFO(t.name) AS c WHERE t.type = 'table'",
}


class OtherDatabase(ReeljudgeError):
    """The database was made by a version that this one does not know, or that it cannot upgrade."""


def unapplied() -> int:
    """Return how many migrations of this program the database does not have yet."""
    executor = MigrationExecutor(connection)
    return len(executor.migration_plan(executor.loader.graph.leaf_nodes()))


def must_not_be_newer(loader: MigrationLoader | None = None) -> None:
    """Raise OtherDatabase if the database has migrations of our apps that build on all those of this program."""
    loader = loader or MigrationLoader(connection)
    lacking = {app for app, _ in set(loader.disk_migrations) - set(loader.applied_migrations)}
    if newer := [f"{app}.{name}" for app, name in _unknown(loader) if app not in lacking]:
        raise OtherDatabase(
            f"The database was upgraded by a newer version of Reeljudge: it has {_some(newer)}, which version "
            f"{settings.VERSION} does not know. Run that version, or restore a backup from before the upgrade."
        )


def must_suit() -> None:
    """Raise OtherDatabase if the tables are of a newer version that this one does not work with."""
    oldest = cache.get(SUITS) if _has_cache() else None
    if oldest is None or _numbers(oldest) > _numbers(settings.VERSION):
        must_not_be_newer()


def works_with_these_tables(version: str) -> bool:
    """Return whether an older version can go on while its database gets this program's tables, and afterwards."""
    return _numbers(version) >= _numbers(OLDEST)


def note_oldest() -> None:
    """Store which versions work with the tables of this one."""
    if _has_cache():
        cache.set(SUITS, OLDEST, None)


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)]


def _has_cache() -> bool:
    return CacheEntry._meta.db_table in connection.introspection.table_names()


def must_be_upgradable() -> None:
    """Raise OtherDatabase if a migration was never released, or the tables are not those that the migrations make.

    Between releases, migrations are merged, and were once edited in place: such databases have other migrations, or
    other tables under the same names of migrations.
    """
    loader = MigrationLoader(connection)
    must_not_be_newer(loader)
    applied = [node for node in loader.applied_migrations if node in loader.graph.nodes]
    models = loader.project_state(applied).apps.get_models(include_auto_created=True)
    found = [f"migration {app}.{name} is of no release" for app, name in _unknown(loader)]
    found += differences(model for model in models if model._meta.app_label in _our_apps())
    if found:
        raise OtherDatabase(
            "The database was made by a version of Reeljudge that was never released, and cannot be upgraded: "
            f"{_some(found)}. Freeze releases with the version that made it, and begin with an empty database. Nothing "
            "was changed."
        )


def differences(models: Iterable[type[Model]], *, also_more: bool = True) -> list[str]:
    """Return in words which columns of the models the database lacks, and (`also_more`) which it has beside them."""
    columns = _columns()
    found = []
    for model in models:
        table, there = model._meta.db_table, columns[model._meta.db_table]
        wanted = {str(field.column) for field in model._meta.local_concrete_fields}
        if not there:
            found.append(f"table {table} is missing")
            continue
        found += [f"column {table}.{name} is missing" for name in sorted(wanted - there)]
        if also_more:
            found += [f"column {table}.{name} is of no release" for name in sorted(there - wanted)]
    return sorted(found)


def missing() -> str:
    """Return in words which columns of this program's models the database lacks; empty if it lacks none."""
    return _some(differences(apps.get_models(include_auto_created=True), also_more=False))


def _columns() -> dict[str, set[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    with connection.cursor() as cursor:
        cursor.execute(COLUMNS[connection.vendor])
        for table, column in cursor.fetchall():
            found[table].add(column)
    return found


def _unknown(loader: MigrationLoader) -> list[tuple[str, str]]:
    """Return the migrations of our apps that the database has, and this program has not."""
    ours = _our_apps() & loader.migrated_apps
    return sorted(each for each in set(loader.applied_migrations) - set(loader.disk_migrations) if each[0] in ours)


def _our_apps() -> set[str]:
    return {app.label for app in apps.get_app_configs() if Path(app.path).resolve().parent == settings.BASE_DIR}


def _some(found: list[str]) -> str:
    more = len(found) - MOST_NAMED
    return ", ".join(found[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
