"""The prepared demo: it is small, of these tables and inputs, and opens as if it had been judged lately."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import date, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from demo import bundle
from demo.bundle import CONTENTS, DATABASE, FOLDER, LARGEST_PART
from tests import made_once
from tests.installation import Installation
from tests.terminal import ROOT

FILES = ROOT / "demo" / "files"
AGAIN = "make demo-bundle makes it anew"
OLD = 40  # days
RESTORE = """
from datetime import date
import django
django.setup()
from demo import bundle
assert bundle.is_wanted()
bundle.restore(date.fromisoformat("{day}"))
assert not bundle.is_wanted()
"""


@pytest.fixture(scope="module")
def contents() -> dict[str, Any]:
    read: dict[str, Any] = json.loads(CONTENTS.read_text())
    return read


def test_it_is_small(contents: dict[str, Any]) -> None:
    sizes = [(FOLDER / part).stat().st_size for part in contents["parts"]]
    assert max(sizes) <= LARGEST_PART
    assert sum(sizes) <= 25_000_000


def test_it_is_of_these_films_and_queries(contents: dict[str, Any]) -> None:
    inputs = {str(each.relative_to(FILES)): each for each in FILES.rglob("*") if each.is_file()}
    assert contents["inputs"] == {name: sha256(file.read_bytes()).hexdigest() for name, file in inputs.items()}, AGAIN


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """An installation into which a bundle was restored that is 40 days old."""
    home = tmp_path_factory.mktemp("bundle") / "home"
    made = Installation(home)
    home.mkdir()
    today = date.fromisoformat(json.loads(CONTENTS.read_text())["made"]) + timedelta(OLD)
    environment = made.env | {"DJANGO_SETTINGS_MODULE": "config.settings"}
    command = [sys.executable, "-c", RESTORE.format(day=today.isoformat())]
    subprocess.run(command, cwd=ROOT, env=environment, check=True)
    yield made
    made.stop()


def tables(file: Path) -> set[tuple[str, ...]]:
    with closing(sqlite3.connect(file)) as database:
        return {*database.execute("SELECT type, name, sql FROM sqlite_master")}


def test_its_tables_are_those_of_the_migrations(place: Installation, tmp_path: Path) -> None:
    made_once.migrated_sqlite(tmp_path / DATABASE)
    assert tables(place.home / DATABASE) == tables(tmp_path / DATABASE), AGAIN


def test_its_files_are_whole(place: Installation, contents: dict[str, Any]) -> None:
    files = {name: checksum for name, checksum in contents["files"].items() if name != DATABASE}
    assert {name: sha256((place.home / name).read_bytes()).hexdigest() for name in files} == files


def test_its_days_are_moved(place: Installation, contents: dict[str, Any]) -> None:
    made = date.fromisoformat(contents["made"])
    with closing(sqlite3.connect(place.home / DATABASE)) as database:
        ((last,),) = database.execute("SELECT MAX(at) FROM judging_revision")
        ((folder,),) = database.execute("SELECT media_folder FROM corpus_corpus")
    assert made + timedelta(OLD - 15) <= datetime.fromisoformat(last).date() <= made + timedelta(OLD)
    assert folder == str(place.home / "demo" / "films")


def test_nothing_is_wrong_with_it_and_nothing_is_left_to_do(place: Installation) -> None:
    place.manage("demo", "--only-make")
    place.manage("audit")  # which ends with another code if something is wrong
    assert place.manage("jobs") == "no such jobs\n"


def test_another_installation_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    database = tmp_path / DATABASE

    def wanted(media: Path = tmp_path / "media", name: object = database) -> bool:
        own = {"MEDIA_ROOT": media, "MODELS_ROOT": tmp_path / "models", "FEATURES_ROOT": tmp_path / "features"}
        about = SimpleNamespace(HOME=tmp_path, DATABASES={"default": {"NAME": name}}, **own)
        monkeypatch.setattr(bundle, "settings", about)
        return bundle.is_wanted()

    assert wanted()
    assert not wanted(media=Path("/srv/media"))
    assert not wanted(name="reeljudge")  # of PostgreSQL
    database.touch()  # as `doctor` leaves it
    assert wanted()
    with closing(sqlite3.connect(database)) as opened, opened:
        opened.execute("CREATE TABLE campaigns_campaign (id)")
    assert not wanted()
