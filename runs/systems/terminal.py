"""What the commands about trained systems share: what they refuse, finding a system, and progress in a terminal."""

from __future__ import annotations

import sys
from argparse import ArgumentParser

from base.commands import ReeljudgeCommand
from base.errors import ReeljudgeError
from base.text import printable
from campaigns.models import Campaign
from corpus.errors import CorpusError
from runs.systems.models import TrainedSystem
from systems.errors import SystemsError


class SystemCommand(ReeljudgeCommand):
    refusals = (CorpusError, SystemsError)


def add_system_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("campaign")
    parser.add_argument("number", type=int, help="of the system, as the campaign's page of systems lists it")


def system_numbered(campaign: str, number: int) -> TrainedSystem:
    """Return a campaign's trained system. Raise ReeljudgeError if it has none of this number; it says which it has."""
    rows = Campaign.objects.named(campaign).systems.select_related("campaign__corpus", "by__campaign")
    found = rows.filter(number=number).first()
    if found is None:
        known = ", ".join(f"{row.number} ({row})" for row in rows.order_by("number")[:20]) or "none yet"
        raise ReeljudgeError(f"system {number}: campaign {campaign} has none of this number; it has: {known}")
    return found


def say(done: int, total: int, text: str = "") -> None:
    """Show progress in a terminal."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\033[K{printable(text)}  {done:,} of {total:,}")
