"""manage.py create_campaign: create a campaign over a corpus, or add queries to one, and ask for the ranking."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from base.errors import ReeljudgeError
from campaigns.models import Campaign
from corpus.models import Corpus
from judging.pool.queries import load_queries
from judging.pool.ranking import ask_for_ranking


class Command(BaseCommand):
    help = "Create a campaign, or add queries to one, and ask for the ranking of their candidates."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="letters, digits, - and _; part of the addresses of its pages")
        parser.add_argument("--corpus", required=True)
        parser.add_argument("--queries", required=True, type=Path, help="JSON list or one JSON object a line")
        parser.add_argument("--split", default="", help="stored with the queries, for example val")
        parser.add_argument("--title", default="")
        parser.add_argument(
            "--seed", type=int, help="seed of the order of clips and of checks; drawn at random unless given"
        )

    def handle(self, **options: Any) -> None:
        try:
            with transaction.atomic():
                campaign = _campaign(options)
                added, merged = load_queries(campaign, options["queries"], options["split"])
                ask_for_ranking(campaign)
        except ReeljudgeError as fault:
            raise CommandError(str(fault), returncode=2) from fault
        self.stdout.write(
            f"{campaign.name}: {added:,} queries added, {merged:,} merged with a query of the same text.\n"
            "A worker ranks the candidates: `make run` starts one, and so does `manage.py worker --until-idle`."
        )


def _campaign(options: dict[str, Any]) -> Campaign:
    name = options["name"]
    corpus = Corpus.objects.filter(name=options["corpus"]).first()
    if corpus is None:
        imported = ", ".join(Corpus.objects.values_list("name", flat=True)) or "none yet"
        raise ReeljudgeError(f"--corpus {options['corpus']}: not found; expected one of: {imported}")
    defaults = {"corpus": corpus, "title": options["title"]}
    if options["seed"] is not None:
        defaults["order_seed"] = options["seed"]
    _check_fields(Campaign(name=name, **defaults))
    campaign, _ = Campaign.objects.get_or_create(name=name, defaults=defaults)
    if campaign.corpus != corpus:
        raise ReeljudgeError(
            f"--corpus {corpus}: campaign {name} is over another corpus; expected --corpus {campaign.corpus}"
        )
    return campaign


def _check_fields(campaign: Campaign) -> None:
    try:
        campaign.clean_fields()
    except ValidationError as fault:
        problems = [f"{field}: {' '.join(what)}" for field, what in fault.message_dict.items()]
        raise ReeljudgeError("\n".join(problems)) from fault
