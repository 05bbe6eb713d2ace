"""manage.py reset_password: print a link by which somebody chooses a new password."""

from argparse import ArgumentParser
from typing import Any

from django.conf import settings

from base.commands import ReeljudgeCommand, user_named
from campaigns.mails import reset_link


class Command(ReeljudgeCommand):
    help = "Print a link by which a person chooses a new password. It works once, within an hour."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("user")
        usual = settings.SITE_URL or "http://127.0.0.1:8000"
        parser.add_argument("--address", default=usual, help="the address of this site, by default SITE_URL")

    def handle(self, **options: Any) -> None:
        self.stdout.write(reset_link(user_named(options["user"]), options["address"].rstrip("/")))
