"""Making a version of a SimCSE model: training, measuring, and storing the weights, the report and the row."""

from __future__ import annotations

import json
import os
import shutil
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db import transaction
from django.db.models import Max

from base.errors import ReeljudgeError
from corpus.errors import CorpusError
from corpus.models import Corpus, Moment
from jobs.models import Job
from jobs.registry import Report, each_hour, kind
from retrieval.encoders import CARD, encoder, fingerprint, model_name, weights_hash
from retrieval.models import TrainedEncoder
from retrieval.simcse.comparing import as_text, compare
from retrieval.simcse.training import Captions, Recipe, load_base, origin, split, train
from systems.errors import SystemsError

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

IN_TRAINING = "in-training"  # the folder with the checkpoints, beside the models
ABANDONED_AFTER = 7 * 24 * 3600.0  # seconds since anything was written


@dataclass(frozen=True)
class EncoderPlan:
    """What `train_simcse` is asked for."""

    name: str
    corpus: int
    base: str
    recipe: Recipe


def captions_of(corpus: Corpus, recipe: Recipe) -> Captions:
    """Return the corpus's distinct captions, split by the recipe's seed."""
    rows = Moment.objects.filter(video__corpus=corpus).values_list("caption", flat=True).distinct()
    return split(list(rows), recipe)


def ask_for_training(plan: EncoderPlan) -> Job:
    """Return the job that trains a model. A name has one job at a time. Raises ReeljudgeError if the plan cannot be
    carried out, or another plan of this name is not done yet.
    """
    plan.recipe.check()
    captions_of(Corpus.objects.get(pk=plan.corpus), plan.recipe)
    if not fingerprint(plan.base):
        raise ReeljudgeError(f"--base {plan.base}: no weights on this machine; expected a model's folder, or 'bundled'")
    unfinished = train_simcse.jobs().unfinished().filter(key=plan.name).first()
    if unfinished and unfinished.arguments != asdict(plan):
        raise ReeljudgeError(
            f"--name {plan.name}: is being trained with other options (job {unfinished.pk}); "
            f"wait for it, end it (the command jobs {unfinished.pk} --end), or choose another name"
        )
    if unfinished and unfinished.is_running:
        return unfinished
    return train_simcse.ask(key=plan.name, **asdict(plan))


@kind("train-simcse", "Train a SimCSE model", refusals=(CorpusError, SystemsError))
def train_simcse(report: Report, **plan: Any) -> None:
    made = make(EncoderPlan(**plan | {"recipe": Recipe(**plan["recipe"])}), report)
    report(1, 1, f"{made} is stored")


def make(plan: EncoderPlan, report: Report) -> TrainedEncoder:
    """Train a version of a model and store it, or return the one that was made of the same before. Raises
    ReeljudgeError if the captions are too few, or the base model cannot be used.
    """
    report(0, 1, "reading captions, and loading the base model")
    corpus, captions, made_from = _ingredients(plan)
    if there := TrainedEncoder.objects.filter(name=plan.name, origin=made_from).first():
        return there
    model = load_base(plan.base)
    work = Path(settings.MODELS_ROOT) / IN_TRAINING / f"{plan.name}-{made_from[:16]}"

    def steps_done(done: int, total: int) -> None:
        report(done, total, f"training: {done:,} of {total:,} steps")

    losses = train(model, captions.training, plan.recipe, work, steps_done)
    numbers = compare(encoder(plan.base), model, captions, plan.recipe.seed, report)
    facts = _facts(plan, corpus, captions, losses) | numbers
    made = _store(plan, corpus, made_from, model, facts)
    shutil.rmtree(work, ignore_errors=True)
    return made


def made_of(plan: EncoderPlan) -> TrainedEncoder | None:
    """Return the version of the plan's name that was made of what the plan says, if there is one."""
    return TrainedEncoder.objects.filter(name=plan.name, origin=_ingredients(plan)[2]).first()


def _ingredients(plan: EncoderPlan) -> tuple[Corpus, Captions, str]:
    """Return what a plan's model is made of, and the checksum of it."""
    corpus = Corpus.objects.get(pk=plan.corpus)
    captions = captions_of(corpus, plan.recipe)
    return corpus, captions, origin(fingerprint(plan.base), captions, plan.recipe)


def _facts(plan: EncoderPlan, corpus: Corpus, captions: Captions, losses: list[float]) -> dict[str, Any]:
    import torch

    return {
        "name": plan.name,
        "base": model_name(plan.base),
        "corpus": corpus.name,
        "recipe": asdict(plan.recipe),
        "captions": {"training": len(captions.training), "held_out": len(captions.held_out)},
        "losses": losses,
        "made_with": {"torch": torch.__version__, "threads": torch.get_num_threads()},
    }


def _store(
    plan: EncoderPlan, corpus: Corpus, made_from: str, model: SentenceTransformer, facts: dict[str, Any]
) -> TrainedEncoder:
    """Store the model's folder and its row, both or neither."""
    root = Path(settings.MODELS_ROOT)
    new = root / IN_TRAINING / f"{plan.name}-{made_from[:16]}.{os.getpid()}"
    shutil.rmtree(new, ignore_errors=True)
    model.save_pretrained(str(new), create_model_card=False)
    weights = weights_hash(str(new))
    try:
        with transaction.atomic():
            newest = TrainedEncoder.objects.filter(name=plan.name).aggregate(newest=Max("version"))["newest"]
            made = TrainedEncoder.objects.create(
                name=plan.name,
                version=(newest or 0) + 1,
                base=facts["base"],
                corpus=corpus,
                seed=plan.recipe.seed,
                settings=facts["recipe"],
                origin=made_from,
                weights=weights,
                report=facts,
            )
            _write_facts(new, {"version": made.version, "weights": weights} | facts)
            # Left by a process that died before its row was stored.
            shutil.rmtree(made.folder, ignore_errors=True)
            new.rename(made.folder)
    finally:
        shutil.rmtree(new, ignore_errors=True)
    return made


@each_hour
def forget_trainings() -> None:
    """Delete what trainings left: folders whose name no job has, and in which nothing was written for a week."""
    root = Path(settings.MODELS_ROOT) / IN_TRAINING
    names = train_simcse.jobs().unfinished().values_list("key", flat=True)
    for folder in root.iterdir() if root.is_dir() else ():
        under_way = any(folder.name.startswith(f"{name}-") for name in names)
        written = max(each.stat().st_mtime for each in (folder, *folder.iterdir())) if folder.is_dir() else 0
        if written and not under_way and time.time() - written > ABANDONED_AFTER:
            shutil.rmtree(folder, ignore_errors=True)


def _write_facts(folder: Path, facts: dict[str, Any]) -> None:
    card = {field: facts[field] for field in ("name", "version", "weights", "base", "corpus")}
    (folder / CARD).write_text(json.dumps(card, ensure_ascii=False, indent=2) + "\n")
    (folder / "report.json").write_text(json.dumps(facts, ensure_ascii=False, indent=2) + "\n")
    (folder / "report.txt").write_text(as_text(facts))
