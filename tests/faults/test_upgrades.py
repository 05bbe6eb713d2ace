"""The first release is upgraded while people judge: what either version acknowledged is there, and nothing twice."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests import installation, made_once
from tests.faults.account import account
from tests.faults.conftest import Note
from tests.faults.crowd import at_work, make_campaign
from tests.installation import ROOT
from tests.operations.dumps import restored

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]
FIRST = "35c1905f3e3646aba4050ad7ea944556f5116aed"  # whose tables were those of version 0.1.0


@pytest.fixture
def first(tmp_path: Path) -> Path:
    """The program of the first release, from the history of this checkout."""
    place, archive = tmp_path / "first", tmp_path / "first.tar"
    if subprocess.run(["git", "archive", "-o", archive, FIRST], cwd=ROOT, check=False, capture_output=True).returncode:
        pytest.skip("this checkout has no history that reaches back to the first release")
    place.mkdir()
    subprocess.run(["tar", "-xf", archive, "-C", place], check=True)
    return place


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_nothing_is_lost_when_the_first_release_is_upgraded_under_load(
    first: Path, tmp_path: Path, kind: str, note: Note, monkeypatch: pytest.MonkeyPatch
) -> None:
    with restored(tmp_path / "home", kind) as place:
        (static := place.home / "static").unlink()
        with monkeypatch.context() as old:
            old.setattr(installation, "ROOT", first)
            place.manage("collectstatic", "--noinput", "-v0")
            place.serve()
            annotators = make_campaign(place, "load", batches=60)
            place.end_commands()
        with at_work(annotators) as crowd:
            crowd.reach(200)
            place.manage("migrate", "-v0")  # while the old version serves
            before = len(crowd.grades)
            place.stop()
            shutil.rmtree(static)
            static.symlink_to(made_once.collected_static())
            place.serve()
            crowd.more(200)
        done = account(place, annotators)
        assert done.is_clean, done
        assert 200 <= before <= done.acknowledged - 200
        assert "BROKEN" not in place.manage("audit")
    note("upgrade of the first release under load", kind, done)
