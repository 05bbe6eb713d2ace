"""Work for jobs of kind "count", whatever a test makes of it."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator

import pytest

from jobs.registry import KINDS, Work

Register = Callable[[Work], None]


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Register:
    """Registers a function as the work of jobs of kind "count"."""
    return lambda function: monkeypatch.setitem(KINDS, "count", function)


@pytest.fixture
def own_signals() -> Iterator[None]:
    """The test runner's way to end stays its own, though the worker sets another."""
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)
