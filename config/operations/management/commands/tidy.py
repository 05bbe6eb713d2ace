"""manage.py tidy: say what nobody needs any more, or delete it."""

from argparse import ArgumentParser
from typing import Any

from base.commands import ReeljudgeCommand
from config.operations import tidying


class Command(ReeljudgeCommand):
    help = "Say which vectors and ended jobs nobody needs any more, or delete them, while others work."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--delete", action="store_true", help="delete them; without it nothing is changed")

    def handle(self, **options: Any) -> None:
        verb = "deleted" if options["delete"] else "would delete"
        for what, number in tidying.tidy(options["delete"]):
            self.stdout.write(f"{verb} {number:,} {what}")
