"""manage.py diff_releases: print the pairs in which two releases differ, without a database."""

import csv
import sys
from argparse import ArgumentParser
from collections import Counter
from pathlib import Path
from typing import Any

from base.commands import ReeljudgeCommand
from base.errors import ReeljudgeError
from base.text import printable
from releases.archive import ReleaseArchive
from releases.checks import UNREADABLE
from releases.difference import HEADER, difference, in_words


class Command(ReeljudgeCommand):
    help = "Print the pairs added, changed and gone from one release to another, as CSV. Needs no database."
    requires_system_checks: list[str] = []
    requires_migrations_checks = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("old", type=Path)
        parser.add_argument("new", type=Path)
        parser.add_argument("--words", action="store_true", help="say in sentences what changed, instead of CSV")

    def handle(self, **options: Any) -> None:
        try:
            old, new = ReleaseArchive(options["old"]), ReleaseArchive(options["new"])
            changes = list(difference(old, new))
        except UNREADABLE as fault:
            raise ReeljudgeError(f"qrels.txt cannot be read ({str(fault)[:300]}); try verify_release") from fault
        if options["words"]:
            for sentence in in_words(old.manifest, new.manifest, changes):
                self.stdout.write(printable(sentence))
            return
        writer = csv.writer(self.stdout, lineterminator="\n")
        writer.writerow(HEADER)
        for change in changes:
            writer.writerow(
                [change.what, printable(change.query), printable(change.moment), change.before, change.after]
            )
        counts = Counter(change.what for change in changes)
        summary = ", ".join(f"{counts[what]:,} {what}" for what in ("added", "changed", "gone"))
        sys.stderr.write(f"{summary}\n")
