"""Receiving a run: its description, its files in pieces, and a check of every prediction before anything is stored."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from datetime import timedelta
from itertools import count
from typing import Any

from django.core.exceptions import ValidationError
from django.core.files.storage import default_storage
from django.db import transaction
from django.db.models import Max, Q
from django.db.models.functions import Now
from django.utils import timezone

from base.dates import start_of_day
from base.errors import BadValue, WrongState
from base.text import abbreviated
from base.transactions import all_or_nothing, locked
from campaigns.models import Campaign, Membership
from campaigns.uploads import must_be_a_files_name, must_be_of_size, must_have_room, remove
from corpus.models import Video
from corpus.reading import CheckedRun, TableReader
from jobs.errors import JobLeft
from jobs.models import Job
from jobs.queue import Lane
from jobs.registry import Report, each_hour, kind
from metrics import MeasureError
from metrics.formats.checks import Known
from metrics.formats.errors import Faults
from metrics.formats.tables import Run as Predictions
from runs.models import ANONYMOUS, Arrival, Run, Submission, TrainedSystem
from runs.references import names_of
from runs.scoring import ask_for_scores
from runs.tables import renamed, store_run

MOST_MIB = 64  # of a file
AT_ONCE = 1 << 20
FORGOTTEN_AFTER = timedelta(days=7)
TAKEN = f"a name that no other run of the campaign has, and that does not begin with “{ANONYMOUS}”"


def describe(member: Membership, data: Mapping[str, Any], submission: Submission | None = None) -> Submission:
    """Store what the member says of a run that is to come, as a new submission or as one that is not checked yet.

    Raise BadValue if something that is said cannot be, such as a name that another run of the campaign has.
    """
    submission = submission or Submission(by=member)
    for field in (*Submission.DETAILS, "format", "task"):
        setattr(submission, field, data.get(field, getattr(submission, field)))
    try:
        submission.clean_fields(exclude=["by", "findings", "run"])
    except ValidationError as fault:
        field, messages = next(iter(fault.message_dict.items()))
        raise BadValue(field, abbreviated(getattr(submission, field)), messages[0]) from fault
    _must_be_new(member.campaign, submission.name)
    submission.save()
    return submission


def _must_be_new(campaign: Campaign, name: str) -> None:
    if is_taken(campaign, name):
        raise BadValue("name", abbreviated(name), TAKEN)


def is_taken(campaign: Campaign, name: str) -> bool:
    """Return whether a run of the campaign has the name, or will have it; or whether anonymous runs are named so."""
    of_another = Q(name=name) | Q(veiled__name=name)
    return name.startswith(ANONYMOUS) or campaign.runs.filter(of_another).exists()


def _must_be_within_limit(submission: Submission) -> None:
    """Refuse the run of a researcher who has uploaded as many today as the campaign takes of one person."""
    by, most = submission.by, submission.by.campaign.runs_a_day
    if most is None or by.may_review or TrainedSystem.objects.filter(submission=submission).exists():
        return
    n_today = by.runs.filter(at__gte=start_of_day()).count()
    if n_today >= most:
        words = f"{most:,} run{'s' * (most != 1)} of a researcher on a day"
        raise WrongState(
            f"The campaign takes {words}, and you have uploaded {n_today:,} today. Submit this one tomorrow."
        )


@all_or_nothing
def announce(submission: Submission, purpose: str, name: str, size: int) -> Arrival:
    """Return the arrival of a file: the unfinished one of this name and size, else a new one, which replaces others.

    Raise BadValue if the name or the size is wrong; TooLarge if the file is larger than runs are; NoRoom or
    TooManyRequests if there is too little room for it; WrongState if the submission has become a run.
    """
    must_be_a_files_name(name)
    must_be_of_size(name, size, MOST_MIB, "; a run may be packed by gzip")
    submission = locked(Submission.objects.filter(pk=submission.pk)).get()
    must_be_open(submission)
    before = submission.file_for(purpose)
    if before and (before.name, before.size) == (name, size) and not before.is_whole:
        return before
    if before:
        remove(before)
    must_have_room(size, submission.by.user_id)
    Submission.objects.filter(pk=submission.pk).update(touched=Now(), findings={})
    return submission.files.create(purpose=purpose, name=name, size=size)


@all_or_nothing
def begin(member: Membership, purpose: str, name: str, size: int) -> Arrival:
    """Announce the first file of a new submission, which gets a free name from it. Raise what `announce` raises."""
    stem = name.partition(".")[0].strip()[:80] or "run"
    names = (stem if number == 1 else f"{stem}-{number}" for number in count(1))
    free = next(name for name in names if not is_taken(member.campaign, name))
    return announce(describe(member, {"name": free, "system": stem.partition("_")[0]}), purpose, name, size)


def must_be_open(submission: Submission) -> None:
    """Refuse to change a submission that has become a run."""
    if submission.run_id:
        raise WrongState("This run is stored already. Upload another one under another name.")


@all_or_nothing
def submit(submission: Submission) -> Job:
    """Ask for the job that checks and stores the run. Raise BadValue if its file has not arrived as a whole."""
    must_be_open(submission)
    _must_be_within_limit(submission)
    for purpose in Arrival.Purpose.values:
        file = submission.file_for(purpose)
        if file and not file.is_whole:
            raise BadValue(purpose, f"{file.percent} % of {file}", "the whole file; choose it again to go on")
    if submission.file_for(Arrival.Purpose.RUN) is None:
        raise BadValue("run", "no file", "the file of a run")
    Submission.objects.filter(pk=submission.pk).update(findings={}, touched=Now())
    return receive_run.ask(submission)


@kind(
    "receive-run",
    "Receive a run",
    lane=Lane.QUICK,
    of=Submission,
    owner="by.campaign",
    person="by.user",
    page=("upload-check", "by.campaign.name", "token"),
)
def receive_run(submission: Submission, report: Report) -> None:
    """Check a submission's files, and store the run if nothing is wrong with it; else store what is wrong.

    Raise JobLeft if the files are on another machine.
    """
    if submission.run_id:
        return
    file = submission.file_for(Arrival.Purpose.RUN)
    if file is None or not file.path.exists():
        raise JobLeft("the files of the run are not on this machine")
    predictions, faults, notes = _checked(submission, file)
    if predictions is None:
        _refuse(submission, faults)
    else:
        notes = [*faults.doubts, *_doubts_about_missing(submission, predictions), *notes]
        _store(submission, file, predictions, notes)


def _refuse(submission: Submission, faults: Faults) -> None:
    findings = {"told": faults.messages, "count": faults.count, "warnings": faults.doubts}
    Submission.objects.filter(pk=submission.pk).update(findings=findings)


def _doubts_about_missing(submission: Submission, predictions: Predictions) -> Iterator[str]:
    queries = submission.by.campaign.queries.pool().order_by("pk").values_list("query_id", flat=True)
    there = set(predictions.queries)
    if missing := [query for query in queries if query not in there]:
        verb = "is" if len(missing) == 1 else "are"
        numbers = f"{len(missing):,} of {len(queries):,} queries of the campaign {verb} missing"
        yield f"{numbers}; under most conventions, those that are judged count 0 (the first: query {missing[0]!r})"


def _checked(submission: Submission, file: Arrival) -> CheckedRun:
    """Return the predictions in a file, or what is wrong with them; messages name the file as its owner does."""
    campaign, videos = submission.by.campaign, submission.file_for(Arrival.Purpose.VIDEOS)
    with TableReader.for_files({each.path: each.name for each in (file, videos) if each}) as reader:
        names = names_of(campaign)
        durations = Video.objects.filter(corpus=campaign.corpus_id).values_list("name", "duration")
        options: dict[str, Any] = {"format": submission.format or None, "task": submission.task or None}
        options["videos"] = str(videos.path) if videos else None
        try:
            found = reader.run(file.path, Known(names, dict(durations)), **options)
        except MeasureError as fault:
            return CheckedRun(None, Faults([str(fault)], 1), [])
    return found._replace(run=renamed(found.run, names) if found.run else None)


def _store(submission: Submission, file: Arrival, predictions: Predictions, notes: list[str]) -> None:
    """Store the files of a run, and its row together with all that follows from it."""
    details = {field: getattr(submission, field) for field in Submission.DETAILS}
    run = Run(campaign=submission.by.campaign, by=submission.by, filename=file.name, notes=notes, **details)
    store_run(run, submission.token, file.path, predictions)
    try:
        _publish(run, submission)
    except (BadValue, WrongState) as fault:  # another run took its name or its place meanwhile
        _refuse(submission, Faults([str(fault)], 1))
        for stored in (run.file, run.table):
            default_storage.delete(stored.name or "")


@all_or_nothing
def _publish(run: Run, submission: Submission) -> None:
    locked(Campaign.objects.filter(pk=run.campaign_id)).get()
    _must_be_new(run.campaign, run.name)
    _must_be_within_limit(submission)
    run.pk, run.number = None, (run.campaign.runs.aggregate(last=Max("number"))["last"] or 0) + 1
    if run.anonymous_until and run.anonymous_until > timezone.localdate():
        run.veil()
    run.save()
    Submission.objects.filter(pk=submission.pk).update(run=run, findings={})
    TrainedSystem.objects.filter(submission=submission).update(run=run)
    ask_for_scores(run.campaign)
    transaction.on_commit(lambda: shutil.rmtree(submission.folder, ignore_errors=True))


@each_hour
def unveil_runs() -> None:
    """Show who made the runs that were anonymous until today."""
    for run in Run.objects.exclude(veiled={}).filter(anonymous_until__lte=timezone.localdate()):
        run.unveil()


@each_hour
def forget_submissions() -> None:
    """Delete submissions that nobody has touched for a week, with their files."""
    for submission in Submission.objects.filter(touched__lt=Now() - FORGOTTEN_AFTER):
        submission.delete()
        shutil.rmtree(submission.folder, ignore_errors=True)
