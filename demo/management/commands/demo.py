"""manage.py demo: make the demo, which has drawn films, a campaign over them, and accounts; and serve it."""

import json
import os
import shutil
import signal
import sys
from argparse import ArgumentParser
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import transaction
from django.utils import timezone

from base.commands import ReeljudgeCommand
from campaigns.access import let_create
from campaigns.models import Campaign, Membership
from corpus.films import media_at
from corpus.importers.load import Source, load
from corpus.models import Corpus, Moment
from demo import bundle
from demo.apps import ACCOUNTS, ANNOTATORS, LEAD, PASSWORD, RESEARCHER
from demo.judged import MINUTES, NAME, TITLE, ask_for_systems, finish_jobs, make_judged
from judging.models import Batch
from judging.pool.queries import load_queries
from judging.pool.ranking import rank_candidates
from judging.pool.rewording import By, ask_for_rewording
from judging.quality.examples import add_own_example
from retrieval.encoders import fingerprint
from retrieval.models import Rewording, Vector
from retrieval.rewriting.cast_file import draft, read_cast, store_cast
from systems.encoders import BUNDLED

FILES = Path(__file__).parents[2] / "files"  # made by tools/films
VECTORS = FILES / "vectors.npz"  # of captions and queries
ROLES = {LEAD: Membership.Role.LEAD, RESEARCHER: Membership.Role.RESEARCHER}


class Command(ReeljudgeCommand):
    help = (
        "Make the demo, unless it exists, and serve it: films, a campaign to judge, a judged one with runs, accounts."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--bind", default="127.0.0.1:8000", help="where it is served")
        parser.add_argument("--only-make", action="store_true", help="in a database with all tables, and do not serve")
        parser.add_argument(
            "--untrained", action="store_true", help="without the systems that are trained while the demo runs"
        )

    def handle(self, **options: Any) -> None:
        if not options["only_make"]:
            if bundle.is_wanted():
                self._tell("Unpacking the demo …")
                bundle.restore(timezone.localdate())
            call_command("migrate", verbosity=0)
            call_command("collectstatic", verbosity=0, interactive=False)
        self._make_or_refuse(**options)
        self.stdout.flush()
        if not options["only_make"]:  # by a process that has none of this one's memory
            os.execv(sys.executable, [sys.executable, sys.argv[0], "serve", "--bind", options["bind"]])  # noqa: S606

    def _make_or_refuse(self, **options: Any) -> None:
        before = signal.signal(signal.SIGTERM, signal.default_int_handler)
        try:
            self._make(**options)
        except KeyboardInterrupt:
            raise CommandError("The demo is not finished. The same command goes on with it.") from None
        finally:
            signal.signal(signal.SIGTERM, before)

    def _make(self, **options: Any) -> None:
        if reason := _not_here():
            self.stdout.write(f"The demo is not made: {reason}.")
            return
        folder = settings.HOME / "demo"
        if not (folder / "truth.csv").exists():
            self._tell("Copying the demo's films …")
            _copy_files(folder)
        if not Campaign.objects.filter(name="demo").exists():
            self._tell("Rewording descriptions …")
            _make_captions(folder)
        campaign = _campaign(folder)
        preparing = Batch.objects.in_campaign(campaign).filter(state=Batch.State.PREPARING)
        if preparing.exists() or not Batch.objects.in_campaign(campaign).exists():
            self._tell("Ranking candidates and cutting clips …")
            finish_jobs()
        self._make_judged(campaign, folder / "truth.csv")
        judged = Campaign.objects.filter(name=NAME).first()
        self.stdout.write(_words(f"http://{options['bind']}/"))
        if not judged or options["untrained"] or judged.systems.exists():
            return
        if not find_spec("torch"):
            self.stdout.write("It trains no systems, because this needs torch: pip install 'reeljudge[worker]'")
            return
        ask_for_systems(judged.memberships.get(user__username=RESEARCHER))
        self.stdout.write(
            f"In its first {MINUTES} minutes the demo trains systems on its films; see Runs, Systems there.\n"
        )

    def _make_judged(self, campaign: Campaign, truth: Path) -> None:
        """Make the judged campaign, unless an earlier version made this demo, which had no researcher."""
        people = {
            membership.user.username: membership.user for membership in campaign.memberships.select_related("user")
        }
        if RESEARCHER in people:
            make_judged(campaign, truth, people[LEAD], people[RESEARCHER], self._tell)

    def _tell(self, what: str) -> None:
        self.stdout.write(what)
        self.stdout.flush()


def _not_here() -> str:
    """Return why the demo must not be made in this database, or an empty text if it may be."""
    if Campaign.objects.filter(name="demo").exists():
        return ""
    if others := list(Campaign.objects.order_by("name").values_list("name", flat=True)[:3]):
        return f"this installation has campaigns of its own ({', '.join(others)})"
    taken = User.objects.filter(username__in=ACCOUNTS).order_by("username")
    if names := list(taken.values_list("username", flat=True)):
        return f"there are accounts with the names of the demo's ({', '.join(names)})"
    return ""


def _copy_files(folder: Path) -> None:
    unfinished = folder.with_name("demo-unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    shutil.copytree(FILES, unfinished)
    shutil.rmtree(folder, ignore_errors=True)
    unfinished.rename(folder)


def _make_captions(folder: Path) -> None:
    """Import the corpus, and make captions of its descriptions: the queries are captions of moments."""
    store_vectors()
    with transaction.atomic():
        load("demo", Source(folder / "moments.jsonl", "tvr", kind="v", media=media_at(str(folder / "films"))))
        corpus = Corpus.objects.get(name="demo")
        draft(corpus)
        store_cast(corpus, read_cast(FILES / "cast.csv"))  # which completes the draft
        ask_for_rewording(corpus, By.CAST)
    finish_jobs()
    captions = set(Rewording.objects.filter(corpus=corpus).settled().values_list("after", flat=True))
    if lost := sorted({query["query"] for query in _read("queries.json")} - captions):
        raise CommandError(f"no caption of the demo says: {lost[0]}")


def store_vectors() -> None:
    """Store the vectors, so that the demo can be ranked where no encoder is installed.

    They are those of the bundled model, from which they differ by the rounding to 16 bits.
    """
    with np.load(VECTORS, allow_pickle=False) as file:
        hashes, values = file["hashes"], file["values"].astype("<f4")
    values /= np.linalg.norm(values, axis=1, keepdims=True)
    model = fingerprint(BUNDLED)
    rows = [Vector(model=model, hash=str(hash), values=row.tobytes()) for hash, row in zip(hashes, values, strict=True)]
    Vector.objects.bulk_create(rows, ignore_conflicts=True)


@transaction.atomic
def _campaign(folder: Path) -> Campaign:
    if campaign := Campaign.objects.filter(name="demo").first():
        return campaign
    corpus = Corpus.objects.get(name="demo")
    campaign = Campaign.objects.create(name="demo", title="Demo: drawn films", corpus=corpus, order_seed=1)
    load_queries(campaign, folder / "queries.json")
    rank_candidates.ask(campaign)
    for username in ACCOUNTS:
        user = User.objects.create_user(username, password=PASSWORD)
        campaign.add_member(user, ROLES.get(username, Membership.Role.ANNOTATOR))
    lead = campaign.memberships.select_related("campaign", "user").get(role=Membership.Role.LEAD)
    let_create(lead.user)
    for example in _read("examples.json"):
        moment = Moment.objects.get(video__corpus=campaign.corpus, description=example["description"])
        add_own_example(lead, example["query"], moment, example["grade"], example["why"])
    return campaign


def _read(name: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads((FILES / name).read_text(encoding="utf-8"))
    return rows


def _words(address: str) -> str:
    return (
        f"\nOpen {address} and choose a role; the password of all accounts is {PASSWORD}.\n"
        f"As {ANNOTATORS[0]} judge a batch, as {RESEARCHER} compare runs in “{TITLE}” and search by a sentence,\n"
        f"as {LEAD} decide on second batches, or make a campaign of your own.\n"
    )
