"""manage.py invite: a link by which somebody joins a campaign, with an account of her own making."""

from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.urls import reverse

from campaigns.lookup import campaign_named
from campaigns.models import Membership


class Command(BaseCommand):
    help = "Print an invitation's link. The first lead comes in this way without a password in the terminal."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("campaign")
        parser.add_argument("--role", choices=Membership.Role.values, default=Membership.Role.ANNOTATOR)
        parser.add_argument("--days", type=int, default=7, help="until it expires: 1 to 30")
        parser.add_argument("--address", default="http://127.0.0.1:8000/", help="where this site is reached")

    def handle(self, **options: Any) -> None:
        campaign = campaign_named(options["campaign"])
        if not 1 <= options["days"] <= 30:
            raise CommandError(f"--days: {options['days']}; expected 1 to 30", returncode=2)
        _, secret = campaign.invite(options["role"], None, timedelta(days=options["days"]))
        self.stdout.write(options["address"].rstrip("/") + reverse("invitation", args=[secret]))
