"""manage.py generate_campaign: make a campaign of any size with generated judgements, for trials."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from campaigns.models import Campaign
from demo.generating import generate
from demo.generating_extras import generate_extras
from judging.models import Candidate, Judgement

FEWEST = 4  # annotators, because a contested candidate needs four
MOST = 20_000  # queries


class Command(BaseCommand):
    help = "Make a campaign with generated queries, candidates and judgements. For trying things out only."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name")
        parser.add_argument("--queries", type=int, default=5000, help="each has 40 candidates")
        parser.add_argument("--annotators", type=int, default=23)
        parser.add_argument("--seed", type=int, default=1)

    def handle(self, **options: Any) -> None:
        name, queries = options["name"], options["queries"]
        if Campaign.objects.filter(name=name).exists():
            raise CommandError(f"campaign {name}: exists already; expected a new name", returncode=2)
        if not 1 <= queries <= MOST:
            raise CommandError(f"--queries {queries}: expected 1 to {MOST:,}", returncode=2)
        if options["annotators"] < FEWEST:
            raise CommandError(
                f"--annotators {options['annotators']}: expected at least {FEWEST}", returncode=2
            )
        for done in generate(name, queries, options["annotators"], options["seed"]):
            if self.stdout.isatty():
                self.stdout.write(f"\r{done:,} of {queries:,} queries", ending="")
        campaign = Campaign.objects.get(name=name)
        generate_extras(campaign, options["seed"])
        judgements = Judgement.objects.filter(annotator__campaign=campaign).count()
        candidates = Candidate.objects.in_pool(campaign).count()
        self.stdout.write(
            f"{name}: {queries:,} queries, {candidates:,} candidates, {judgements:,} judgements"
        )
