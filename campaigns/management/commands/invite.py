"""manage.py invite: print a link by which one person joins a campaign and makes an account."""

from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.urls import reverse

from base.commands import ReeljudgeCommand
from base.errors import ReeljudgeError
from campaigns.models import Campaign, Membership


class Command(ReeljudgeCommand):
    help = "Print the link of an invitation. The first lead can join by it without a password in the terminal."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("campaign")
        parser.add_argument("--role", choices=Membership.Role.values, default=Membership.Role.ANNOTATOR)
        parser.add_argument("--days", type=int, default=7, help="days until it expires, 1 to 30")
        usual = settings.SITE_URL or "http://127.0.0.1:8000"
        parser.add_argument("--address", default=usual, help="the address of this site, by default SITE_URL")

    def handle(self, **options: Any) -> None:
        campaign = Campaign.objects.named(options["campaign"])
        if not 1 <= options["days"] <= 30:
            raise ReeljudgeError(f"--days: {options['days']}; expected 1 to 30")
        _, secret = campaign.invite(options["role"], None, timedelta(days=options["days"]))
        self.stdout.write(options["address"].rstrip("/") + reverse("invitation", args=[secret]))
