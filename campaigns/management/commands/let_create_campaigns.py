"""manage.py let_create_campaigns: say who may create campaigns and upload corpora in the browser."""

from argparse import ArgumentParser
from typing import Any

from base.commands import ReeljudgeCommand, user_named
from campaigns.access import let_create, let_create_no_longer


class Command(ReeljudgeCommand):
    help = "Let a person create campaigns and upload corpora in the browser; with --no-longer, end that."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("user")
        parser.add_argument("--no-longer", action="store_true", help="take the permission away")

    def handle(self, **options: Any) -> None:
        user = user_named(options["user"])
        (let_create_no_longer if options["no_longer"] else let_create)(user)
        may = "may no longer" if options["no_longer"] else "may"
        self.stdout.write(f"{user.get_username()} {may} create campaigns")
