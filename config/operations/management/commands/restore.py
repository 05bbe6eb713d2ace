"""manage.py restore: put a backup into an empty database, and name the stored files that are missing."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management import CommandError

from base.commands import ReeljudgeCommand
from config.operations import backups

MOST_NAMED = 3


class Command(ReeljudgeCommand):
    help = "Restore a backup into the empty database that DATABASE_URL names. Exit code 1 if stored files are missing."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("source", type=Path, help="a folder that `backup` has made")
        parser.add_argument(
            "--replace",
            action="store_true",
            help="in place of what the database holds, unless somebody has judged since",
        )

    def handle(self, **options: Any) -> None:
        missing = backups.restore(options["source"], replace=options["replace"])
        self.stdout.write("The database is restored. Run `migrate`, then `audit --media`.")
        if missing:
            first = ", ".join(missing[:MOST_NAMED])
            raise CommandError(f"{len(missing):,} stored file(s) are missing or differ, such as {first}", returncode=1)
