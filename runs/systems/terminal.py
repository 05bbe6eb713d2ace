"""What the commands about trained systems share: finding one, progress in a terminal, and errors in one line."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager

from django.core.management.base import CommandError

from base.errors import ReeljudgeError
from base.text import printable
from campaigns.lookup import campaign_named
from corpus.errors import CorpusError
from runs.systems.models import TrainedSystem
from systems.errors import SystemsError


def add_system_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("campaign")
    parser.add_argument("number", type=int, help="of the system, as the campaign's page of systems lists it")


def system_numbered(campaign: str, number: int) -> TrainedSystem:
    """Return a campaign's trained system, or end the command with exit code 2."""
    rows = campaign_named(campaign).systems.select_related("campaign__corpus", "by__campaign")
    found = rows.filter(number=number).first()
    if found is None:
        known = ", ".join(f"{row.number} ({row})" for row in rows.order_by("number")[:20]) or "none yet"
        raise CommandError(
            f"system {number}: campaign {campaign} has none of this number; it has: {known}", returncode=2
        )
    return found


def say(done: int, total: int, text: str = "") -> None:
    """Show progress in a terminal."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\033[K{printable(text)}  {done:,} of {total:,}")


@contextmanager
def faults_in_one_line() -> Iterator[None]:
    """End the command with one line and exit code 2 for whatever can be wrong with what it was given."""
    try:
        yield
    except (CorpusError, ReeljudgeError, SystemsError) as fault:
        raise CommandError(str(fault), returncode=2) from fault
