"""manage.py make_run_again: train, index and search as the description of a run says, and compare the runs."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from base.commands import ReeljudgeCommand
from campaigns.models import Campaign
from corpus.errors import CorpusError
from runs.management.commands.index_system import say
from runs.systems.again import make_again, read_recipe
from systems.errors import SystemsError
from systems.neural.device import DEVICES, choose


class Command(ReeljudgeCommand):
    refusals = (CorpusError, SystemsError)
    help = "Make a run that a system here has submitted again, from its description; nothing of it is stored."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("description", type=Path, help="that the page of the run offers")
        parser.add_argument("--out", type=Path, required=True, help="the run, in TVR-Ranking's format")
        parser.add_argument("--campaign", help="whose corpus and queries; by default that of the description")
        parser.add_argument("--device", choices=DEVICES, help="where networks compute; by default as they did")

    def handle(self, **options: Any) -> None:
        about, out = read_recipe(options["description"]), options["out"]
        choose(options["device"] or about["trained_on"] or "cpu")
        campaign = Campaign.objects.named(options["campaign"] or about["made_by"]["campaign"])
        self.stdout.write(f"{out}: is the run of the description, SHA-256 {make_again(campaign, about, out, say)}")
