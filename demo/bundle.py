"""The prepared demo: its database, clips, features and trained systems, which `make demo-bundle` packs.

They are restored into an installation that has no database yet, in some seconds instead of minutes. Its days are moved,
so that what was judged lately was judged lately still.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import zipfile
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, date, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from django.apps import apps
from django.conf import settings
from django.db import connection, models

FOLDER = Path(__file__).parent / "bundle"
CONTENTS = FOLDER / "contents.json"
DATABASE = "reeljudge.sqlite3"
FOLDERS = ("features", "made", "media", "models")  # of an installation
LARGEST_PART = 12_000_000  # bytes
MADE_AGAIN = "rows-*.npy"  # rows of an index, which a search writes for its own use


def is_wanted() -> bool:
    """Return whether there is a prepared demo, and the installation uses SQLite in its folder and has no tables."""
    name = settings.DATABASES["default"]["NAME"]
    own = [settings.MEDIA_ROOT, settings.MODELS_ROOT, settings.FEATURES_ROOT]
    is_usual = Path(str(name)) == settings.HOME / DATABASE and all(Path(each).parent == settings.HOME for each in own)
    return is_usual and CONTENTS.exists() and not _has_tables(Path(str(name)))


def _has_tables(database: Path) -> bool:
    if not database.exists():
        return False
    with closing(sqlite3.connect(database)) as opened:
        return bool(opened.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0])


def restore(today: date) -> None:
    """Unpack the prepared demo. The database comes last, so that what was broken off is begun anew."""
    contents = json.loads(CONTENTS.read_text(encoding="utf-8"))
    unfinished = settings.HOME / "demo-unpacking"
    shutil.rmtree(unfinished, ignore_errors=True)
    for part in contents["parts"]:
        with zipfile.ZipFile(FOLDER / part) as packed:
            packed.extractall(unfinished)
    for name in FOLDERS:
        if (unfinished / name).exists():
            shutil.copytree(unfinished / name, settings.HOME / name, dirs_exist_ok=True)
    _adapt(unfinished / DATABASE, (today - date.fromisoformat(contents["made"])).days)
    connection.close()  # of the empty database that any command leaves
    for ending in ("-wal", "-shm"):
        (settings.HOME / f"{DATABASE}{ending}").unlink(missing_ok=True)
    (unfinished / DATABASE).rename(settings.HOME / DATABASE)
    shutil.rmtree(unfinished)


def _adapt(file: Path, days: int) -> None:
    """Move all rows on by so many days, and let the corpus find its films in this installation."""
    with sqlite3.connect(file) as database:
        triggers = database.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:  # rows that are kept for good are moved too
            database.execute(f"DROP TRIGGER {name}")
        for model in apps.get_models(include_auto_created=True):
            moved = [f"{field.column} = {_later(field, days)}" for field in _with_time(model)]
            if moved and days:
                database.execute(f"UPDATE {model._meta.db_table} SET {', '.join(moved)}")  # noqa: S608 - our own names
        database.execute("UPDATE corpus_corpus SET media_folder = ?", [str(settings.HOME / "demo" / "films")])
        for _, statement in triggers:
            database.execute(statement)
    database.close()


def _with_time(model: type[models.Model]) -> Iterator[models.Field[Any, Any]]:
    return (field for field in model._meta.local_concrete_fields if isinstance(field, models.DateField))


def _later(field: models.Field[Any, Any], days: int) -> str:
    """Return the SQL of a column's value so many days later. Of an instant only the date is written anew."""
    moved = f"COALESCE(DATE({field.column}, '{days:+} days'), DATE({field.column}))"  # 9999-12-31 has none later
    return f"{moved} || SUBSTR({field.column}, 11)" if isinstance(field, models.DateTimeField) else moved


def pack(home: Path, inputs: Path) -> None:
    """Write the parts from an installation that has nothing but the demo, and the list of contents and inputs."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    found = (each for name in FOLDERS for each in (home / name).rglob("*") if each.is_file())
    files = [home / DATABASE, *sorted(each for each in found if not each.match(MADE_AGAIN))]
    parts: list[list[Path]] = [[]]
    size = 0
    for file in files:
        if parts[-1] and size + file.stat().st_size > LARGEST_PART:
            parts.append([])
            size = 0
        parts[-1].append(file)
        size += file.stat().st_size
    names = [f"part-{number}.zip" for number in range(1, len(parts) + 1)]
    for name, part in zip(names, parts, strict=True):
        with zipfile.ZipFile(FOLDER / name, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as packed:
            for file in part:
                packed.write(file, file.relative_to(home))
    contents = {
        "made": datetime.now(UTC).date().isoformat(),
        "version": settings.VERSION,
        "parts": names,
        "inputs": {
            str(each.relative_to(inputs)): _checksum(each) for each in sorted(inputs.rglob("*")) if each.is_file()
        },
        "files": {str(each.relative_to(home)): _checksum(each) for each in files},
    }
    CONTENTS.write_text(json.dumps(contents, indent=1) + "\n", encoding="utf-8")


def _checksum(file: Path) -> str:
    return sha256(file.read_bytes()).hexdigest()
