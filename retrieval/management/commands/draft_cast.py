"""manage.py draft_cast: draft a cast list from the capitalised words of a corpus."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from base.commands import ReeljudgeCommand, written
from corpus.models import Corpus
from retrieval.rewriting.cast_file import draft, write_cast


class Command(ReeljudgeCommand):
    help = "Draft a cast list from a corpus: its names by frequency, with contexts and a guess at each phrase."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("corpus")
        parser.add_argument("--out", type=Path, help="a CSV file to write; without it, only the pages have the draft")

    def handle(self, **options: Any) -> None:
        entries = draft(Corpus.objects.named(options["corpus"]))
        unconfirmed = sum(not entry.confirmed for entry in entries)
        self.stdout.write(f"{options['corpus']}: {len(entries):,} names, {unconfirmed:,} of them to be confirmed")
        if options["out"]:
            with (
                written("--out", options["out"], "a file"),
                options["out"].open("w", encoding="utf-8", newline="") as out,
            ):
                write_cast(entries, out)
            self.stdout.write(f"  {options['out']}: correct it, write yes into the column confirmed, and reword by it")
