"""manage.py make_run_again: train, index and search as the description of a run says, and compare the runs."""

import shutil
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from base.commands import ReeljudgeCommand, show_progress
from campaigns.models import Campaign
from corpus.errors import CorpusError
from metrics import MeasureError
from metrics.formats.json_reader import read_json
from runs.systems.models import TrainedSystem
from runs.systems.orders import Wanted
from runs.systems.training import MADE_BY, Say, as_ranking, found_by
from systems.errors import SystemsError
from systems.interface import SYSTEMS
from systems.neural.description import keep_learned_from, must_be_the_same
from systems.neural.device import DEVICES, choose
from systems.storage import digest, write


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
        self.stdout.write(
            f"{out}: is the run of the description, SHA-256 {make_again(campaign, about, out, show_progress)}"
        )


TYPES = dict(zip(MADE_BY, (str, float, str, bool, int, str), strict=True))


def read_recipe(file: Path) -> dict[str, Any]:
    """Return the description that a run's page offers. Raise SystemsError if the file is none."""
    try:
        about = read_json(file.read_bytes(), strict=False)
        made_by, learned_from = about["made_by"], about["learned_from"]
        texts = [about["system"], about["run"], made_by["campaign"], learned_from.get("training_set", "")]
        right = all(type(made_by[name]) is kind for name, kind in TYPES.items())
        right &= type(learned_from.get("release")) in (int, type(None)) and isinstance(about["weights"], dict)
        right &= type(about["options"]["seed"]) is int and about["trained_on"] in (None, *DEVICES)
        if not right or not all(isinstance(text, str) for text in texts):
            raise TypeError
        about["features"] = {
            use: [{"file": name, "sha256": sha} for name, sha in files.items()]
            for use, files in about["features"].items()
        }
        if learned_from and learned_from.keys() != {"training_set", "release"}:
            raise KeyError
    except (OSError, MeasureError) as fault:
        raise SystemsError(f"{file}: cannot be read ({fault})") from fault
    except (KeyError, TypeError, AttributeError) as fault:
        raise SystemsError(f"{file}: does not say of what a run was made; expected what a run’s page offers") from fault
    return dict(about)


def make_again(campaign: Campaign, about: dict[str, Any], out: Path, say: Say) -> str:
    """Train, index and search as a description says, write the run, and return its SHA-256. Nothing of it is stored in
    the database, and what was learned is deleted.

    Raise SystemsError if the run is another, saying whether features, the training set or the weights are, or if the
    campaign has no such features, encoder or release any more.
    """
    known = SYSTEMS[about["system"]].options.known if about["system"] in SYSTEMS else dict
    options = known(about["options"])
    how = {name: about["made_by"][name] for name in MADE_BY}
    of_words = {name: value for name, value in how.items() if name != "encoder"}
    seed = options.pop("seed")
    faults = Wanted(about["system"], name="again", seeds=(seed,), options=options, **of_words).faults(campaign)
    for name, words in faults.items():
        if name != "name":
            raise SystemsError(f"{name}: {'; '.join(words)}")
    row = TrainedSystem(campaign=campaign, name=about["system"], system=about["system"], **how)
    row.options = options | {"seed": seed}
    try:
        if about["learned_from"]:
            keep_learned_from(row.folder, about["learned_from"])
        content = as_ranking(found_by(row, say)).encode()
        write(out, lambda file: file.write(content))
        must_be_the_same(about, row.stored, "train")
        must_be_the_same(about, row.stored, "search", digest(out), str(out))
    finally:
        shutil.rmtree(row.folder, ignore_errors=True)
    return digest(out)
