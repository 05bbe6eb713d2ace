"""Work for jobs of kind "count", whatever a test makes of it."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from jobs.registry import KINDS, Kind, Report

Work = Callable[[dict[str, Any], Report], None]
Register = Callable[[Work], None]


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Register:
    """Registers a function as the work of jobs of kind "count"."""

    def register(function: Work) -> None:
        def count(report: Report, **arguments: Any) -> None:
            function(arguments, report)

        monkeypatch.setitem(KINDS, "count", Kind("count", "Count", count))

    return register


@pytest.fixture
def own_signals() -> Iterator[None]:
    """The test runner's way to end stays its own, though the worker sets another."""
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)
