"""manage.py export_qrels: write a campaign's qrels and ratings into a folder."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from base.commands import ReeljudgeCommand, written
from campaigns.models import Campaign
from releases.exports import FILES


class Command(ReeljudgeCommand):
    help = "Write a campaign's qrels (TREC, TVR-Ranking), its raw ratings, and what is needed to read them."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("campaign")
        parser.add_argument("--out", required=True, type=Path, help="a folder; it is made if it does not exist")

    def handle(self, **options: Any) -> None:
        campaign, folder = Campaign.objects.named(options["campaign"]), options["out"]
        with written("--out", folder):
            folder.mkdir(parents=True, exist_ok=True)
            for export in FILES:
                with (folder / export.file).open("w", encoding="utf-8", newline="") as out:
                    out.writelines(export.lines(campaign))
                self.stdout.write(f"{folder / export.file}: {export.what}")
