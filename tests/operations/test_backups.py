"""`backup` and `restore`: what is written is verified, and what is damaged or in the way is refused."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.installation import Installation, sql
from tests.operations.dumps import empty, restored

KEPT = "SELECT id, grade, key FROM judging_revision ORDER BY id"
AGE = """
from django.utils import timezone
from config.operations.backups import newest
print(timezone.now() - newest())
"""


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    with restored(tmp_path_factory.mktemp(request.param) / "home", request.param) as made:
        made.manage("migrate", "-v0")
        yield made


def back_up(place: Installation, target: Path, *options: str) -> Path:
    return Path(place.manage("backup", str(target), *options).strip())


def refused(place: Installation, words: str, *command: str, code: int = 2) -> None:
    with pytest.raises(AssertionError, match=rf"(?s): {code}\n.*{words}") as refusal:
        place.manage(*command)
    assert "Traceback" not in str(refusal.value)


def test_a_backup_is_restored_elsewhere_with_a_word_about_its_files(place: Installation, tmp_path: Path) -> None:
    made = back_up(place, tmp_path)
    assert made.stat().st_mode & 0o777 == 0o700
    named = [json.loads(line) for line in (made / "files.jsonl").read_text().splitlines()]
    assert [each["file"].split("/")[0] for each in named] == ["releases", "runs"]
    assert place.shell(AGE).startswith("0:00:")
    with empty(tmp_path / "other", place.database) as other:
        for each in named:
            file = other.home / "media" / each["file"]
            file.parent.mkdir(parents=True)
            file.write_bytes(b"0" * each["size"])
        file.write_bytes(b"0")
        refused(other, f"1 stored file.* differ, such as {named[-1]['file']}", "restore", str(made), code=1)
        assert sql(other, KEPT) == sql(place, KEPT)
        assert "BROKEN" not in other.manage("audit")
        other.manage("migrate", "--check")
        refused(other, "expected an empty one. Nothing was changed", "restore", str(made))


def test_all_but_the_newest_are_deleted_if_somebody_says_so(place: Installation, tmp_path: Path) -> None:
    made = back_up(place, tmp_path / "first")
    target = tmp_path / "target"
    for day in (1, 2, 3):
        shutil.copytree(made, target / f"reeljudge-2026010{day}T000000Z")
    (target / "mine").mkdir()
    newest = back_up(place, target, "--keep", "2")
    names = sorted(each.name for each in target.iterdir())
    assert names == ["mine", "reeljudge-20260103T000000Z", newest.name]
    refused(place, "--keep: 0; expected 1 or more", "backup", str(target), "--keep", "0")


def test_what_is_no_backup_or_damaged_is_refused(place: Installation, tmp_path: Path) -> None:
    made = back_up(place, tmp_path / "target")
    refused(place, f"{tmp_path}: is no backup", "restore", str(tmp_path))
    for name in ("database", "files.jsonl"):
        shutil.copytree(made, damaged := tmp_path / name)
        (damaged / name).write_bytes(b"")
        refused(place, f"{name}: is not as it was written", "restore", str(damaged))
    summary = made / "backup.json"
    summary.write_text(summary.read_text().replace('"kind": "', '"kind": "another '))
    refused(place, "DATABASE_URL names a database of", "restore", str(made))
    (file := tmp_path / "file").touch()
    refused(place, "cannot be written .Not a directory.; the backup was not made", "backup", str(file / "below"))
    assert [each.name for each in (tmp_path / "target").iterdir()] == [made.name]


def test_without_the_programs_of_postgresql_a_line_says_so(place: Installation, tmp_path: Path) -> None:
    if place.database == "sqlite":
        pytest.skip("SQLite needs none")
    other = Installation(place.home, place.env["DATABASE_URL"])
    other.env["PATH"] = str(tmp_path)
    refused(other, "pg_dump: is not installed; expected PostgreSQL's client programs", "backup", str(tmp_path))
    other.stop()
