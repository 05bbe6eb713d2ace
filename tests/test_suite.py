"""The suite keeps its own rule: it waits for what is to happen, in one place, and never for a time."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.changed import nearest
from tests.installation import ROOT

DIES = """
import os, signal

def test_before():
    pass

def test_dies():
    os.kill(os.getpid(), signal.SIGKILL)
"""
MAY_SLEEP = {"waiting.py", "screenshots.py", "test_suite.py"}  # the second waits for nothing that is tested


def test_nothing_sleeps() -> None:
    found = [
        f"{file.relative_to(ROOT)}, line {number}"
        for file in (ROOT / "tests").rglob("*.py")
        if file.name not in MAY_SLEEP
        for number, line in enumerate(file.read_text().splitlines(), 1)
        if re.search(r"\bsleep\(|wait_for_timeout\(", line)
    ]
    assert found == []


def test_a_change_names_the_tests_that_import_it() -> None:
    found = nearest([Path("judging/consensus.py"), Path("templates/lead/desk.html")], depth=1)
    assert {Path("tests/judging/test_consensus.py"), Path("tests/lead/test_desk.py")} <= set(found)
    assert Path("tests/metrics/test_grammar.py") not in found


def test_a_process_that_dies_fails_its_test(tmp_path: Path) -> None:
    (tmp_path / "test_a.py").write_text(DIES)
    (tmp_path / "pytest.ini").touch()
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "tests.forks",
        "-p",
        "no:django",
        "--forks",
        "2",
        "-q",
        str(tmp_path),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "The process died in this test (SIGKILL)." in done.stdout
    assert "test_a.py::test_dies" in done.stdout
    assert "1 failed, 1 passed" in done.stdout
