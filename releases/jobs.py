"""The kinds of job that write files of a campaign: a release, a pseudo training set."""

from typing import Any

from base.errors import ReeljudgeError
from corpus.errors import CorpusError, Unavailable
from jobs.errors import JobError, JobPostponed
from jobs.registry import Report, kind
from releases.freezing import FREEZE, write
from releases.models import Release, TrainingSet
from releases.training.sets import MAKE_TRAINING_SET, make


@kind(FREEZE)
def freeze_a_release(arguments: dict[str, Any], report: Report) -> None:
    release = Release.objects.select_related("campaign__corpus").get(pk=arguments["release"])
    try:
        write(release, report)
    except Unavailable as fault:
        raise JobPostponed(str(fault)) from fault


@kind(MAKE_TRAINING_SET)
def make_a_training_set(arguments: dict[str, Any], report: Report) -> None:
    training_set = TrainingSet.objects.select_related("campaign__corpus").get(pk=arguments["training_set"])
    try:
        make(training_set, report)
    except Unavailable as fault:
        raise JobPostponed(str(fault)) from fault
    except (CorpusError, ReeljudgeError) as fault:
        raise JobError(str(fault)) from fault
