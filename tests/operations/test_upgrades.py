"""Upgrades: the database of each release is brought to this version, and others are refused and left as they are."""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Any

import psycopg
import pytest
from django.core.cache import cache
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from config.operations import readiness, schema
from tests.installation import ROOT, Installation, sql
from tests.operations.dumps import restored
from tests.release import RELEASED, released_migrations

KEPT = "SELECT id, judgement_id, number, press, grade, seconds, key FROM judging_revision ORDER BY id"
ACKNOWLEDGED = 7  # grades of the open assignment
JOBS = "SELECT kind, owner, state FROM jobs_job ORDER BY id"
COLUMNS_OF_JOBS = "SELECT * FROM jobs_job ORDER BY id"
MIGRATIONS = "SELECT app, name FROM django_migrations ORDER BY id"
ONE_MORE_GRADE = """
from judging.models import Revision
last = Revision.objects.order_by("-pk")[0]
last.pk, last.key, last.number = None, "8" * 32, last.number + 1
last.save(force_insert=True)
"""
TRIGGERS = {
    "sqlite": "SELECT LOWER(name) FROM sqlite_master WHERE type = 'trigger'",
    "postgres": "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal",
}
FOUND_JOBS = [
    ("freeze-release", "campaign 1", "done"),
    ("receive-run", "campaign 1", "done"),
    ("score-runs", "campaign 1", "done"),
    ("resample-annotators", "campaign 1", "done"),
    ("receive-run", "campaign 1", "done"),
    ("verify-release", "campaign 1", "done"),
    ("act", "campaign 2", "waiting"),
    ("tell-webhook", "campaign 2", "waiting"),
    ("count-agreement", "campaign 2", "waiting"),
    ("rank-candidates", "campaign 2", "failed"),
    ("mail-new-password", "", "waiting"),
    ("an extension's own kind", "", "failed"),
    ("cut-clips", "campaign 2", "running"),
]
# Who was signed in, and what they can do then: the annotator goes on with the open assignment, the lead sees all pages.
GO_ON = """
import json, re
from django.conf import settings
from django.contrib.sessions.models import Session
from django.test import Client
from api.models import StoredAnswer
from base.database import decrypt
from campaigns.models import CacheEntry, Webhook
from jobs.models import Job
from tests.cast import browser
from django.contrib.auth.models import User

settings.ALLOWED_HOSTS = ["testserver"]
ada = Client(raise_request_exception=False)
for row in Session.objects.all():
    if row.get_decoded().get("_auth_user_id") == str(User.objects.get(username="ada").pk):
        ada.cookies[settings.SESSION_COOKIE_NAME] = row.session_key
held = ada.post("/judge/shorts/claim", headers={"accept": "application/json"}).json()["assignment"]
body = {"grade": 3, "fence": held["fence"], "key": "9" * 32, "press": 8, "seconds": 2.0}
saved = ada.put(f"/judge/assignments/{held['token']}/judgements/8", json.dumps(body), content_type="application/json")
lea, seen, faults = browser(User.objects.get(username="lea")), set(), []
lea.raise_request_exception = False
to_see = ["/", "/lead/shorts/", "/lead/films/", "/runs/films/", "/judge/"]
while to_see and len(seen) < 25:
    address = to_see.pop(0)
    if address in seen:
        continue
    seen.add(address)
    answer = lea.get(address, follow=True)
    if answer.status_code >= 500:
        faults.append(address)
    if not answer.streaming and "html" in answer.get("content-type", ""):
        to_see += [each.partition("#")[0] for each in re.findall('href="(/[^"]*)"', answer.content.decode())]
print(json.dumps({
    "graded": sum(each["grade"] is not None for each in held["places"]),
    "saved": saved.status_code,
    "faults": faults,
    "pages": len(seen),
    "unknown": Job.objects.get(label="an extension's own kind").error,
    "webhook": len(decrypt(Webhook.objects.get().secret)),
    "answer": decrypt(StoredAnswer.objects.get().answer)[:4],
    "cached": sorted(each.rpartition(":")[2] for each in CacheEntry.objects.values_list("cache_key", flat=True)),
}))
"""


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    with restored(tmp_path_factory.mktemp(request.param) / "home", request.param) as made:
        yield made


def triggers_of_migrations() -> set[str]:
    """The names of the triggers that the migrations of all apps set."""
    files = "".join(file.read_text() for file in ROOT.glob("*/migrations/0*.py"))
    calls = re.findall(r"^ +refuse\('(\w+)', ([^)]*)\)", files, re.M)
    return {f"{table}_refuses_{verb.lower()}" for table, rest in calls for verb in re.findall("UPDATE|DELETE", rest)}


def test_the_first_release_is_upgraded_with_all_that_it_holds(place: Installation) -> None:
    before = sql(place, KEPT)
    sql(place, "UPDATE jobs_job SET lease = '2999-01-01 00:00:00' WHERE state = 'running'")
    with pytest.raises(AssertionError, match=r"Version 0\.1\.0 cannot go on .* with --pause\. Nothing was changed"):
        place.manage("upgrade", "--backup", str(place.home / "backups"), "--from", "0.1.0")
    with pytest.raises(AssertionError, match=r"Worker gone:1 is still busy\. Stop the workers .* Nothing was changed"):
        place.manage("upgrade", "--backup", str(place.home / "backups"), "--pause", "--wait", "0")
    sql(place, "UPDATE jobs_job SET lease = '2000-01-01 00:00:00' WHERE state = 'running'")
    printed = place.manage("upgrade", "--backup", str(place.home / "backups"), "--pause")
    assert "backed up: " in printed
    assert "BROKEN" not in printed
    assert printed.count(" ok ") == 32  # sixteen invariants of two campaigns
    assert printed.splitlines()[-1].startswith("The database is upgraded.")
    assert sql(place, KEPT) == before
    assert sql(place, JOBS) == FOUND_JOBS
    assert {name for (name,) in sql(place, TRIGGERS[place.database])} == triggers_of_migrations()
    noted = {kind for (kind,) in sql(place, "SELECT kind FROM campaigns_logentry")}
    assert noted >= {"adjudication", "invitation", "release", "reopening", "review", "review-undone"}
    for verb in ("UPDATE judging_revision SET grade = 1", "DELETE FROM judging_judgement"):
        with pytest.raises((sqlite3.IntegrityError, psycopg.errors.RestrictViolation), match="kept for good"):
            sql(place, verb)
    found = json.loads(place.shell(GO_ON).splitlines()[-1])
    assert found["faults"] == []
    assert found["pages"] == 25
    assert (found["graded"], found["saved"]) == (ACKNOWLEDGED, 200)
    assert found["unknown"].startswith("version 0.2.0 does not know this kind of work")
    assert (found["webhook"], found["answer"], found["cached"]) == (43, "[201", ["newest-backup", "oldest-version"])
    assert "BROKEN" not in place.manage("audit")
    again = place.manage("upgrade", "--backup", str(place.home / "backups"), "--from", "0.2.0")
    assert again == "The database is that of this version. Nothing is to be done.\n"


FAULTS = {
    "the audit": (
        "UPDATE judging_candidate SET grade = (grade + 1) % 5 WHERE outcome = 'settled'",
        r"invariant\(s\) broken",
    ),
    "a migration": ("CREATE TABLE reports_approvedday (id integer)", "reports_approvedday"),
}


@pytest.mark.parametrize(
    ("kind", "fault"),
    [
        ("sqlite", "a migration"),
        ("postgres", "the audit"),
        pytest.param("sqlite", "the audit", marks=pytest.mark.long),
        pytest.param("postgres", "a migration", marks=pytest.mark.long),
    ],
)
def test_an_upgrade_that_fails_in_a_pause_is_taken_back(kind: str, fault: str, tmp_path: Path) -> None:
    statement, words = FAULTS[fault]
    with restored(tmp_path / "home", kind) as place:
        sql(place, statement)
        before = [sql(place, each) for each in (KEPT, MIGRATIONS, COLUMNS_OF_JOBS)]
        ending = rf": 2\n(?s:.*)The upgrade is not well: .*{words}.*\. The database is as it was before\."
        with pytest.raises(AssertionError, match=ending):
            place.manage("upgrade", "--backup", str(place.home / "backups"), "--pause")
        assert [sql(place, each) for each in (KEPT, MIGRATIONS, COLUMNS_OF_JOBS)] == before
        with pytest.raises(AssertionError, match=ending):  # nothing of the first attempt is in the way
            place.manage("upgrade", "--backup", str(place.home / "backups-2"), "--pause")


def test_what_was_judged_since_is_never_taken_back(place: Installation) -> None:
    """The last word is the database's: a grade that came after the backup keeps the tables as they are."""
    place.manage("migrate", "-v0")
    made = place.manage("backup", str(place.home / "since")).strip()
    assert "restored" in place.manage("restore", made, "--replace", check=False)
    place.shell(ONE_MORE_GRADE)
    after = sql(place, KEPT)
    with pytest.raises(AssertionError, match=r": 2\n(?s:.*)Somebody has judged since the backup was made"):
        place.manage("restore", made, "--replace")
    assert sql(place, KEPT) == after


def refused(*words: str) -> None:
    """`migrate` ends with one line that has these words, and with exit code 2."""
    before = MigrationRecorder.Migration.objects.count()
    with pytest.raises(CommandError) as refusal:
        call_command("migrate", verbosity=0)
    assert refusal.value.returncode == 2
    assert "\n" not in str(refusal.value)
    for each in words:
        assert each in str(refusal.value)
    assert MigrationRecorder.Migration.objects.count() == before


@pytest.mark.django_db
@pytest.mark.both_databases
def test_a_database_of_a_version_that_was_never_released_is_refused() -> None:
    """Its migrations have the same names, and its tables other columns."""
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE judging_assignment RENAME COLUMN limits TO bounds")
    refused("column judging_assignment.bounds is of no release, column judging_assignment.limits is missing.")


@pytest.mark.django_db
@pytest.mark.both_databases
def test_a_database_with_migrations_that_were_merged_before_a_release_is_refused() -> None:
    """It is no newer one, since a newer version has the migrations of this one beside its own."""
    recorder = MigrationRecorder(connection)
    last = [each for each in recorder.applied_migrations() if each[0] == "jobs"]
    assert len(last) > 1
    recorder.record_unapplied(*max(last))
    recorder.record_applied("jobs", "0002_owners")
    refused("a version of Reeljudge that was never released", "migration jobs.0002_owners is of no release")


@pytest.mark.django_db
@pytest.mark.both_databases
def test_a_newer_database_is_refused_by_whoever_comes_upon_it() -> None:
    cache.set(schema.SUITS, "9.0.0", None)
    MigrationRecorder(connection).record_applied("jobs", "0999_later")
    refused("upgraded by a newer version", "it has jobs.0999_later", "restore a backup")
    assert "jobs.0999_later" in readiness.CHECKS["release"]()
    assert readiness.CHECKS["migrations"]() == "ok"  # the release that runs goes on during an upgrade
    with pytest.raises(schema.OtherDatabase, match=r"jobs\.0999_later"):
        schema.must_suit()
    MigrationRecorder(connection).record_unapplied("jobs", "0999_later")
    MigrationRecorder(connection).record_applied("account", "0999_later")  # an app that is not ours is its own affair
    schema.must_suit()


@pytest.mark.django_db
@pytest.mark.both_databases
def test_a_version_goes_on_with_tables_that_suit_it(settings: Any) -> None:
    """It may be started anew in the middle of an upgrade; to change such tables is not for it."""
    MigrationRecorder(connection).record_applied("jobs", "0999_later")
    cache.set(schema.SUITS, settings.VERSION, None)
    schema.must_suit()
    assert readiness.CHECKS["release"]() == "ok"
    refused("upgraded by a newer version")
    settings.VERSION = "0.1.9"
    with pytest.raises(schema.OtherDatabase, match=r"jobs\.0999_later"):
        schema.must_suit()


@pytest.mark.parametrize(("before", "goes_on"), [("0.9.0", True), ("v0.10.1", True), ("0.8.9", False)])
def test_a_version_goes_on_if_it_is_not_too_old(before: str, goes_on: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "OLDEST", "0.9.0")
    assert schema.works_with_these_tables(before) is goes_on


@pytest.mark.django_db
@pytest.mark.both_databases
def test_ready_names_a_missing_column_and_compares_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readiness, "_compared", Event())
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE jobs_job RENAME COLUMN subject TO theme")
        assert readiness.CHECKS["migrations"]() == "column jobs_job.subject is missing"
        cursor.execute("ALTER TABLE jobs_job RENAME COLUMN theme TO subject")
        assert readiness.CHECKS["migrations"]() == "ok"
        cursor.execute("ALTER TABLE jobs_job RENAME COLUMN subject TO theme")
    assert readiness.CHECKS["migrations"]() == "ok"


def test_released_migrations_are_as_they_were_released() -> None:
    """What a release brought to databases never changes. A change of tables is a new file."""
    released = released_migrations()
    assert len(released) >= len(list(ROOT.glob("*/migrations/0001_initial.py")))
    for path, checksum in released.items():
        assert (ROOT / path).exists(), f"{path}: was released, and is gone; expected it as it was"
        found = hashlib.sha256((ROOT / path).read_bytes()).hexdigest()
        assert found == checksum, f"{path}: differs from what was released ({RELEASED.name}); expected a new migration"
