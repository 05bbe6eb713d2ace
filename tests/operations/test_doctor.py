"""`doctor`: a line for each thing that an installation needs, and what would be right where something is wrong."""

from __future__ import annotations

import json
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

from config.operations import backups, readiness
from config.operations.management.commands import doctor
from jobs.models import WorkerHeartbeat
from jobs.queue import Lane
from tests import made_once
from tests.terminal import ROOT, environment

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
    settings.SITE_URL = "http://testserver"
    settings.STATIC_ROOT = made_once.collected_static()
    monkeypatch.setattr(readiness, "_compared", Event())
    WorkerHeartbeat.record("here:1", Lane.values)
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
    WorkerHeartbeat.objects.all().delete()


def other_versions(settings: Any, tmp_path: Path) -> None:
    WorkerHeartbeat.record("there:1", ["long"])
    WorkerHeartbeat.objects.filter(worker="there:1").update(version="0.1.9")


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


SWITCHES = ("HTTPS", "DEBUG", "REQUIRE_SECOND_FACTOR")
COUNTS = ("WEB_THREADS", "WEB_TIMEOUT", "WEB_SILENCE", "JOB_LEASE", "JOB_ATTEMPTS", "SIGN_IN_ATTEMPTS", "UPLOAD_MIB")
NOT_NEGATIVE = ("CONN_MAX_AGE", "WEB_KEEPALIVE", "WEB_RECYCLE", "UPLOAD_LEAVE_MIB")
NETWORKS = ("TRUSTED_PROXIES", "MONITORING_ADDRESSES", "WEBHOOK_NETWORKS")
ADDRESSES = ("CHAT_URL", "S3_ENDPOINT_URL", "SENTRY_DSN", "REDIS_URL", "OIDC_ISSUER", "EMAIL_URL")
FOLDERS = ("MODELS_ROOT", "FEATURES_ROOT", "MEDIA_ROOT", "UPLOAD_ROOT")
SITES = ("judge.example.org", "https://judge.example.org/a", "https://*.example.org", "https://a@b.org", "ftp://b.org")
WRONG_AT_START = {
    **{f"{name}={value}": "expected on or off" for name in SWITCHES for value in ("enabled", "flase", "2")},
    **{f"{name}={value}": "expected a whole number" for name in COUNTS for value in ("0", "-1", "2m", "1.5", "")},
    **{f"{name}={value}": "expected a whole number" for name in NOT_NEGATIVE for value in ("-1", "1 h")},
    **{f"{name}=proxy.internal": "'proxy.internal'; expected addresses or networks of IP" for name in NETWORKS},
    **{f"{name}={value}": "no such address; expected" for name in ADDRESSES for value in ("localhost:6379", "http//x")},
    **{f"{name}={__file__}": "expected a folder" for name in ("REELJUDGE_HOME", *FOLDERS)},
    "ALLOWED_HOSTS=https://judge.example.org": "expected host names without https:// and port",
    "ALLOWED_HOSTS=judge.example.org:8000": "expected host names without https:// and port",
    "CSRF_TRUSTED_ORIGINS=judge.example.org": "expected https:// and a host name, without a path",
    "API_ORIGINS=https://lab.example.org/": "expected https:// and a host name, without a path",
    "WEBHOOK_HOSTS=ftp://hooks.example.org": "expected host names, with a port where it is not 443",
    **{f"SITE_URL={value}": "expected https:// and a host name, without a path" for value in SITES},
    "CUTTING_SECONDS=-1": "expected seconds, more than 0",
    "CHAT_TIMEOUT=nan": "expected a number",
    "CUTTING_MEMORY=4": "expected a whole number of at least 256",
    "CHAT_INPUT_PRICE=-0.5": "expected a price of at least 0",
    "CHAT_OUTPUT_PRICE=0,5": "expected a number",
    "DATABASE_URL=postgres://u:p/ss@h/x": "expected postgres://user:password@host:5432/name",
    "DATABASE_URL=mysql://u:p/ss@h/x": "expected postgres://user:password@host:5432/name",
    "REDIS_URL=redis://:p/ss@host:port/0": "no such address; expected redis://host:6379/0",
    "EMAIL_URL=smtp+tls://u:p/ss@h:mail": "no such address; expected smtp+tls://",
    "SECRET_KEY=p/ss": "4 characters; expected at least 32",
    "MEDIA_STORE=bucket": "expected s3://bucket or s3://bucket/prefix",
    "OIDC_CLIENT_ID=reeljudge": "expected all three, or none",
    "MAIL_FROM=Reeljudge": "expected an address of mail",
    "TIME_ZONE=Asia/Singapor": "expected the name of a time zone, such as Asia/Singapore",
    "TIME_ZONE=../etc": "expected the name of a time zone",
    "ENCODER_PRECISION=float16": "expected float32 or bfloat16",
    "DEVICE=gpu": "expected auto, cpu, cuda or mps",
    "HSTS=on": "expected off, host, subdomains or preload",
    "API_RATE=600": "expected a number and /s, /m, /h or /d, such as 600/m",
    "API_RATE=0/m": "expected a number and /s",
    "LOG_FORMAT=text": "expected line or json",
    "LOG_LEVEL=VERBOSE": "expected DEBUG, INFO, WARNING, ERROR or CRITICAL",
}
TRY_EACH = """
import json, os, runpy, sys
for setting in json.load(sys.stdin):
    name, _, value = setting.partition("=")
    before = dict(os.environ)
    os.environ[name] = value
    try:
        runpy.run_path("config/settings.py")
        print("starts")
    except Exception as fault:
        print(f"{type(fault).__name__} {fault}")
    os.environ.clear()
    os.environ.update(before)
"""


def outcomes(settings: list[str]) -> list[str]:
    """What a start with each of these settings ends with."""
    done = subprocess.run(
        [sys.executable, "-c", TRY_EACH],
        input=json.dumps(settings),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


def test_a_wrong_setting_ends_the_start_and_is_named(subtests: Any) -> None:
    for (setting, right), outcome in zip(WRONG_AT_START.items(), outcomes([*WRONG_AT_START]), strict=True):
        with subtests.test(setting):
            assert outcome.startswith("ImproperlyConfigured "), outcome
            assert setting.partition("=")[0] in outcome
            assert right in outcome
            assert "p/ss" not in outcome


RIGHT_AT_START = [
    "ALLOWED_HOSTS=judge.example.org, .lab.example.org,[::1],web_1,*",
    "CSRF_TRUSTED_ORIGINS=https://judge.example.org:8443,https://*.example.org",
    "REDIS_URL=rediss://:secret%2F@host:6380/1",
    "EMAIL_URL=consolemail://localhost",
    "WEBHOOK_HOSTS=hooks.example.org:8443,http://hooks.lab:9000",
    "TRUSTED_PROXIES=10.0.0.1, 10.1.0.0/16",
    "CHAT_INPUT_PRICE=1e-1",
    "LOG_LEVEL=info",
    "HTTPS=On",
    "SITE_URL=https://judge.example.org:8443/",
    "API_RATE=",
    "MAIL_FROM=Reeljudge <judge@example.org>",
    "SECRET_KEY=$a-key-may-begin-with-any-character-at-all",
]


def test_what_is_right_starts() -> None:
    assert outcomes(RIGHT_AT_START) == ["starts"] * len(RIGHT_AT_START)


def test_mails_need_the_address_of_the_site_where_any_host_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a stranger could have the link for a new password mailed with a host of theirs."""
    monkeypatch.setenv("EMAIL_URL", "consolemail://localhost")
    wrong, right = outcomes(["ALLOWED_HOSTS=.example.org", "ALLOWED_HOSTS=judge.example.org"])
    assert wrong == "ImproperlyConfigured SITE_URL: missing; expected with EMAIL_URL and a pattern in ALLOWED_HOSTS"
    assert right == "starts"


def test_an_address_of_the_site_that_it_does_not_answer_is_found(settings: Any) -> None:
    settings.SITE_URL, settings.ALLOWED_HOSTS = "https://judge.example.org", ["other.example.org"]
    assert "SITE_URL: https://judge.example.org is not one of ALLOWED_HOSTS" in found()["settings"]
    settings.SITE_URL, settings.TRUSTED_PROXIES = "", ["10.0.0.1"]
    assert "SITE_URL is missing" in found()["settings"]


def test_a_misspelt_setting_and_one_that_names_no_file_are_found(
    monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    monkeypatch.setenv("ALLOWED_HOST", "judge.example.org")
    assert "ALLOWED_HOST is set, which is not a setting; is ALLOWED_HOSTS meant?" in found()["settings"]
    settings.MEDIA_FOLDERS = ["s3://films/a", "/nowhere/films"]
    assert "MEDIA_FOLDERS: /nowhere/films is not there" in found()["settings"]
    settings.MEDIA_FOLDERS, settings.RELEASE_KEY = [], "/nowhere/key"
    assert "RELEASE_KEY: /nowhere/key is not there" in found()["settings"]


def test_a_reader_that_stops_reading_ends_a_command_quietly() -> None:
    command = [sys.executable, "manage.py", "doctor"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 1


def test_a_wrong_address_of_the_database_is_one_line() -> None:
    env = environment() | {"DATABASE_URL": "nonsense"}
    done = subprocess.run(
        [sys.executable, "manage.py", "check"], cwd=ROOT, env=env, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "DATABASE_URL: expected postgres://" in done.stderr
