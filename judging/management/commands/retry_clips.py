"""manage.py retry_clips: ask again for clips that could not be cut."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from campaigns.lookup import campaign_named
from judging.models import Batch
from judging.pool.clips import retry_clips


class Command(BaseCommand):
    help = "Ask again for a campaign's clips that failed, or whose videos have media now. A worker then cuts them."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("campaign")

    def handle(self, **options: Any) -> None:
        batches = Batch.objects.in_campaign(campaign_named(options["campaign"])).order_by("pk")
        self.stdout.write(f"{retry_clips(batches)} clips are asked for again")
