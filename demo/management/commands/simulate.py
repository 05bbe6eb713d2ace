"""manage.py simulate: simulate annotators of different skill, who judge through the real addresses."""

import time
from argparse import ArgumentParser
from contextlib import nullcontext
from io import StringIO
from pathlib import Path
from typing import Any

import httpx
from django.conf import settings
from django.core.management.base import CommandError, OutputWrapper

from base.commands import ReeljudgeCommand
from base.errors import ReeljudgeError
from campaigns.models import Campaign
from demo.judged import NAME as JUDGED
from demo.judged import SECONDS_BETWEEN_LOOKS
from demo.simulated_annotators import Tally, Truth, own_server, play, preparing, truth_from, truth_from_similarity
from jobs.running import SECONDS_BETWEEN_LINES, outcome, work_off_one

MOST = 500


class Command(ReeljudgeCommand):
    help = "Simulate annotators in a campaign until there is nothing left to judge."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("campaign")
        parser.add_argument("--annotators", type=int, default=6)
        parser.add_argument("--seed", type=int, default=1)
        parser.add_argument("--truth", type=Path, help="CSV of query_id,video,start,end,grade; the demo has one")
        parser.add_argument("--reviews", action="store_true", help="simulate the lead too, who follows recommendations")
        parser.add_argument("--address", help="the address of a running server; by default, the command starts one")

    def handle(self, **options: Any) -> None:
        campaign, number = Campaign.objects.named(options["campaign"]), options["annotators"]
        if not 1 <= number <= MOST:
            raise ReeljudgeError(f"--annotators {number}: expected 1 to {MOST}")
        truth = _truth(campaign.name, options["truth"])
        address = options["address"]
        progress = Progress(campaign, self.stderr, has_worker=bool(address))
        try:
            with nullcontext(address.rstrip("/")) if address else own_server() as address:
                for tally in play(address, campaign, number, options["seed"], truth, options["reviews"]):
                    progress.after(tally)
        except httpx.HTTPStatusError as fault:
            raise CommandError(
                f"{fault.request.url} answered {fault.response.status_code}: {fault.response.text[:300]}"
            ) from fault
        except httpx.HTTPError as fault:
            raise ReeljudgeError(f"--address {address}: does not answer ({fault})") from fault
        if not tally.judgements:
            self.stderr.write(f"Nobody found work: campaign {campaign.name} has no open batch for these annotators.")
        self.stdout.write(f"{tally.batches} batches, {tally.judgements:,} judgements, {tally.reviews} reviews")


class Progress:
    """Sees to it that more work comes, and says now and then how much is judged and what is waited for."""

    def __init__(self, campaign: Campaign, out: OutputWrapper, *, has_worker: bool) -> None:
        self.campaign, self.out, self.has_worker = campaign, out, has_worker
        self.judgements, self.last = 0, time.monotonic()

    def after(self, tally: Tally) -> None:
        """Run the campaign's own jobs where no worker does; wait a moment if nothing was judged."""
        jobs = list(preparing(self.campaign))
        ran = 0 if self.has_worker else sum(work_off_one(job, StringIO()) for job in jobs)
        if time.monotonic() - self.last >= SECONDS_BETWEEN_LINES:
            self.last = time.monotonic()
            waiting = f"; {len(jobs)} job(s) to wait for, the first: {jobs[0]}: {outcome(jobs[0])}" if jobs else ""
            self.out.write(f"{tally.judgements:,} judgements so far{waiting}")
        if jobs and not ran and tally.judgements == self.judgements:
            time.sleep(SECONDS_BETWEEN_LOOKS)
        self.judgements = tally.judgements


def _truth(name: str, file: Path | None) -> Truth:
    own = settings.HOME / "demo" / "truth.csv"
    if file is None and (name not in ("demo", JUDGED) or not own.exists()):
        return truth_from_similarity
    try:
        return truth_from(file or own)
    except OSError as fault:
        raise ReeljudgeError(f"--truth {file or own}: cannot be read ({fault.strerror})") from fault
    except (KeyError, ValueError, TypeError) as fault:
        raise ReeljudgeError(f"--truth {file or own}: {fault}; expected query_id,video,start,end,grade") from fault
