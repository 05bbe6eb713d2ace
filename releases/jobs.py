"""The kinds of job that write files of a campaign, a release or a pseudo training set, and that verify a release."""

from typing import Any

from django.utils import timezone

from base.errors import ReeljudgeError
from corpus.errors import CorpusError, Unavailable
from jobs.errors import JobError, JobPostponed
from jobs.models import Job
from jobs.registry import Report, kind
from releases.archive import ReleaseArchive
from releases.freezing import FREEZE, write
from releases.models import Release, TrainingSet
from releases.training.sets import MAKE_TRAINING_SET, make
from releases.verifying import verify
from reports.models import Summary


@kind(FREEZE)
def freeze_a_release(arguments: dict[str, Any], report: Report) -> None:
    release = Release.objects.select_related("campaign__corpus").get(pk=arguments["release"])
    write(release, report)


VERIFY = "verify a release"


@kind(VERIFY)
def verify_a_release(arguments: dict[str, Any], report: Report) -> None:
    """Verify a release's file in the store, and keep what was found, with the time."""
    release = Release.objects.get(pk=arguments["release"])
    report(0, 1, "reading the release")
    try:
        with release.file.open("rb") as content:
            found = verify(ReleaseArchive(content))
    except ReeljudgeError as fault:
        found = {"the release can be read": [str(fault)]}
    except OSError as fault:
        raise JobPostponed(str(fault)) from fault
    Summary.objects.update_or_create(
        campaign_id=release.campaign_id,
        name=_kept_as(release),
        defaults={"made": timezone.now(), "counts": found},
    )
    report(1, 1)


def ask_to_verify(release: Release) -> Job:
    return Job.objects.ask(VERIFY, release.job_key, release=release.pk)


def last_verified(release: Release) -> Summary | None:
    """Return what the last verification found; its counts have the faults of each check that ran."""
    return Summary.objects.filter(campaign=release.campaign_id, name=_kept_as(release)).first()


def _kept_as(release: Release) -> str:
    return f"release {release.version} verified"


@kind(MAKE_TRAINING_SET)
def make_a_training_set(arguments: dict[str, Any], report: Report) -> None:
    training_set = TrainingSet.objects.select_related("campaign__corpus").get(pk=arguments["training_set"])
    try:
        make(training_set, report)
    except Unavailable:
        raise
    except (CorpusError, ReeljudgeError) as fault:
        raise JobError(str(fault)) from fault
