"""The kinds of job that belong to retrieval."""

from typing import Any

from base.errors import ReeljudgeError
from corpus.errors import CorpusError
from corpus.models import Corpus
from jobs.errors import JobError
from jobs.models import Job
from jobs.registry import Report, kind
from retrieval.rewriting.counting import COUNT_CAPTIONS, count_and_keep
from retrieval.simcse.making import TRAIN_SIMCSE, Plan, check_plan, make
from systems.errors import SystemsError


def ask_for_training(plan: Plan) -> Job:
    """Return the job that trains a model. A name has one job at a time.

    Raises
    ------
    ReeljudgeError
        If the plan cannot be carried out, or another plan of this name is not done yet.
    """
    check_plan(plan)
    unfinished = Job.objects.unfinished().filter(kind=TRAIN_SIMCSE, key=plan.name).first()
    if unfinished and unfinished.arguments != plan.arguments():
        raise ReeljudgeError(
            f"--name {plan.name}: is being trained with other options (job {unfinished.pk}); "
            f"wait for it, end it (manage.py jobs {unfinished.pk} --end), or choose another name"
        )
    if unfinished and unfinished.is_running:
        return unfinished
    return Job.objects.ask(TRAIN_SIMCSE, plan.name, **plan.arguments())


@kind(TRAIN_SIMCSE)
def train_simcse(arguments: dict[str, Any], report: Report) -> None:
    try:
        made = make(Plan.of(arguments), report)
    except (CorpusError, ReeljudgeError, SystemsError) as fault:
        raise JobError(str(fault)) from fault
    report(1, 1, f"{made} is stored")


@kind(COUNT_CAPTIONS)
def count_captions(arguments: dict[str, Any], report: Report) -> None:
    if corpus := Corpus.objects.filter(pk=arguments["corpus"]).first():
        count_and_keep(corpus, report)
