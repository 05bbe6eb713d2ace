"""`make release`: what it refuses, in one line each, and what a dry one makes."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from zipfile import ZipFile

import pytest

from metrics import __version__
from tests.installation import ROOT
from tests.release import RELEASED, Refused, check, new_migrations, release

CHANGELOG = f"# Changelog\n\n## {__version__}, 2026-11-25\n\n- What is new.\n"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A small checkout: a changelog, the migrations and the list of those that were released."""
    place = tmp_path / "checkout"
    for file in (*ROOT.glob("*/migrations/0*.py"), RELEASED):
        copy = place / file.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, copy)
    (place / "CHANGELOG.md").write_text(CHANGELOG)
    git(place, "init", "-q")
    commit(place)
    return place


def git(place: Path, *arguments: str) -> None:
    names = ("-c", "user.name=A Person", "-c", "user.email=person@example.org")
    subprocess.run(["git", *names, *arguments], cwd=place, check=True, capture_output=True)


def commit(place: Path) -> None:
    git(place, "add", "-A")
    git(place, "commit", "-qm", "all")


def no_section(place: Path) -> None:
    (place / "CHANGELOG.md").write_text(CHANGELOG.replace(f"## {__version__}", "## 0.0.9"))
    commit(place)


def empty_section(place: Path) -> None:
    (place / "CHANGELOG.md").write_text(CHANGELOG.replace("- What is new.", "\n## 0.0.9, 2026-11-25\n\n- Old."))
    commit(place)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda place: (place / "new.txt").touch(), r"1 file\(s\) are changed or new, such as new.txt"),
        (lambda place: git(place, "tag", f"v{__version__}"), f"tag v{__version__}: exists already"),
        (no_section, f"CHANGELOG.md: nothing under a line `## {__version__}, YYYY-MM-DD`"),
        (empty_section, f"CHANGELOG.md: nothing under a line `## {__version__}, YYYY-MM-DD`"),
    ],
)
def test_what_is_not_ready_is_refused(checkout: Path, wrong: Callable[[Path], object], words: str) -> None:
    check(checkout, __version__)
    wrong(checkout)
    with pytest.raises(Refused, match=words) as refusal:
        check(checkout, __version__)
    assert "\n" not in str(refusal.value)


def test_a_version_has_three_numbers(checkout: Path) -> None:
    with pytest.raises(Refused, match=r"version 0\.3: expected three numbers"):
        check(checkout, "0.3")


def test_a_released_migration_that_changed_or_went_is_refused(checkout: Path) -> None:
    assert not any("0001_initial" in line for line in new_migrations(checkout))
    file = checkout / "jobs" / "migrations" / "0001_initial.py"
    file.write_text(f"{file.read_text()}\n# later\n")
    with pytest.raises(Refused, match=r"jobs/migrations/0001_initial\.py: differs from what was released"):
        new_migrations(checkout)
    file.unlink()
    with pytest.raises(Refused, match=r"jobs/migrations/0001_initial\.py: is gone; expected what was released"):
        new_migrations(checkout)


@pytest.mark.long
def test_a_release_is_dry_first_and_then_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In a copy of this checkout, whose changes are committed."""
    place = tmp_path / "checkout"
    files = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, check=True, capture_output=True)
    for name in files.stdout.decode().split():
        if (ROOT / name).is_file():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, place / name)
    git(place, "init", "-q")
    git(place, "config", "user.name", "A Person")
    git(place, "config", "user.email", "person@example.org")
    commit(place)
    release(place, __version__, is_dry=True)
    assert f"no tag v{__version__} was made" in capsys.readouterr().out
    made = {file.name: file for file in (place / "dist").iterdir()}
    wheel = made[f"reeljudge-{__version__}-py3-none-any.whl"]
    assert "reeljudge/__init__.py" in ZipFile(wheel).namelist()
    parts = json.loads(made[f"reeljudge-{__version__}.cdx.json"].read_text())["components"]
    assert "django" in {part["name"].lower() for part in parts}
    subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=place / "dist", check=True)
    release(place, __version__, is_dry=False)
    assert new_migrations(place) == []
    with pytest.raises(Refused, match="exists already"):
        release(place, __version__, is_dry=True)
