"""The kinds of job about runs: receiving and scoring them, examining measures, and enlarging the pool."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet

from jobs.errors import JobError
from jobs.models import Job
from jobs.registry import Report, kind
from metrics import MeasureError
from releases.models import Release
from runs.believe.inquiries import EXAMINE, examine_measures
from runs.models import Enlargement, Inquiry, Submission
from runs.pools.comparing import COMPARE, ask_to_compare, compare_pools
from runs.pools.opening import OPEN, open_batches
from runs.pools.proposing import PROPOSE, propose
from runs.receiving import RECEIVE, receive
from runs.resampling import RESAMPLE, ask_for_resampling, resample
from runs.scoring import SCORE, score_runs


def jobs_on(release: Release) -> QuerySet[Job]:
    """Return the jobs about the scores of a release's runs, which all see who see the scores."""
    return Job.objects.filter(kind__in=[SCORE, RESAMPLE], key=release.job_key).order_by("pk")


@kind(RECEIVE)
def receive_a_run(arguments: dict[str, Any], report: Report) -> None:
    submission = Submission.objects.select_related("by__campaign").filter(pk=arguments["submission"]).first()
    if submission is None:
        return  # It was forgotten.
    receive(submission)


@kind(SCORE)
def score_the_runs(arguments: dict[str, Any], report: Report) -> None:
    release = Release.objects.select_related("campaign").get(pk=arguments["release"])
    score_runs(release, report)
    ask_for_resampling(release)
    ask_to_compare(release)


@kind(RESAMPLE)
def resample_the_annotators(arguments: dict[str, Any], report: Report) -> None:
    resample(Release.objects.select_related("campaign").get(pk=arguments["release"]), report)


@kind(EXAMINE)
def examine(arguments: dict[str, Any], report: Report) -> None:
    inquiry = Inquiry.objects.select_related("release__campaign").filter(pk=arguments["inquiry"]).first()
    if inquiry is None:
        return  # Its release is gone.
    examine_measures(inquiry, report)


@kind(PROPOSE)
def propose_moments(arguments: dict[str, Any], report: Report) -> None:
    enlargement = Enlargement.objects.select_related("campaign", "release__campaign")
    try:
        propose(enlargement.get(pk=arguments["enlargement"]), report)
    except MeasureError as fault:
        raise JobError(str(fault)) from fault


@kind(OPEN)
def open_further_batches(arguments: dict[str, Any], report: Report) -> None:
    enlargement = Enlargement.objects.select_related("campaign__corpus")
    open_batches(enlargement.get(pk=arguments["enlargement"]), report)


@kind(COMPARE)
def compare_the_pools(arguments: dict[str, Any], report: Report) -> None:
    release = Release.objects.select_related("campaign").get(pk=arguments["release"])
    compare_pools(release, report)
