"""An import of a large file is killed half-way, or finds a wrong line near the end: it leaves nothing."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.faults.account import check
from tests.faults.conftest import Note
from tests.faults.crowd import Crowd, at_work, make_campaign
from tests.faults.servers import installed
from tests.installation import ROOT, Installation, sql
from tests.waiting import wait_until

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]
KILLED, WRONG = 100_000, 1_000_000  # lines
LINE = '{{"vid_name": "film-{0}", "duration": 9000, "ts": [{1}, {1}.5], "desc": "She sits.", "type": "v"}}\n'
PER_FILM = 1000  # lines
# The same import, which stores each part of the file at once.
PART_BY_PART = """
import sys, django
django.setup()
from corpus.importers import load
load._load = load._load.__wrapped__
from django.core.management import call_command
call_command("import_corpus", *sys.argv[1:])
"""


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Installation]:
    with installed(tmp_path / "home", request.param) as made:
        yield made


@pytest.fixture
def crowd(place: Installation) -> Iterator[Crowd]:
    """Annotators who judge meanwhile."""
    with at_work(make_campaign(place, "meanwhile", people=4, batches=40)) as made:
        made.reach(1)
        yield made


def test_an_import_that_is_killed_half_way_leaves_nothing(
    place: Installation, crowd: Crowd, note: Note, control: Callable[..., None], tmp_path: Path
) -> None:
    file = write(tmp_path, KILLED)
    whole = [sys.executable, "manage.py", "import_corpus", "large", str(file), "--format", "tvr"]
    kill_half_way(place, whole, file)
    assert counts(place, "large") == (0, 0)
    in_parts = [sys.executable, "-c", PART_BY_PART, "parts", str(file), "--format", "tvr"]
    kill_half_way(place, in_parts, file)
    left = counts(place, "parts")[1]
    assert 0 < left < KILLED
    control("an import without a transaction, killed", place.database, f"{left:,} moments left behind")
    place.manage("import_corpus", "large", str(file), "--format", "tvr")
    assert counts(place, "large") == (1, KILLED)
    note("import killed half-way", place.database, check(place, crowd.annotators))


def test_a_wrong_line_at_the_end_of_a_million_is_named_and_nothing_is_stored(
    place: Installation, crowd: Crowd, note: Note, tmp_path: Path
) -> None:
    file = write(tmp_path, WRONG, wrong=WRONG - 1)
    done = subprocess.run(
        [sys.executable, "manage.py", "import_corpus", "large", str(file), "--format", "tvr"],
        cwd=ROOT,
        env=place.env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    assert "line 999999: field ts" in done.stderr
    assert counts(place, "large") == (0, 0)
    note("wrong line 999,999 of an import", place.database, check(place, crowd.annotators))


def write(folder: Path, lines: int, wrong: int | None = None) -> Path:
    file = folder / "moments.jsonl"
    with file.open("w") as out:
        for number in range(1, lines + 1):
            film, second = divmod(number, PER_FILM)
            line = LINE.format(film, second)
            out.write(json.dumps(json.loads(line) | {"ts": [9, 8]}) + "\n" if number == wrong else line)
    return file


def kill_half_way(place: Installation, command: list[str], file: Path) -> None:
    importing = subprocess.Popen(command, cwd=ROOT, env=place.env, stdout=subprocess.DEVNULL)
    half = file.stat().st_size / 2
    try:
        wait_until(lambda: _position(importing.pid, file) > half, lambda: "half of the file is read")
    finally:
        importing.kill()
    assert importing.wait() == -signal.SIGKILL


def _position(pid: int, file: Path) -> int:
    """How far a process has read a file."""
    for each in Path(f"/proc/{pid}/fd").iterdir():
        if each.is_symlink() and each.readlink() == file:
            return int(Path(f"/proc/{pid}/fdinfo/{each.name}").read_text().split()[1])
    return 0


def counts(place: Installation, corpus: str) -> tuple[int, int]:
    """How many corpora of that name there are, and how many moments they hold."""
    named = f"SELECT id FROM corpus_corpus WHERE name = '{corpus}'"
    films = f"SELECT id FROM corpus_video WHERE corpus_id IN ({named})"
    ((corpora,),) = sql(place, f"SELECT count(*) FROM ({named}) AS named")
    ((moments,),) = sql(place, f"SELECT count(*) FROM corpus_moment WHERE video_id IN ({films})")
    return corpora, moments
