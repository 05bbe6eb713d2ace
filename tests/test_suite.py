"""The suite keeps its own rule: it waits for what is to happen, in one place, and never for a time."""

from __future__ import annotations

import re

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
