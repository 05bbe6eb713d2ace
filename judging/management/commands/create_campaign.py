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
from judging.pool.ranking import rank_candidates
from judging.pool.selection import Counts, select, store

OF_A_SELECTION = ("validation", "test", "seed", "strata")  # options


class Command(BaseCommand):
    help = "Create a campaign, or add queries to one, and ask for the ranking of their candidates."

    def add_arguments(self, parser: ArgumentParser) -> None:
        usual = Counts()
        parser.add_argument("name", help="letters, digits, - and _; part of the addresses of its pages")
        parser.add_argument("--corpus", required=True)
        parser.add_argument("--queries", type=Path, help="JSON list or one JSON object a line")
        parser.add_argument(
            "--split", default="", help="stored with the queries of the file, for example val"
        )
        parser.add_argument("--title", default="")
        parser.add_argument(
            "--order-seed",
            type=int,
            help="secret seed of the order of clips and of checks; drawn at random unless given",
        )
        drawing = parser.add_argument_group("selection", "queries that are drawn from the corpus's captions")
        drawing.add_argument("--select", action="store_true", help="draw queries; the rest is for training")
        drawing.add_argument("--validation", type=int, help=f"how many for validation ({usual.validation:,})")
        drawing.add_argument("--test", type=int, help=f"how many for the test ({usual.test:,})")
        drawing.add_argument("--seed", type=int, help="seed of the draw, which releases print (1)")
        drawing.add_argument(
            "--strata",
            nargs="+",
            metavar="STRATUM",
            help="draw from each stratum in proportion to its captions: "
            "show (the letters that a video's name begins with), length (of the caption, in words)",
        )

    def handle(self, **options: Any) -> None:
        try:
            told = _create(options)
        except ReeljudgeError as fault:
            raise CommandError(str(fault), returncode=2) from fault
        self.stdout.write(
            "\n".join(told)
            + "\nA worker ranks the candidates: `make run` starts one, and so does `manage.py worker --until-idle`."
        )


@transaction.atomic
def _create(options: dict[str, Any]) -> list[str]:
    """Create the campaign and its queries, and return what was done, a line each."""
    given = [name for name in OF_A_SELECTION if options[name] is not None]
    if given and not options["select"]:
        raise ReeljudgeError(f"--{given[0]}: belongs to a selection; expected --select beside it")
    if not options["select"] and not options["queries"]:
        raise ReeljudgeError("which queries? Expected --queries FILE, --select, or both")
    campaign = _campaign(options)
    told = _select(campaign, options) if options["select"] else []
    if options["queries"]:
        added, merged = load_queries(campaign, options["queries"], options["split"])
        told.append(
            f"{campaign.name}: {added:,} queries added, {merged:,} merged with a query of the same text."
        )
    rank_candidates.ask(campaign)
    return told


def _select(campaign: Campaign, options: dict[str, Any]) -> list[str]:
    usual = Counts()
    chosen = {name: options[name] for name in usual._fields if options[name] is not None}
    seed = 1 if options["seed"] is None else options["seed"]
    found = select(campaign.corpus, usual._replace(**chosen), seed, options["strata"] or ())
    added = store(campaign, found)
    told = [
        f"{campaign.name}: {len(found.validation):,} queries for validation and {len(found.test):,} for the test, "
        f"drawn from {found.captions:,} distinct captions with seed {seed}; {added:,} added.",
        f"{found.training:,} captions are left for training.",
    ]
    if found.by:
        told += [
            f"  {each.name}: {each.captions:,} captions, {each.validation:,} for validation, {each.test:,} for the test"
            for each in found.strata
        ]
    return told


def _campaign(options: dict[str, Any]) -> Campaign:
    name = options["name"]
    corpus = Corpus.objects.filter(name=options["corpus"]).first()
    if corpus is None:
        imported = ", ".join(Corpus.objects.values_list("name", flat=True)) or "none yet"
        raise ReeljudgeError(f"--corpus {options['corpus']}: not found; expected one of: {imported}")
    defaults = {"corpus": corpus, "title": options["title"]}
    if options["order_seed"] is not None:
        defaults["order_seed"] = options["order_seed"]
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
