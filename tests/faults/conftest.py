"""The table of the faults that were tried, printed at the end of a run."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Protocol

import pytest

from tests.faults.account import Account

HEADS = ("fault", "where", "acknowledged", "lost", "doubled", "oversold", "recovered after")


def pytest_itemcollected(item: pytest.Item) -> None:
    item.add_marker("fault")


class Note(Protocol):
    def __call__(
        self, fault: str, where: str, account: Account | None = None, seconds: float | None = None
    ) -> None: ...


@pytest.fixture
def note(record_property: Callable[[str, object], None]) -> Note:
    """Adds a line to the table."""

    def write(fault: str, where: str, account: Account | None = None, seconds: float | None = None) -> None:
        counts = ["", "", "", ""]
        if account:
            counts = [f"{account.acknowledged:,}", str(account.lost), str(account.doubled), str(account.oversold)]
        recovered = "" if seconds is None else f"{seconds:.1f} s"
        record_property("fault", json.dumps([fault, where, *counts, recovered]))

    return write


@pytest.fixture
def control(record_property: Callable[[str, object], None]) -> Callable[[str, str, str], None]:
    """Adds what a test found where it had to find something."""

    def write(weakness: str, where: str, found: str) -> None:
        record_property("control", f"control, {weakness}, {where}: {found}, as expected")

    return write


def pytest_terminal_summary(terminalreporter: Any) -> None:
    reports = [each for kind in terminalreporter.stats.values() for each in kind]
    noted = [pair for each in reports for pair in getattr(each, "user_properties", [])]
    lines = [HEADS, *sorted({tuple(json.loads(text)) for name, text in noted if name == "fault"})]
    controls = sorted({text for name, text in noted if name == "control"})
    if len(lines) == 1 and not controls:
        return
    terminalreporter.section("faults tried")
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        cells = [
            cell.rjust(width) if number > 1 else cell.ljust(width)
            for number, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        terminalreporter.write_line("  ".join(cells).rstrip())
    for text in controls:
        terminalreporter.write_line(text)
    failed = len(terminalreporter.stats.get("failed", [])) + len(terminalreporter.stats.get("error", []))
    terminalreporter.write_line(f"{len(lines) - 1} faults, {len(controls)} controls, {failed} failed")
