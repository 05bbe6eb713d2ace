"""The suite keeps its own rule: it waits for what is to happen, in one place, and never for a time."""

from __future__ import annotations

import re
from pathlib import Path

from tests.changed import nearest
from tests.installation import ROOT

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
