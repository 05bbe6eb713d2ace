"""Features are read by a process that is limited and confined."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from base.confinement import ROOT
from corpus.features import FeatureProcess, open_confined
from systems.errors import SystemsError, Unavailable
from systems.features import reader as reading
from systems.features.reader import read_videos
from tests.hostile.features import CLIP_SECONDS, rows
from tests.systems.test_commands import command
from tests.systems.test_features import as_npz


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "features").mkdir()
    return tmp_path / "features"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--clips", "clip@0s"], "--clips: 'clip@0s'; expected PATH, PATH@1.5s, PATH@100clips or PATH@evenly"),
        (["--clips", "nothing.h5"], "nothing.h5: there is no such file or folder"),
        (["--clips", "features.h5", "--fit", "loosely"], "argument --fit: invalid choice: 'loosely'"),
    ],
)
def test_wrong_words_of_the_command_line_are_named(words: list[str], message: str, tmp_path: Path) -> None:
    (tmp_path / "durations.json").write_text('{"a": [9.0, 0]}')
    known: list[str | Path] = ["--durations", tmp_path / "durations.json", "--clip-seconds", "3"]
    done = command("train", tmp_path / "mcn", "--system", "mcn", *known, "--annotations", "none", *words)
    assert (done.code, message in done.err) == (2, True), done.err


def test_the_process_that_reads_knows_no_secrets_and_has_no_network(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_KEY", "secret")
    path = as_npz(folder, {"a": rows()})
    with FeatureProcess(20, 1024) as reader:
        reader.ask(path, path.parent, ["shapes", ["a"]], lambda: None)
        assert reader.process
        process = Path(f"/proc/{reader.process.pid}")
        assert "secret" not in (process / "environ").read_text()
        is_confined = "NoNewPrivs:\t1" in (process / "status").read_text()
        theirs, ours = (os.readlink(f"{each}/ns/net") for each in (process, "/proc/self"))
    if not is_confined or theirs == ours:
        pytest.skip("the kernel has no Landlock, or lets nobody make a network namespace")


# Reads the same file twice: in its own process, and in one that may not read the folder where it lies.
ELSEWHERE = """
import sys
from pathlib import Path
import django
django.setup()
from corpus.features import FeatureProcess
path, elsewhere = map(Path, sys.argv[1:])
for readable in (path.parent, elsewhere):
    with FeatureProcess(20, 1024) as reader:
        try:
            print(reader.ask(path, readable, ["shapes", ["a"]], lambda: None))
        except ValueError as fault:
            print(fault)
"""


def test_it_reads_in_the_folder_of_the_features_only(folder: Path, tmp_path: Path) -> None:
    path = as_npz(folder, {"a": rows()})
    (tmp_path / "elsewhere").mkdir()
    command = [sys.executable, "-c", ELSEWHERE, str(path), str(tmp_path / "elsewhere")]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=os.environ | {"DJANGO_SETTINGS_MODULE": "tests.settings"},
        capture_output=True,
        text=True,
        check=True,
    )
    one, other = done.stdout.splitlines()
    assert one == "[[3, 4, 4]]"
    if other == one:
        pytest.skip("the kernel has no Landlock")
    assert other.startswith("features.npz: cannot be read ([Errno 13] Permission denied")


def test_reading_that_takes_too_long_is_told(folder: Path) -> None:
    path = as_npz(folder, {"a": rows()})
    with FeatureProcess(0, 1024) as reader, pytest.raises(SystemsError, match="reading took more than 0 seconds"):
        reader.ask(path, path.parent, ["shapes", ["a"]], lambda: None)


def test_who_ends_the_process_from_outside_does_not_blame_the_features(folder: Path) -> None:
    path = as_npz(folder, {"a": rows()})
    with FeatureProcess(20, 1024) as reader:
        reader.ask(path, path.parent, ["shapes", ["a"]], lambda: None)
        assert reader.process
        reader.process.send_signal(signal.SIGTERM)
        with pytest.raises(Unavailable, match=r"features\.npz: reading was broken off \(SIGTERM\)"):
            reader.ask(path, path.parent, ["shapes", ["a"]], lambda: None)


def test_many_videos_come_in_parts(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "CLIPS_AT_A_TIME", 7)
    content = {f"v{number}": rows() + number for number in range(20)}
    videos = read_videos(dict.fromkeys(content, 9.0), CLIP_SECONDS, as_npz(folder, content), open_file=open_confined)
    for number, name in enumerate(content):
        assert (videos[number].clips == content[name]).all()


def test_packages_are_found_although_something_came_into_their_folder(tmp_path: Path) -> None:
    """Python lists a folder anew then, which it may not do once the process is confined."""
    for name in ("first", "second", "out"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").touch()
    (tmp_path / "second" / "more.py").touch()
    code = "import sys\nsys.path_importer_cache.clear()\nimport second.more\nFAULTS = ()\n"
    (tmp_path / "first" / "doing.py").write_text(code + "def work(source, order, writable):\n    return 'found'\n")
    limits = {"seconds": 20, "memory": 4096, "largest": 1000, "variables": {}}
    first = limits | {"readable": str(tmp_path / "first"), "writable": str(tmp_path / "out")}
    done = subprocess.run(
        [sys.executable, "-m", "base.confinement", "first.doing", "first,second", ""],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT)},
        input=json.dumps(first).encode() + b'\n["nothing", null]\n',
        capture_output=True,
        check=False,
    )
    assert json.loads(done.stdout or "0") == ["found", None], done.stderr.decode()
