"""manage.py start_study: start a study of grade against similarity, in which a few queries are judged deeper."""

from argparse import ArgumentParser
from typing import Any

from base.commands import ReeljudgeCommand
from campaigns.models import Campaign
from judging.pool.ranking import RankingPlan, ask_for_study


class Command(ReeljudgeCommand):
    help = "Ask for a study of grade against similarity; a worker ranks its candidates and opens its batches."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("campaign")
        for field, meaning in {
            "queries": "drawn from the pool",
            "top": "most similar moments of each",
            "random": "moments of each drawn from the rest",
            "seed": "seed of both draws",
        }.items():
            default = getattr(RankingPlan(), field)
            parser.add_argument(f"--{field}", type=int, default=default, help=f"{meaning}; default {default}")

    def handle(self, **options: Any) -> None:
        campaign = Campaign.objects.named(options["campaign"])
        plan = RankingPlan(**{field: options[field] for field in RankingPlan._fields})
        job = ask_for_study(campaign, plan)
        self.stdout.write(f"{job}: {job.state}; a worker does the rest (the command worker)")
