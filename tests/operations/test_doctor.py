"""`doctor`: a line for each thing that an installation needs, and what would be right where something is wrong."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from io import StringIO
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from django.core.cache import cache
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from django.utils import timezone

from config.operations import backups, doctor, readiness
from jobs.models import Sign
from jobs.queue import Lane
from tests import made_once
from tests.terminal import ROOT

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


def found() -> dict[str, str]:
    """What the command prints about each check that is not ok."""
    out, code = StringIO(), 0
    try:
        call_command("doctor", stdout=out)
    except CommandError as refusal:
        code = refusal.returncode
    assert code == (2 if "error" in out.getvalue() else 0)
    lines = [line.split(maxsplit=1) for line in out.getvalue().splitlines()]
    return {rest.split("  ")[0].strip(): f"{level}: {rest}" for level, rest in lines if level != "ok"}


@pytest.fixture(autouse=True)
def healthy(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.STATIC_ROOT = made_once.collected_static()
    monkeypatch.setattr(readiness, "_compared", Event())
    Sign.leave("here:1", Lane.values)
    cache.set(backups.NEWEST, timezone.now().isoformat(), None)


def closed_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def no_folder(settings: Any, tmp_path: Path) -> None:
    (file := tmp_path / "file").touch()
    settings.MEDIA_ROOT = file / "media"


def no_mails(settings: Any, tmp_path: Path) -> None:
    settings.MAILS, settings.EMAIL_BACKEND = True, "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", closed_port()


def no_redis(settings: Any, tmp_path: Path) -> None:
    settings.REDIS_URL = f"redis://127.0.0.1:{closed_port()}/0"


def no_column(settings: Any, tmp_path: Path) -> None:
    connection.cursor().execute("ALTER TABLE corpus_clip RENAME COLUMN sha256 TO checksum")


def no_migration(settings: Any, tmp_path: Path) -> None:
    recorder = MigrationRecorder(connection)
    recorder.record_unapplied(*max(each for each in recorder.applied_migrations() if each[0] == "jobs"))


def no_static_files(settings: Any, tmp_path: Path) -> None:
    settings.STATIC_ROOT = tmp_path


def no_workers(settings: Any, tmp_path: Path) -> None:
    Sign.objects.all().delete()


def other_versions(settings: Any, tmp_path: Path) -> None:
    Sign.leave("there:1", ["long"])
    Sign.objects.filter(worker="there:1").update(version="0.1.9")


def old_backup(settings: Any, tmp_path: Path) -> None:
    cache.set(backups.NEWEST, (timezone.now() - timedelta(days=3)).isoformat(), None)


def no_backup(settings: Any, tmp_path: Path) -> None:
    cache.delete(backups.NEWEST)


def test_what_is_well_is_ok() -> None:
    assert found() == {}


@pytest.mark.parametrize(
    ("wrong", "check", "level", "words"),
    [
        (no_folder, "store", "error", "NotADirectoryError"),
        (no_mails, "mail", "error", "ConnectionRefusedError"),
        (no_redis, "redis", "error", "ConnectionError"),
        (no_migration, "tables", "error", "migrations are not applied; run `migrate`"),
        (no_column, "tables", "error", "column corpus_clip.sha256 is missing"),
        (no_static_files, "static files", "error", "run `collectstatic`"),
        (no_workers, "workers", "warning", "nobody takes jobs of the lane quick, judging, long, training"),
        (other_versions, "workers", "warning", "there: runs 0.1.9, and this machine 0.2.0"),
        (old_backup, "backup", "warning", "run `backup` each night"),
        (no_backup, "backup", "warning", "none is known"),
    ],
)
def test_what_is_wrong_is_named_with_what_would_be_right(
    wrong: Callable[[Any, Path], None], check: str, level: str, words: str, settings: Any, tmp_path: Path
) -> None:
    wrong(settings, tmp_path)
    lines = found()
    assert list(lines) == [check]
    assert lines[check].startswith(f"{level}: ")
    assert words in lines[check]


def test_a_disk_is_named_before_it_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "FEW_FREE", 1 << 60)
    assert "expected 1073741824 GiB or more" in found()["disk"]
    monkeypatch.setattr(doctor, "LEAST_FREE", 1 << 60)
    assert found()["disk"].startswith("error: ")


def test_clocks_that_differ_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    if connection.vendor == "sqlite":
        pytest.skip("SQLite has this machine's clock")
    monkeypatch.setattr(doctor, "MOST_APART", -1.0)
    assert "let NTP set the clocks" in found()["clock"]


WRONG_AT_START = {
    "HTTPS=enabled": "HTTPS: 'enabled'; expected on or off",
    "DEBUG=flase": "DEBUG: 'flase'; expected on or off",
    "TRUSTED_PROXIES=proxy.internal": "TRUSTED_PROXIES: 'proxy.internal'; expected addresses or networks of IP",
    "WEB_THREADS=0": "WEB_THREADS: 0; expected a whole number of at least 1",
    "CUTTING_SECONDS=-1": "CUTTING_SECONDS: -1; expected seconds, more than 0",
    "DATABASE_URL=postgres://u:p/ss@h/x": "DATABASE_URL: expected postgres://user:password@host:5432/name",
}


@pytest.mark.parametrize("setting", WRONG_AT_START)
def test_a_wrong_setting_ends_the_start_and_is_named(setting: str) -> None:
    name, _, value = setting.partition("=")
    done = subprocess.run(
        [sys.executable, "-c", "import config.settings"],
        cwd=ROOT,
        env=os.environ | {name: value},
        capture_output=True,
        text=True,
        check=False,
    )
    assert WRONG_AT_START[setting] in done.stderr.splitlines()[-1]
    assert "p/ss" not in done.stderr.splitlines()[-1]
