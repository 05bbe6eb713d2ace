"""The kinds of job about runs: receiving one, scoring them on a release, and resampling its annotators."""

from __future__ import annotations

from typing import Any

from corpus.errors import Unavailable
from jobs.errors import JobPostponed
from jobs.registry import Report, kind
from releases.models import Release
from runs.believe.inquiries import EXAMINE, examine_measures
from runs.models import Inquiry, Submission
from runs.receiving import RECEIVE, receive
from runs.resampling import RESAMPLE, ask_for_resampling, resample
from runs.scoring import SCORE, score_runs


@kind(RECEIVE)
def receive_a_run(arguments: dict[str, Any], report: Report) -> None:
    submission = Submission.objects.select_related("by__campaign").filter(pk=arguments["submission"]).first()
    if submission is None:
        return  # It was forgotten.
    try:
        receive(submission)
    except Unavailable as fault:
        raise JobPostponed(str(fault)) from fault


@kind(SCORE)
def score_the_runs(arguments: dict[str, Any], report: Report) -> None:
    release = Release.objects.select_related("campaign").get(pk=arguments["release"])
    try:
        score_runs(release, report)
    except Unavailable as fault:
        raise JobPostponed(str(fault)) from fault
    ask_for_resampling(release)


@kind(RESAMPLE)
def resample_the_annotators(arguments: dict[str, Any], report: Report) -> None:
    resample(Release.objects.select_related("campaign").get(pk=arguments["release"]), report)


@kind(EXAMINE)
def examine(arguments: dict[str, Any], report: Report) -> None:
    inquiry = Inquiry.objects.select_related("release__campaign").filter(pk=arguments["inquiry"]).first()
    if inquiry is None:
        return  # Its release is gone.
    try:
        examine_measures(inquiry, report)
    except Unavailable as fault:
        raise JobPostponed(str(fault)) from fault
