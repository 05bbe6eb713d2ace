"""manage.py import_ratings: import finished ratings as a campaign, and count the defects of their process."""

import csv
import time
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from base.commands import ReeljudgeCommand, written
from judging.importing import import_ratings
from judging.models import Candidate
from judging.ratings import Settled, read, read_pairs, settle


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
        ratings = read(options["ratings"])
        result = settle(ratings)
        pairs = read_pairs(options["pairs"])
        if options["defects"]:
            with written("--defects", options["defects"]):
                _write(result, options["defects"])
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


def _write(result: Settled, file: Path) -> None:
    with file.open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["pair_id", "defect"])
        writer.writerows((pair, defect) for defect, pairs in result.defects.items() for pair in pairs)
