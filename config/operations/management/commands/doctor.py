"""manage.py doctor: look at all that this installation needs, with a line about each."""

import os
import secrets
from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import timedelta
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import ERROR as SERIOUS
from django.core.checks import Tags, run_checks
from django.core.checks.registry import registry
from django.core.files.base import ContentFile
from django.core.files.storage import FileSystemStorage, default_storage
from django.core.mail import get_connection
from django.core.management import CommandError
from django.db import connection
from django.http.request import split_domain_port, validate_host
from django.utils import timezone

from base.commands import ReeljudgeCommand
from base.text import printable
from config.operations import backups, readiness
from config.operations.management.commands.serve import uncollected
from corpus.films import SCHEME
from jobs.models import WorkerHeartbeat
from jobs.queue import machine_of


class Command(ReeljudgeCommand):
    requires_system_checks = ()  # they are among the checks
    help = "Check settings, database, Redis, store, clock, disk, mail, workers and backups. Exit code 2 for an error."

    def handle(self, **options: Any) -> None:
        wrong = 0
        for check, level, words in look():
            self.stdout.write(f"{level:<8} {check:<13} {printable(words)}")
            wrong += level == ERROR
        if wrong:
            raise CommandError(f"{wrong} thing(s) are wrong", returncode=2)


OK, WARNING, ERROR = "ok", "warning", "error"
GIB = 1 << 30
LEAST_FREE, FEW_FREE = 1 * GIB, 5 * GIB  # bytes of a disk
MOST_APART = 2.0  # seconds between the clocks of the database and of this machine
OLDEST_BACKUP = timedelta(days=2)


class Finding(NamedTuple):
    check: str
    level: str
    words: str


def look() -> Iterator[Finding]:
    """Do all checks, one after the other. What a check meets unexpectedly is its finding."""
    for name, check in CHECKS.items():
        try:
            yield from (Finding(name, level, words) for level, words in check())
        except Exception as fault:  # noqa: BLE001 - whatever it is, the operator wants to know of it, and of the rest
            words = " ".join(str(fault).split()) or "no reason"
            yield Finding(name, ERROR, f"{type(fault).__name__}: {words}")


Found = Iterator[tuple[str, str]]

OF_CODE = {Tags.models, Tags.urls, Tags.templates}  # which `make check` looks at, and no setting changes


def _settings() -> Found:
    """Django's own checks of settings; those of a site that others reach, if a proxy is named."""
    is_reached = bool(settings.TRUSTED_PROXIES)
    tags = registry.tags_available(is_reached) - OF_CODE
    found = run_checks(tags=sorted(tags), include_deployment_checks=is_reached, databases=["default"])
    for each in found:
        yield ERROR if each.level >= SERIOUS else WARNING, f"{each.msg} {each.hint or ''}".strip()
    misspelt = {name: get_close_matches(name, settings.KNOWN, 1, 0.9) for name in os.environ.keys() - settings.KNOWN}
    for name, known in sorted(misspelt.items()):
        if known:
            yield WARNING, f"{name} is set, which is not a setting; is {known[0]} meant?"
    missing, site = [*_missing()], [*_site()]
    yield from ((ERROR, f"{name}: {path} is not there") for name, path in missing)
    yield from site
    if not (found or missing or site):
        yield OK, f"version {settings.VERSION}, home {settings.HOME}"


def _site() -> Found:
    """Look whether links in mails lead to this site."""
    if not settings.SITE_URL:
        if settings.MAILS or settings.TRUSTED_PROXIES:
            yield WARNING, "SITE_URL is missing: links in mails have the host that the browser sent"
    elif not validate_host(split_domain_port(urlsplit(settings.SITE_URL).netloc)[0], settings.ALLOWED_HOSTS):
        yield ERROR, f"SITE_URL: {settings.SITE_URL} is not one of ALLOWED_HOSTS, so that its links are refused"


def _missing() -> Iterator[tuple[str, str]]:
    """Yield each setting that names a file or folder which is not there."""
    named = [("MEDIA_FOLDERS", folder) for folder in settings.MEDIA_FOLDERS if not folder.startswith(SCHEME)]
    named += [(name, getattr(settings, name)) for name in ("ENCODER", "NAMES_MODEL", "VISION_MODEL")]
    for name, path in [*named, ("RELEASE_KEY", settings.RELEASE_KEY)]:
        is_path = path.startswith((".", "/")) or name in ("MEDIA_FOLDERS", "RELEASE_KEY")
        if path and is_path and not Path(path).exists():
            yield name, path


def _static() -> Found:
    if missing := uncollected():
        yield ERROR, f"{missing} in {settings.STATIC_ROOT} is missing or of another version; run `collectstatic`"
    else:
        yield OK, "all collected"


def _database() -> Found:
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("SELECT sqlite_version()")
            yield OK, f"SQLite {cursor.fetchone()[0]}, for one machine"
            return
        for name in ("fsync", "synchronous_commit"):
            cursor.execute(f"SHOW {name}")
            if (value := cursor.fetchone()[0]) == "off":
                yield ERROR, f"{name} is {value}: acknowledged grades can be lost; expected on"
        cursor.execute("SHOW server_version")
        yield OK, f"PostgreSQL {cursor.fetchone()[0]}"


def _tables() -> Found:
    faults = [each for each in (readiness.CHECKS[name]() for name in ("migrations", "release")) if each != readiness.OK]
    yield (ERROR, faults[0]) if faults else (OK, "as this version knows them")


def _clock() -> Found:
    if connection.vendor == "sqlite":
        yield OK, "that of the database is this machine's"
        return
    before = timezone.now()
    with connection.cursor() as cursor:
        cursor.execute("SELECT CLOCK_TIMESTAMP()")
        there = cursor.fetchone()[0]
    apart = abs((there - before - (timezone.now() - before) / 2).total_seconds())
    words = f"{apart:.1f} s apart from the database's"
    yield (OK, words) if apart <= MOST_APART else (ERROR, f"{words}; let NTP set the clocks of all machines")


def _redis() -> Found:
    if not settings.REDIS_URL:
        yield OK, "none: jobs are run by the embedded worker of `serve`, or by `worker`"
        return
    import redis

    server = redis.Redis.from_url(settings.REDIS_URL, socket_timeout=5, socket_connect_timeout=5)
    found = server.info()
    policy = found.get("maxmemory_policy", "noeviction")
    if policy != "noeviction":
        yield WARNING, f"maxmemory-policy is {policy}: messages can be lost; expected noeviction"
    yield OK, f"Redis {found['redis_version']}"


def _store() -> Found:
    """Write, read and remove a small file."""
    content = secrets.token_bytes(16)
    name = default_storage.save(f"doctor-{secrets.token_hex(8)}", ContentFile(content))
    try:
        with default_storage.open(name) as file:
            is_same = file.read() == content
    finally:
        default_storage.delete(name)
    yield (OK, "keeps what is written") if is_same else (ERROR, "gives back other bytes than were written")


def _disk() -> Found:
    folders = [Path(settings.HOME)]
    if isinstance(default_storage, FileSystemStorage):
        folders.append(Path(settings.MEDIA_ROOT))
    for folder in folders:
        free = readiness.free_bytes(folder)
        words = f"{free / GIB:.1f} GiB free in {folder}"
        level = ERROR if free < LEAST_FREE else WARNING if free < FEW_FREE else OK
        yield level, words if level == OK else f"{words}; expected {FEW_FREE / GIB:.0f} GiB or more"


def _mail() -> Found:
    if not settings.MAILS:
        yield OK, "no server is set (EMAIL_URL): links are handed over by people"
        return
    with get_connection():
        yield OK, "the server answers"


def _workers() -> Found:
    found = readiness.CHECKS["workers"]()
    machines = sorted(
        {machine_of(worker) for worker in WorkerHeartbeat.objects.recent().values_list("worker", flat=True)}
    )
    yield (OK, f"signs of life from {', '.join(machines)}") if found == readiness.OK else (WARNING, found)
    yield from _other_versions()


def _other_versions() -> Found:
    """Name the workers that run another version than this program."""
    others = WorkerHeartbeat.objects.recent().exclude(version=settings.VERSION).values_list("worker", "version")
    by_version: dict[str, set[str]] = defaultdict(set)
    for worker, version in others:
        by_version[version or "an older version"].add(machine_of(worker))
    for version, machines in sorted(by_version.items()):
        names = ", ".join(sorted(machines))
        yield WARNING, f"{names}: runs {version}, and this machine {settings.VERSION}; finish the upgrade, or go back"


def _backup() -> Found:
    at = backups.newest()
    if at is None:
        yield WARNING, "none is known; run `backup` each night"
    elif timezone.now() - at > OLDEST_BACKUP:
        yield WARNING, f"the newest is of {at:%Y-%m-%d %H:%M} UTC; run `backup` each night"
    else:
        yield OK, f"the newest is of {at:%Y-%m-%d %H:%M} UTC"


CHECKS: dict[str, Callable[[], Found]] = {
    "settings": _settings,
    "static files": _static,
    "database": _database,
    "tables": _tables,
    "clock": _clock,
    "redis": _redis,
    "store": _store,
    "disk": _disk,
    "mail": _mail,
    "workers": _workers,
    "backup": _backup,
}
