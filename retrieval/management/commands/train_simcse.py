"""manage.py train_simcse: train a SimCSE model on the captions of a corpus."""

import re
from argparse import ArgumentParser
from dataclasses import fields
from typing import Any

from django.conf import settings
from django.utils.text import slugify

from base.commands import ReeljudgeCommand
from base.errors import ReeljudgeError
from corpus.errors import CorpusError
from corpus.models import Corpus
from jobs.models import Job
from jobs.running import work_off_one
from retrieval.simcse.comparing import as_text
from retrieval.simcse.making import EncoderPlan, ask_for_training, made_of
from retrieval.simcse.training import Recipe
from systems.errors import SystemsError


class Command(ReeljudgeCommand):
    refusals = (CorpusError, SystemsError)
    help = "Ask for a SimCSE model, trained on the distinct captions of a corpus; a worker trains it, or --now does."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("corpus")
        parser.add_argument("--name", help="of the model; by default that of the corpus and “-simcse”")
        parser.add_argument("--base", help="a folder or 'bundled'; by default the model of the setting ENCODER")
        parser.add_argument("--now", action="store_true", help="train in this terminal, without a worker")
        for field in fields(Recipe):
            option = f"--{field.name.replace('_', '-')}"
            default: Any = field.default
            meaning = f"{field.metadata['meaning']}; default {default}"
            parser.add_argument(option, type=type(default), default=default, help=meaning)

    def handle(self, **options: Any) -> None:
        plan = _plan(options)
        job = ask_for_training(plan)
        if not options["now"]:
            self.stdout.write(f"{job}: {job.state}; a worker does the rest (the command worker)")
        elif work_off_one(job):
            self._tell(job, plan)
        else:
            self.stdout.write(f"{job}: a worker has it already (the command jobs {job.pk})")

    def _tell(self, job: Job, plan: EncoderPlan) -> None:
        """Print the report, or end with the job's error."""
        job.refresh_from_db()
        made = made_of(plan) if job.state == Job.State.DONE else None
        if made is None:
            raise ReeljudgeError(job.error or f"{job} is {job.state}")
        self.stdout.write(as_text({"version": made.version, "weights": made.weights} | made.report))
        self.stdout.write(f"It is in {made.folder}. To rank with it: ENCODER={made.folder}")


def _plan(options: dict[str, Any]) -> EncoderPlan:
    corpus = Corpus.objects.filter(name=options["corpus"]).first()
    if corpus is None:
        known = ", ".join(Corpus.objects.order_by("name").values_list("name", flat=True)[:20])
        raise ReeljudgeError(f"there is no corpus {options['corpus']!r}; there are: {known or 'none'}")
    return EncoderPlan(
        name=_name(options["name"] or f"{slugify(corpus.name)[:50] or 'corpus'}-simcse"),
        corpus=corpus.pk,
        base=options["base"] or settings.ENCODER,
        recipe=Recipe(**{field.name: options[field.name] for field in fields(Recipe)}),
    )


def _name(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,59}", name):
        raise ReeljudgeError(
            f"--name {name!r}: expected 1 to 60 letters, digits, hyphens and underscores, not a hyphen first"
        )
    return name
