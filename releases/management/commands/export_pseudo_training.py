"""manage.py export_pseudo_training: write a campaign's pseudo training sets into a folder."""

from argparse import ArgumentParser
from contextlib import suppress
from pathlib import Path
from typing import Any

from base.commands import ReeljudgeCommand, show_progress, written
from base.errors import ReeljudgeError
from campaigns.models import Campaign
from corpus.errors import CorpusError
from releases.training import DEEPEST, USUAL_DEPTHS, file_name, write


class Command(ReeljudgeCommand):
    refusals = (CorpusError,)
    help = "Write pseudo training sets: for each caption that is no query, the N moments with the nearest captions."

    def add_arguments(self, parser: ArgumentParser) -> None:
        usual = " ".join(map(str, USUAL_DEPTHS))
        parser.add_argument("campaign")
        parser.add_argument("--out", required=True, type=Path, help="a folder; it is made if it does not exist")
        parser.add_argument(
            "--top", nargs="+", type=int, default=list(USUAL_DEPTHS), metavar="N", help=f"one file for each ({usual})"
        )

    def handle(self, **options: Any) -> None:
        campaign, folder = Campaign.objects.named(options["campaign"]), options["out"]
        depths = sorted(set(options["top"]))
        if wrong := [depth for depth in depths if not 1 <= depth <= DEEPEST]:
            raise ReeljudgeError(f"--top {wrong[0]}: expected 1 to {DEEPEST:,}")
        parts = {depth: folder / f"{file_name(depth)}.part" for depth in depths}
        try:
            with written("--out", folder):
                folder.mkdir(parents=True, exist_ok=True)
                queries = write(campaign, parts, show_progress)
                for part in parts.values():
                    part.rename(part.with_suffix(""))
        finally:
            for part in parts.values():
                with suppress(OSError):
                    part.unlink()
        for depth in depths:
            self.stdout.write(f"{folder / file_name(depth)}: {queries:,} queries, N = {depth}")
