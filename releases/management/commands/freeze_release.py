"""manage.py freeze_release: freeze a campaign's next release and write its zip."""

from argparse import ArgumentParser
from typing import Any

from base.commands import ReeljudgeCommand, show_progress
from base.errors import ReeljudgeError
from campaigns.models import Campaign
from releases.data_card import LICENCES
from releases.freezing import freeze, freeze_release


class Command(ReeljudgeCommand):
    help = "Freeze a campaign's next release and write its zip. Prints the SHA-256 and where the file is stored."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("campaign")
        parser.add_argument("--licence", required=True, help=f"of the judgements: {', '.join(LICENCES)}")
        parser.add_argument("--notes", default="", help="for the data card")
        parser.add_argument("--contact", default="", help="whom readers of the data card ask")
        parser.add_argument("--language", default="", help="of the queries, such as en")
        parser.add_argument(
            "--baselines", type=int, nargs="+", default=[], help="runs whose scores the data card shows"
        )
        parser.add_argument("--films", default="", help="where the films are from, and who may get them")
        parser.add_argument(
            "--with-finished",
            action="store_true",
            help="hold queries too that are finished beyond the frontier; they are not in the sample",
        )
        parser.add_argument(
            "--with-unfinished",
            action="store_true",
            help="hold queries too that are not finished; by default they are left out and named",
        )

    def handle(self, **options: Any) -> None:
        campaign = Campaign.objects.named(options["campaign"])
        lead = campaign.memberships.leads().order_by("worker").first()
        if lead is None:
            raise ReeljudgeError(f"campaign {campaign.name}: has no lead, who freezes releases")
        names = ("notes", "contact", "language", "films", "baselines", "with_finished", "with_unfinished")
        release = freeze(campaign, lead, options["licence"], **{name: options[name] for name in names})
        freeze_release(release, show_progress)
        number = len(release.unfinished)
        fate = "held" if release.with_unfinished else "left out"
        self.stdout.write(f"{campaign.name}, release {release.version}")
        judged, queries = release.counts["judged_queries"], release.counts["queries"]
        self.stdout.write(f"queries with judgements: {judged:,} of {queries:,}; unfinished and {fate}: {number:,}")
        sample = release.estimates
        self.stdout.write(
            f"queries up to the frontier: {sample['sample']:,} of {sample['queries']:,}, "
            f"{'a random sample' if sample['random'] else 'no random sample'}; finished beyond it: {sample['beyond']:,}"
        )
        self.stdout.write(f"SHA-256 {release.sha256}")
        self.stdout.write(str(release.file))
