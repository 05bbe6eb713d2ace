"""manage.py publish_release: print the commands that publish a release on a dataset hub and register a DOI for it."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from base.commands import ReeljudgeCommand
from base.text import printable
from releases.archive import ReleaseArchive
from releases.publishing.hub import HUB, PAGE, PREFIX, publishing_commands


class Command(ReeljudgeCommand):
    help = "Print the commands that publish a release: on a dataset hub, and with a DOI. It sends nothing itself."
    requires_system_checks: list[str] = []
    requires_migrations_checks = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--hub", default=HUB, help="the name of the data set at the hub")
        parser.add_argument("--prefix", default=PREFIX, help="the prefix of your repository at DataCite")
        parser.add_argument("--page", default=PAGE, help="the page that the DOI leads to")

    def handle(self, **options: Any) -> None:
        about = ReleaseArchive(options["file"]).manifest
        names = {name: options[name] for name in ("hub", "prefix", "page")}
        for line in publishing_commands(about, str(options["file"]), **names):
            self.stdout.write(printable(line))
