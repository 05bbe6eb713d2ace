"""manage.py generate_campaign: make a campaign of any size with generated judgements, for trials."""

from argparse import ArgumentParser
from typing import Any

from base.commands import ReeljudgeCommand
from base.errors import ReeljudgeError
from campaigns.models import Campaign
from demo.generating import generate, generate_for_runs
from demo.generating_extras import generate_extras
from judging.models import Candidate, Judgement
from metrics import MeasureError, read_run
from metrics.formats.annotations import read_durations

FEWEST = 4  # annotators, because a contested candidate needs four
MOST = 20_000  # queries


class Command(ReeljudgeCommand):
    refusals = (MeasureError,)
    help = "Make a campaign with generated queries, candidates and judgements. For trying things out only."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name")
        parser.add_argument("--queries", type=int, default=5000, help="each has 40 candidates")
        parser.add_argument("--annotators", type=int, default=23)
        parser.add_argument("--seed", type=int, default=1)
        parser.add_argument("--runs", nargs="+", metavar="FILE", help="a campaign that judges what these runs found")
        parser.add_argument("--videos", metavar="FILE", help="the video index of these runs, with durations")

    def handle(self, **options: Any) -> None:
        name, queries = options["name"], options["queries"]
        if Campaign.objects.filter(name=name).exists():
            raise ReeljudgeError(f"campaign {name}: exists already; expected a new name")
        if not 1 <= queries <= MOST:
            raise ReeljudgeError(f"--queries {queries}: expected 1 to {MOST:,}")
        if options["annotators"] < FEWEST:
            raise ReeljudgeError(f"--annotators {options['annotators']}: expected at least {FEWEST}")
        if options["runs"]:
            self._generate_for_runs(**options)
            return
        for done in generate(name, queries, options["annotators"], options["seed"]):
            if self.stdout.isatty():
                self.stdout.write(f"\r{done:,} of {queries:,} queries", ending="")
        generate_extras(Campaign.objects.get(name=name), options["seed"])
        self._tell(name)

    def _generate_for_runs(self, **options: Any) -> None:
        if not options["videos"]:
            raise ReeljudgeError("--videos: nothing; expected the video index of the runs")
        runs = [read_run(file, videos=options["videos"], lenient=False) for file in options["runs"]]
        durations = read_durations(options["videos"])
        generate_for_runs(options["name"], runs, durations, options["queries"], options["annotators"], options["seed"])
        self._tell(options["name"])

    def _tell(self, name: str) -> None:
        campaign = Campaign.objects.get(name=name)
        queries = campaign.queries.pool().count()
        judgements = Judgement.objects.filter(annotator__campaign=campaign).count()
        candidates = Candidate.objects.in_pool(campaign).count()
        self.stdout.write(f"{name}: {queries:,} queries, {candidates:,} candidates, {judgements:,} judgements")
