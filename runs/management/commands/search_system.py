"""manage.py search_system: print the moments that a trained system finds for a query, or write a run."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from base.commands import ReeljudgeCommand, written
from base.errors import ReeljudgeError
from campaigns.models import Campaign
from corpus.errors import CorpusError
from metrics import Run
from runs.systems.models import TrainedSystem
from runs.systems.orders import system_for_typed_words
from runs.systems.training import DEPTH, as_ranking, queries_as_read, queries_of
from systems.data import Query
from systems.errors import SystemsError

NUMBER = "of the system, as the campaign's page of systems lists it"


class Command(ReeljudgeCommand):
    refusals = (CorpusError, SystemsError)
    help = "Print the best moments for a typed query, or write a run of the campaign's queries with --out."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("campaign")
        parser.add_argument("number", type=int, nargs="?", help=f"{NUMBER}; without it zero_shot, else the newest")
        what = parser.add_mutually_exclusive_group(required=True)
        what.add_argument("--query", help="words to search for")
        what.add_argument("--out", type=Path, help="a file for a run of all queries, in TVR-Ranking's format")
        parser.add_argument("--depth", type=int, help=f"moments of a query (10, or {DEPTH} with --out)")

    def handle(self, **options: Any) -> None:
        row = _system(options["campaign"], options["number"])
        depth = options["depth"] or (10 if options["query"] else DEPTH)
        if not 1 <= depth <= 10_000:
            raise ReeljudgeError(f"--depth {depth}: expected 1 to 10,000")
        queries = [Query("typed", options["query"])] if options["query"] else queries_of(row.campaign)
        made = row.made()
        run = made.search(queries_as_read(row, queries), depth)
        if options["out"]:
            self._write(run, options["out"])
        else:
            self._print(run)
        if finds := made.finds():
            self.stdout.write(finds)

    def _print(self, run: Run) -> None:
        for video, start, end, score in zip(run.video, run.start, run.end, run.scores, strict=True):
            self.stdout.write(f"{score:12.4f}  {run.names[int(video)]}  {start:.2f}–{end:.2f} s")

    def _write(self, run: Run, file: Path) -> None:
        with written("--out", file):
            file.write_text(as_ranking(run), encoding="utf-8")
        self.stdout.write(f"{file}: {len(run.queries):,} queries, {len(run.start):,} moments")


def _system(campaign: str, number: int | None) -> TrainedSystem:
    """Return the system of a number, else that which typed searches use."""
    if number is not None:
        return system_numbered(campaign, number)
    found = system_for_typed_words(Campaign.objects.named(campaign))
    if found is None:
        raise ReeljudgeError(f"campaign {campaign} has no system that is trained; expected one")
    return found


def system_numbered(campaign: str, number: int) -> TrainedSystem:
    """Return a campaign's trained system. Raise ReeljudgeError if it has none of this number; it says which it has."""
    rows = Campaign.objects.named(campaign).systems.select_related("campaign__corpus", "by__campaign")
    found = rows.filter(number=number).first()
    if found is None:
        known = ", ".join(f"{row.number} ({row})" for row in rows.order_by("number")[:20]) or "none yet"
        raise ReeljudgeError(f"system {number}: campaign {campaign} has none of this number; it has: {known}")
    return found
