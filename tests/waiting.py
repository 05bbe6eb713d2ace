"""Waiting for what another process or thread does: the only place where a test sleeps."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE = 120  # seconds, also on a busy machine; nothing takes longer because of it
SECONDS_BETWEEN_LOOKS = 0.05


def wait_until(happened: Callable[[], object], what: Callable[[], str]) -> None:
    """Return as soon as `happened()` is true; `what()` says what did not happen when patience ends."""
    end = time.monotonic() + PATIENCE
    while not happened():
        if time.monotonic() > end:
            raise AssertionError(f"not so after {PATIENCE} s: {what()}")
        time.sleep(SECONDS_BETWEEN_LOOKS)


def a_while(seconds: float) -> None:
    """Let somebody wait before they try again."""
    time.sleep(seconds)
