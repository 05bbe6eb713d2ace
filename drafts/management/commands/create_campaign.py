"""manage.py create_campaign: create a campaign over a corpus, or add queries to one, and ask for the ranking."""

from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction

from base.commands import ReeljudgeCommand
from base.errors import ReeljudgeError
from campaigns.models import Campaign
from corpus.models import Corpus
from drafts.builder import Built, CampaignPlan, build
from drafts.leaderboard import Given, Leaderboard
from judging.pool.opening import with_reusable
from judging.pool.ranking import rank_candidates
from judging.pool.selection import Counts, Selection, select
from metrics import MeasureError, read_qrels, read_run

OF_A_SELECTION = ("validation", "test", "seed", "strata")  # options


class Command(ReeljudgeCommand):
    refusals = (MeasureError,)
    help = "Create a campaign, or add queries to one, and ask for the ranking of their candidates."

    def add_arguments(self, parser: ArgumentParser) -> None:
        usual = Counts()
        parser.add_argument("name", help="letters, digits, - and _; part of the addresses of its pages")
        parser.add_argument("--corpus", required=True)
        parser.add_argument("--queries", type=Path, help="JSON list, one JSON object a line, or CSV")
        parser.add_argument("--split", default="", help="stored with the queries of the file, for example val")
        parser.add_argument("--title", default="")
        parser.add_argument(
            "--without-films",
            action="store_true",
            help="open batches although films are missing; otherwise they wait until the films are there",
        )
        parser.add_argument(
            "--order-seed",
            type=int,
            help="secret seed of the order of clips and of checks; drawn at random unless given",
        )
        parser.add_argument(
            "--reuse",
            metavar="CAMPAIGN",
            help="an earlier campaign over the corpus, whose consensus on the same text and moment holds here, too",
        )
        again = parser.add_argument_group("re-judging", "the moments of a benchmark and of runs are the candidates")
        again.add_argument(
            "--benchmark", type=Path, help="the benchmark's ground truth, whose queries are judged again"
        )
        again.add_argument("--runs", type=Path, nargs="+", help="runs of several systems on the benchmark")
        again.add_argument("--pool-depth", type=int, default=10, help="how many ranks of each run (%(default)s)")
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
        if options["benchmark"] or options["runs"]:
            self.stdout.write(_rejudge(options))
            return
        lines = _create(options)
        self.stdout.write(
            "\n".join(lines) + "\nA worker ranks the candidates: `serve` starts one, and so does `worker --until-idle`."
        )


@transaction.atomic
def _create(options: dict[str, Any]) -> list[str]:
    """Create the campaign and its queries, and return what was done, a line each."""
    chosen = [name for name in OF_A_SELECTION if options[name] is not None]
    if chosen and not options["select"]:
        raise ReeljudgeError(f"--{chosen[0]}: belongs to a selection; expected --select beside it")
    if not options["select"] and not options["queries"]:
        raise ReeljudgeError("which queries? Expected --queries FILE, --select, or both")
    corpus, existing = _corpus(options["corpus"]), Campaign.objects.filter(name=options["name"]).first()
    if existing and existing.corpus != corpus:
        raise ReeljudgeError(
            f"--corpus {corpus}: campaign {existing.name} is over another corpus; expected --corpus {existing.corpus}"
        )
    selection = _selection(corpus, options) if options["select"] else None
    file = nullcontext(options["queries"]) if options["queries"] else None
    settings = _settings(options)
    reuses = _to_reuse(options["reuse"], corpus, existing)
    plan = CampaignPlan(options["name"], settings, existing, selection, file, split=options["split"], reuses=reuses)
    built = build(plan, corpus, _part)
    rank_candidates.ask(built.campaign)
    lines = _words_of(selection, built) if selection else []
    if file:
        name = built.campaign.name
        lines.append(f"{name}: {built.added:,} queries added, {built.merged:,} merged with a query of the same text.")
    missing = corpus.videos.filter(media="").count()
    if missing and not built.campaign.opens_without_films:
        lines.append(
            f"{missing:,} films are missing. Batches wait for them, unless a lead opens them (--without-films)."
        )
    if reuses:
        number = with_reusable(built.campaign).count()
        lines.append(f"{reuses.name} has grades of {number:,} of the queries that may be reused.")
    return lines


def _settings(options: dict[str, Any]) -> dict[str, Any]:
    given = {name: options[name] for name in ("title", "order_seed") if options[name] is not None}
    return given | {"opens_without_films": options["without_films"]}


def _to_reuse(name: str | None, corpus: Corpus, existing: Campaign | None) -> Campaign | None:
    """Return the campaign whose grades are reused, if one is named."""
    if name is None:
        return None
    reuses = Campaign.objects.named(name)
    if existing and existing.reuses != reuses:
        raise ReeljudgeError(f"--reuse {name}: campaign {existing.name} exists already; expected a new campaign")
    if reuses.corpus != corpus:
        raise ReeljudgeError(f"--reuse {name}: is over corpus {reuses.corpus}; expected a campaign over {corpus}")
    return reuses


@transaction.atomic
def _rejudge(options: dict[str, Any]) -> str:
    """Create a campaign that judges what a benchmark and runs hold, and return what was done."""
    if not (options["benchmark"] and options["runs"]) or options["queries"] or options["select"]:
        raise ReeljudgeError("--benchmark and --runs go together, without --queries and --select")
    if options["pool_depth"] < 1:
        raise ReeljudgeError(f"--pool-depth {options['pool_depth']}: expected 1 or more")
    if Campaign.objects.filter(name=options["name"]).exists():
        raise ReeljudgeError(f"campaign {options['name']}: exists already; expected a new name")
    qrels = read_qrels(options["benchmark"]).sound(False)
    runs = [Given(file.name, file, read_run(file, lenient=True)) for file in options["runs"]]
    board = Leaderboard(options["benchmark"].name, qrels, runs, options["pool_depth"])
    settings = _settings(options)
    corpus = _corpus(options["corpus"])
    reuses = _to_reuse(options["reuse"], corpus, None)
    built = build(CampaignPlan(options["name"], settings, board=board, reuses=reuses), corpus, _part)
    campaign, made = built.campaign, built.pooled
    assert made is not None
    return (
        f"{campaign.name}: {made.queries:,} queries with {made.candidates:,} candidates; left out: {made.too_deep:,} "
        f"candidates beyond the depth of {campaign.depth}, {made.without_text:,} queries without a text of their own.\n"
        "A worker opens the first batches: `serve` starts one, and so does `worker --until-idle`."
    )


@contextmanager
def _part(_: str) -> Iterator[None]:
    """Say what is wrong with a field of the campaign in a line."""
    try:
        yield
    except ValidationError as fault:
        problems = [f"{field}: {' '.join(what)}" for field, what in fault.message_dict.items()]
        raise ReeljudgeError("\n".join(problems)) from fault


def _corpus(name: str) -> Corpus:
    corpus = Corpus.objects.filter(name=name).first()
    if corpus is None:
        imported = ", ".join(Corpus.objects.values_list("name", flat=True)) or "none yet"
        raise ReeljudgeError(f"--corpus {name}: not found; expected one of: {imported}")
    return corpus


def _selection(corpus: Corpus, options: dict[str, Any]) -> Selection:
    usual = Counts()
    chosen = {name: options[name] for name in usual._fields if options[name] is not None}
    seed = 1 if options["seed"] is None else options["seed"]
    return select(corpus, usual._replace(**chosen), seed, options["strata"] or ())


def _words_of(selection: Selection, built: Built) -> list[str]:
    lines = [
        f"{built.campaign.name}: {len(selection.validation):,} queries for validation and "
        f"{len(selection.test):,} for the test, drawn from {selection.captions:,} distinct captions with seed "
        f"{selection.seed}; {built.drawn:,} added.",
        f"{selection.training:,} captions are left for training.",
    ]
    if selection.by:
        lines += [
            f"  {each.name}: {each.captions:,} captions, {each.validation:,} for validation, {each.test:,} for the test"
            for each in selection.strata
        ]
    return lines
