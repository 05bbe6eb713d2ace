"""manage.py simulate: simulate annotators of different skill, who judge through the real addresses."""

from argparse import ArgumentParser
from contextlib import nullcontext
from io import StringIO
from pathlib import Path
from typing import Any

import httpx
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from campaigns.lookup import campaign_named
from demo.judged import NAME as JUDGED
from demo.simulated_annotators import Truth, own_server, play, truth_from, truth_from_similarity
from jobs.terminal import work_off

MOST = 500


class Command(BaseCommand):
    help = "Simulate annotators in a campaign until there is nothing left to judge."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("campaign")
        parser.add_argument("--annotators", type=int, default=6)
        parser.add_argument("--seed", type=int, default=1)
        parser.add_argument(
            "--truth", type=Path, help="CSV of query_id,video,start,end,grade; the demo has one"
        )
        parser.add_argument(
            "--reviews", action="store_true", help="simulate the lead too, who follows recommendations"
        )
        parser.add_argument(
            "--address", help="the address of a running server; by default, the command starts one"
        )

    def handle(self, **options: Any) -> None:
        campaign, number = campaign_named(options["campaign"]), options["annotators"]
        if not 1 <= number <= MOST:
            raise CommandError(f"--annotators {number}: expected 1 to {MOST}", returncode=2)
        truth = _truth(campaign.name, options["truth"])
        address = options["address"]
        try:
            with nullcontext(address.rstrip("/")) if address else own_server() as address:
                for tally in play(address, campaign, number, options["seed"], truth, options["reviews"]):
                    if not options["address"]:
                        work_off(StringIO())  # clips of second batches; a running server has its own worker
                    if self.stdout.isatty():
                        self.stdout.write(f"\r{tally.judgements:,} judgements", ending="")
        except httpx.HTTPStatusError as fault:
            raise CommandError(
                f"{fault.request.url} answered {fault.response.status_code}: {fault.response.text[:300]}"
            ) from fault
        except httpx.HTTPError as fault:
            raise CommandError(f"--address {address}: does not answer ({fault})", returncode=2) from fault
        self.stdout.write(
            f"\r{tally.batches} batches, {tally.judgements:,} judgements, {tally.reviews} reviews"
        )


def _truth(name: str, file: Path | None) -> Truth:
    own = settings.HOME / "demo" / "truth.csv"
    if file is None and (name not in ("demo", JUDGED) or not own.exists()):
        return truth_from_similarity
    try:
        return truth_from(file or own)
    except OSError as fault:
        raise CommandError(
            f"--truth {file or own}: cannot be read ({fault.strerror})", returncode=2
        ) from fault
    except (KeyError, ValueError, TypeError) as fault:
        raise CommandError(
            f"--truth {file or own}: {fault}; expected query_id,video,start,end,grade", returncode=2
        ) from fault
