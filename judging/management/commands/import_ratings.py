"""manage.py import_ratings: import finished ratings as a campaign, and count the defects of their process."""

import time
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from base.commands import ReeljudgeCommand, written
from base.text import csv_lines
from judging.importing import import_ratings, pairs_in, ratings_in, settle
from judging.models import Candidate


class Command(ReeljudgeCommand):
    help = "Import finished ratings (pair_id,worker,relevance) and the file of their pairs as a new campaign."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("campaign", help="the new campaign's name")
        parser.add_argument(
            "--ratings", required=True, type=Path, help="CSV of pair_id,worker,relevance and, where known, round"
        )
        parser.add_argument(
            "--pairs",
            required=True,
            type=Path,
            help="CSV of pair_id,query_id,query,video,start,end and, where known, split,duration,caption,"
            "similarity; or TVR-Ranking's JSON lines",
        )
        parser.add_argument("--defects", type=Path, help="write a CSV of the pairs with a defect of the rating process")
        parser.add_argument("--title", default="")

    def handle(self, **options: Any) -> None:
        began = time.monotonic()
        ratings = ratings_in(options["ratings"])
        result = settle(ratings)
        pairs = pairs_in(options["pairs"])
        if options["defects"]:
            rows = ((pair, defect) for defect, found in result.defects.items() for pair in found)
            file = options["defects"]
            with written("--defects", file), file.open("w", encoding="utf-8", newline="") as out:
                out.writelines(csv_lines(["pair_id", "defect"], rows))
        campaign = import_ratings(options["campaign"], ratings, pairs, options["title"])
        stored = Candidate.objects.in_pool(campaign)
        settled, all_ = stored.settled().count(), stored.count()
        self.stdout.write(f"{campaign.name}: {all_:,} pairs, {settled:,} settled, {all_ - settled:,} discarded")
        if campaign.left_out:
            self.stdout.write(f"  without a final grade and not in the pair file, left out: {campaign.left_out:,}")
        if not campaign.rounds_known:
            self.stdout.write("  the ratings have no column round, so agreement within a round is unknown")
        for defect, found in result.defects.items():
            self.stdout.write(f"  {defect}: {len(found):,}")
        self.stdout.write(f"{time.monotonic() - began:.0f} s")
