"""The commands of docs/backup.md, run while annotators judge: what they copy is restored, and holds what was saved."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests import browsing
from tests.faults.account import STORED, Account
from tests.faults.conftest import Note
from tests.faults.crowd import at_work, make_campaign
from tests.faults.servers import Postgres, postgres
from tests.installation import ROOT, Installation, sql

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]
DOCUMENT = (ROOT / "docs" / "backup.md").read_text()
MAKE_RELEASE = """
from django.contrib.auth.models import User
from campaigns.models import Campaign
campaign = Campaign.objects.get(name="{0}")
campaign.add_member(User.objects.get_or_create(username="lea")[0], "lead")
"""
FILES = """
from corpus.models import Clip
from releases.models import Release
for clip in Clip.objects.filter(state="ready"):
    print(clip.file.path)
for release in Release.objects.filter(state="ready"):
    print(release.file.path, release.sha256)
"""


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_what_was_saved_before_the_backup_is_there_after_the_restore(
    tmp_path: Path, kind: str, note: Note, control: Callable[..., None]
) -> None:
    with two_places(tmp_path, kind) as (place, other):
        browsing.import_films(place)
        browsing.make_campaign(place, "filmed")
        browsing.wait_until_open(place, "filmed", 1)
        annotators = make_campaign(place, "saved", batches=60)
        place.shell(MAKE_RELEASE.format("saved"))
        with at_work(annotators) as crowd:
            crowd.reach(200)
            freeze(place)
            before = crowd.grades
            shell(place, tmp_path, "back up")
            crowd.more(100)
            freeze(place)  # is not in the backup
        shell(other, tmp_path, "restore")
        shell(other, tmp_path, "releases")
        stored = {str(key).replace("-", ""): grade for key, grade, *_ in sql(other, STORED.format("saved"))}
        lost = sum(stored.get(each.key.replace("-", "")) != each.grade for each in before)
        assert lost == 0
        assert 0 < len(stored) < len(crowd.grades)  # it is the state of an instant in the middle
        assert len(files_missing(other)) == 0
        assert other.shell("from corpus.models import Clip; print(Clip.objects.filter(state='ready').count())") != "0\n"
        shutil.copy(place.home / "secret_key", other.home)
        other.serve()  # and people go on
        with at_work([each.again(other.address) for each in annotators]) as again:
            again.more(20)
        assert "BROKEN" not in other.manage("audit")
        control_of_the_order(place, kind, control)
    note("backup under load and restore", kind, Account(len(before), lost, 0, 0))


def control_of_the_order(place: Installation, kind: str, control: Callable[..., None]) -> None:
    """Copied before the database, the files lack what is made in between."""
    early = place.home / "early"
    shutil.copytree(place.home / "media", early)
    freeze(place)
    named = [line.split()[0] for line in place.shell(FILES).splitlines()]
    missing = [name for name in named if not (early / Path(name).relative_to(place.home / "media")).exists()]
    assert missing
    control("files copied before the database", kind, f"{len(missing)} file(s) missing")


def freeze(place: Installation) -> None:
    place.manage("freeze_release", "saved", "--licence", "CC-BY-4.0", "--with-unfinished")


def files_missing(place: Installation) -> list[str]:
    """The files that the database names, and that are not there as it describes them."""
    missing = []
    for line in place.shell(FILES).splitlines():
        name, _, checksum = line.partition(" ")
        file = Path(name)
        content = file.read_bytes() if file.is_file() else b""
        if not content or (checksum and hashlib.sha256(content).hexdigest() != checksum):
            missing.append(name)
    return missing


@contextmanager
def two_places(folder: Path, kind: str) -> Iterator[tuple[Installation, Installation]]:
    """An installation that runs, and an empty one beside it."""
    if kind == "sqlite":
        yield from _started(folder)
        return
    with postgres() as server:
        server.sql("CREATE DATABASE restored")
        yield from _started(folder, server)


def _started(folder: Path, server: Postgres | None = None) -> Iterator[tuple[Installation, Installation]]:
    place = Installation(folder / "home", server.url if server else "")
    other = Installation(folder / "other", server.url.replace("/reeljudge", "/restored") if server else "")
    other.home.mkdir()
    (other.home / "static").symlink_to(place.home / "static")
    try:
        place.start()
        yield place, other
    finally:
        place.stop()
        other.stop()


def shell(place: Installation, folder: Path, name: str) -> None:
    """Run the commands of the document as a reader would, in a folder of their own."""
    block = re.search(rf"<!-- run: {name} -->\n```sh\n(.*?)```", DOCUMENT, re.S)
    assert block, name
    lines = block[1].replace("manage.py", str(ROOT / "manage.py"))
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = place.env | {"PATH": path, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(["sh", "-ec", lines], cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{lines}\n{done.stdout}\n{done.stderr}"
    assert "BROKEN" not in done.stdout


def test_every_command_of_the_document_is_run() -> None:
    run = re.findall(r"<!-- run: (.*?) -->\n```sh", DOCUMENT)
    assert len(run) == DOCUMENT.count("```sh") == len(set(run)) == 3
