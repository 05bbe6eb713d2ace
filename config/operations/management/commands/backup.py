"""manage.py backup: copy the database as of one instant, with a list of the stored files that it names."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from base.commands import ReeljudgeCommand
from base.errors import BadValue
from config.operations import backups


class Command(ReeljudgeCommand):
    help = "Back the database up into a new folder of TARGET while others write, and list the files to copy after it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("target", type=Path)
        parser.add_argument("--keep", type=int, help="delete all but so many of the newest backups of TARGET")

    def handle(self, **options: Any) -> None:
        keep = options["keep"]
        if keep is not None and keep < 1:
            raise BadValue("--keep", str(keep), "1 or more")
        self.stdout.write(f"{backups.back_up(options['target'], keep)}")
