"""manage.py index_system: index a campaign's corpus anew with a trained system, or check its index."""

from argparse import ArgumentParser
from typing import Any

from base.commands import ReeljudgeCommand, show_progress
from base.errors import ReeljudgeError
from corpus.errors import CorpusError
from runs.management.commands.search_system import NUMBER, system_numbered
from runs.systems.training import index
from systems.errors import SystemsError


class Command(ReeljudgeCommand):
    refusals = (CorpusError, SystemsError)
    help = "Index the corpus anew with a trained system, such as after videos were added; its run stays as it is."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("campaign")
        parser.add_argument("number", type=int, help=NUMBER)
        parser.add_argument("--check", action="store_true", help="only look whether the stored index is whole")

    def handle(self, **options: Any) -> None:
        row = system_numbered(options["campaign"], options["number"])
        if row.trained is None:
            raise ReeljudgeError(f"system {row.number} ({row}): is not trained yet")
        if options["check"]:
            row.made().check_index()
            done = "the index is whole"
        else:
            index(row, show_progress)
            done = f"{row.campaign.corpus} is indexed"
        self.stdout.write(f"system {row.number} ({row}): {done}")
