"""manage.py set_exam: draw the qualification exam from a campaign's queries."""

from argparse import ArgumentParser
from typing import Any

from base.commands import ReeljudgeCommand
from campaigns.models import Campaign
from judging.quality.exam import DEPTH, QUERIES, set_exam


class Command(ReeljudgeCommand):
    help = "Make a campaign's exam of random queries and their best candidates. Annotators must pass it to get work."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("campaign")
        parser.add_argument("--queries", type=int, default=QUERIES)
        parser.add_argument("--depth", type=int, default=DEPTH, help="candidates of each query")
        parser.add_argument("--seed", type=int, help="seed of the draw; the campaign's secret seed unless given")
        parser.add_argument(
            "--keep-in-pool", action="store_true", help="keep the drawn queries in the pool, for the qrels"
        )

    def handle(self, **options: Any) -> None:
        campaign, drawn = Campaign.objects.named(options["campaign"]), options["queries"]
        seed = campaign.order_seed if options["seed"] is None else options["seed"]
        set_exam(campaign, seed, drawn, options["depth"], options["keep_in_pool"])
        self.stdout.write(f"{campaign.name}: an exam of {drawn} queries. It opens when a worker has cut its clips.")
