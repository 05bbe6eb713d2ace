"""Backups: a copy of the database as of one instant, beside a list of the stored files that it names.

A backup is a folder in a target, named by its time. It is written under another name, verified, and only then renamed.
The files themselves are copied afterwards, with the tools of their store (docs/backup.md).
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from django.apps import apps
from django.conf import settings
from django.core.cache import cache
from django.core.files.storage import default_storage
from django.db import connection

from base.errors import ReeljudgeError
from systems.storage import digest

NAME = re.compile(r"reeljudge-\d{8}T\d{6}Z")
DATABASE, FILES, SUMMARY = "database", "files.jsonl", "backup.json"
NEWEST = "newest-backup"  # the key of the cache under which all machines find when it was made
GRADES = "judging_revision"
LAST_GRADE = f"SELECT COALESCE(MAX(id), 0) FROM {GRADES}"  # noqa: S608 - nothing of it comes from outside
SINCE = "Somebody has judged since the backup was made."
WITH_FILES = {"file", "size", "sha256"}  # the columns of models whose rows name a stored file


class BackupRefused(ReeljudgeError):
    """A backup cannot be made, or is not one that can be restored here."""


def back_up(target: Path, keep: int | None = None) -> Path:
    """Back the database up into a new folder of the target, while others write, and return that folder.

    With `keep`, all but so many of the newest backups of the target are deleted afterwards.

    Raise BackupRefused if something cannot be written, or does not read as what was copied.
    """
    now = datetime.now(UTC).replace(microsecond=0)
    made = target / f"reeljudge-{now:%Y%m%dT%H%M%SZ}"
    unfinished = target / f".{made.name}.unfinished"
    try:
        target.mkdir(parents=True, exist_ok=True)
        unfinished.mkdir(0o700)
        copy, last = unfinished / DATABASE, _last_grade()
        _dump(copy)
        number = _list_files(unfinished / FILES)
        summary = {
            "version": settings.VERSION,
            "at": now.isoformat(),
            "kind": connection.vendor,
            "size": copy.stat().st_size,
            "sha256": digest(copy),
            "files": number,
            "last": last,
        }
        (unfinished / SUMMARY).write_text(json.dumps(summary, indent=1) + "\n")
        _verify(unfinished)
        unfinished.rename(made)
    except OSError as fault:
        raise BackupRefused(f"{target}: cannot be written ({fault.strerror}); the backup was not made") from fault
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    cache.set(NEWEST, now.isoformat(), None)
    for old in finished(target)[:-keep] if keep else []:
        shutil.rmtree(old)
    return made


def finished(target: Path) -> list[Path]:
    """Return the backups of a target, the oldest first."""
    return sorted(each for each in target.iterdir() if NAME.fullmatch(each.name) and (each / SUMMARY).is_file())


def newest() -> datetime | None:
    """Return when the newest backup of this database was made on any machine, or None if nobody knows of one."""
    at = cache.get(NEWEST)
    return datetime.fromisoformat(at) if at else None


def _last_grade() -> int:
    """Return the number of the last grade, which tells whether somebody has judged since: grades are only added."""
    if not connection.introspection.table_names().count(GRADES):
        return 0
    with connection.cursor() as cursor:
        cursor.execute(LAST_GRADE)
        return int(cursor.fetchone()[0])


def restore(source: Path, *, replace: bool = False) -> list[str]:
    """Restore a backup into the empty database of the settings. Return the stored files that are missing or differ.

    With `replace`, restore it in place of what the database holds, unless somebody has judged since.

    Raise BackupRefused if the backup is damaged or of another kind of database, or the database is not empty, or (with
    `replace`) there is a grade that is not in the backup. Nothing is changed then.
    """
    _verify(source)
    tables, last = connection.introspection.table_names(), json.loads((source / SUMMARY).read_text()).get("last")
    if tables and not replace:
        raise BackupRefused(
            f"DATABASE_URL: its database has {len(tables)} tables; expected an empty one. Nothing was changed."
        )
    if tables and last is None:
        raise BackupRefused(f"{source}: does not say which grades it holds; restore it into an empty database")
    connection.close()
    copy, name, is_sqlite = source / DATABASE, settings.DATABASES["default"]["NAME"], connection.vendor == "sqlite"
    if tables:
        (_replace_sqlite if is_sqlite else _replace_postgres)(copy, last, tables)
    elif is_sqlite:
        _put_sqlite(copy, Path(name))
    else:
        _run_postgres("pg_restore", "--single-transaction", "--no-owner", f"--dbname={name}", copy)
    return [name for name, size in _files(source) if not _is_there(name, size)]


def _dump(copy: Path) -> None:
    if connection.vendor == "sqlite":
        # SQLite's backup begins again whenever somebody writes, and may never end; this reads one state.
        with connection.cursor() as cursor:
            cursor.execute("VACUUM INTO %s", [str(copy)])
    else:
        _run_postgres("pg_dump", "--format=custom", f"--file={copy}")


def _verify(folder: Path) -> None:
    """Read a backup. Raise BackupRefused if its parts are not as they were written, or of another kind of database."""
    try:
        summary, copy = json.loads((folder / SUMMARY).read_text()), folder / DATABASE
        if summary["kind"] != connection.vendor:
            names = f"DATABASE_URL names a database of {connection.vendor}"
            raise BackupRefused(f"{folder}: is of {summary['kind']}; {names}")
        if copy.stat().st_size != summary["size"] or digest(copy) != summary["sha256"]:
            raise BackupRefused(f"{copy}: is not as it was written; expected another backup")
        if sum(1 for _ in _files(folder)) != summary["files"]:
            raise BackupRefused(f"{folder / FILES}: is not as it was written; expected {summary['files']} lines")
        if connection.vendor == "sqlite":
            with closing(sqlite3.connect(f"file:{copy}?mode=ro&immutable=1", uri=True)) as lite:
                found = lite.execute("PRAGMA quick_check(1)").fetchone()[0]
            if found != "ok":
                raise BackupRefused(f"{copy}: {found}; the database that was copied is damaged")
        else:
            _run_postgres("pg_restore", "--list", copy)
    except (OSError, ValueError, KeyError, sqlite3.DatabaseError) as fault:
        raise BackupRefused(f"{folder}: is no backup ({fault}); expected a folder that `backup` has made") from fault


def _list_files(file: Path) -> int:
    """Write a line for each stored file that the database names, and return their number."""
    number = 0
    with file.open("w", encoding="utf-8") as out:
        for model in apps.get_models():
            if {field.name for field in model._meta.fields} >= WITH_FILES:
                rows = model._base_manager.exclude(file="").order_by("pk").values("file", "size", "sha256")
                for row in rows.iterator():
                    out.write(json.dumps(row) + "\n")
                    number += 1
    return number


def _files(folder: Path) -> Iterator[tuple[str, int]]:
    with (folder / FILES).open(encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            yield row["file"], row["size"]


def _is_there(name: str, size: int) -> bool:
    return default_storage.exists(name) and default_storage.size(name) == size


def _put_sqlite(copy: Path, database: Path) -> None:
    new = database.with_name(f"{database.name}.unfinished")
    shutil.copyfile(copy, new)
    for rest in ("-wal", "-shm"):
        database.with_name(database.name + rest).unlink(missing_ok=True)
    new.replace(database)


def _replace_sqlite(copy: Path, last: int, tables: list[str]) -> None:
    """Write a copy over the database, which nobody else may have open."""
    name = settings.DATABASES["default"]["NAME"]
    try:
        with closing(sqlite3.connect(name, isolation_level=None)) as lite, closing(sqlite3.connect(copy)) as source:
            lite.execute("PRAGMA locking_mode = EXCLUSIVE")  # until it is closed, so that nobody judges in between
            lite.execute("BEGIN IMMEDIATE")
            found = lite.execute(LAST_GRADE).fetchone()[0]
            lite.execute("COMMIT")
            if found != last:
                raise BackupRefused(SINCE)
            source.backup(lite)
    except sqlite3.OperationalError as fault:
        raise BackupRefused(f"{name}: {fault}; stop whatever uses it. Nothing was changed.") from fault


def _replace_postgres(copy: Path, last: int, tables: list[str]) -> None:
    """Put a copy in place of all tables, in one transaction."""
    quoted = ", ".join(map(connection.ops.quote_name, tables))
    begin = f"""
        BEGIN;
        SET lock_timeout = '10s';
        LOCK TABLE {GRADES} IN ACCESS EXCLUSIVE MODE;
        DO $$ BEGIN IF ({LAST_GRADE}) <> {last} THEN RAISE EXCEPTION '{SINCE}'; END IF; END $$;
        DROP TABLE {quoted} CASCADE;
    """
    script = ("pg_restore", "--clean", "--if-exists", "--no-owner", "--file=-", str(copy))
    words = ("psql", "--quiet", "--no-psqlrc", "--set=ON_ERROR_STOP=1", "--output=/dev/null")
    with TemporaryFile("w+") as errors:
        psql = _started(words, errors)
        assert psql.stdin
        is_whole = False
        with suppress(BrokenPipeError), psql.stdin:  # psql may have ended, and says why
            psql.stdin.write(begin)
            psql.stdin.flush()
            is_whole = subprocess.run(script, stdout=psql.stdin, stderr=errors, check=False).returncode == 0  # noqa: S603
            psql.stdin.write("\nCOMMIT;\n" if is_whole else "\nROLLBACK;\n")
        if psql.wait() or not is_whole:
            errors.seek(0)
            found = re.findall(r"(?i)error: +(.*)", errors.read()) or ["psql failed."]
            raise BackupRefused(f"{found[0]} Nothing was changed.")


def _started(words: tuple[str, ...], errors: IO[str]) -> subprocess.Popen[str]:
    try:
        return subprocess.Popen(words, env=_for_postgres(), stdin=subprocess.PIPE, stderr=errors, text=True)  # noqa: S603
    except FileNotFoundError as fault:
        raise BackupRefused(f"{words[0]}: is not installed; expected PostgreSQL's client programs") from fault


def _for_postgres() -> dict[str, str]:
    """Return the environment by which tools of PostgreSQL find the database of the settings."""
    database = settings.DATABASES["default"]
    names = {"HOST": "PGHOST", "PORT": "PGPORT", "USER": "PGUSER", "PASSWORD": "PGPASSWORD", "NAME": "PGDATABASE"}
    return os.environ | {variable: str(database[name]) for name, variable in names.items() if database.get(name)}


def _run_postgres(command: str, *arguments: object) -> None:
    """Run a tool of PostgreSQL on the database of the settings, whose password no list of processes shows."""
    line, env = [command, *map(str, arguments)], _for_postgres()
    try:
        done = subprocess.run(line, env=env, capture_output=True, text=True, check=False)  # noqa: S603 - our arguments
    except FileNotFoundError as fault:
        raise BackupRefused(f"{command}: is not installed; expected PostgreSQL's client programs") from fault
    if done.returncode:
        words = done.stderr.strip().splitlines() or ["no reason"]
        raise BackupRefused(f"{command}: {words[-1]}")
