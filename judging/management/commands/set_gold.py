"""manage.py set_gold: make quiet checks of pairs on which all annotators agreed."""

from argparse import ArgumentParser
from typing import Any

from base.commands import ReeljudgeCommand
from base.errors import ReeljudgeError
from campaigns.models import Campaign
from judging.quality.checks import draw_gold


class Command(ReeljudgeCommand):
    help = "Make quiet checks of pairs on which all annotators agreed, from closed queries drawn by the seed."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("campaign")
        parser.add_argument("--queries", type=int, default=10)
        parser.add_argument("--seed", type=int, help="seed of the draw; the campaign's secret seed unless given")

    def handle(self, **options: Any) -> None:
        campaign, number = Campaign.objects.named(options["campaign"]), options["queries"]
        if number < 1:
            raise ReeljudgeError(f"--queries {number}: expected 1 or more")
        seed = campaign.order_seed if options["seed"] is None else options["seed"]
        made = draw_gold(campaign, number, seed)
        self.stdout.write(f"{len(made)} checks made")
        if not campaign.check_rate:
            self.stdout.write("The campaign's rate of checks is 0, so nobody gets them yet.")
