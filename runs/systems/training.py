"""Training a system for a campaign: features, training, index, and the run that is submitted. Each step goes on."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from django.conf import settings
from django.db.models.functions import Now

from base.transactions import all_or_nothing, locked
from campaigns.uploads import NoRoom, append
from corpus.errors import CorpusError
from corpus.features import videos_of
from jobs.errors import JobPostponed
from jobs.registry import Report, each_hour, kind
from metrics import Run as Predictions
from metrics.formats.json_runs import run_as_ranking
from runs.models import Arrival, Submission, Visibility
from runs.receiving import announce, describe, submit
from runs.systems.data import data_as_read, data_of, queries_as_read, queries_of, videos_as_read
from runs.systems.models import TrainedSystem
from systems.data import Data, Videos
from systems.errors import FULL, SystemsError
from systems.errors import Unavailable as OutOfRoom
from systems.features.reader import notice_of
from systems.interface import Progress, System

DEPTH = 100  # predictions of a query
PIECE = 1 << 20  # bytes
DIGITS = 4  # of seconds
SECONDS_BETWEEN_NOTES = 1.0
ABANDONED_AFTER = 24 * 3600.0  # seconds

Say = Callable[[int, int, str], None]


@kind(
    "train-system",
    "Train a system",
    of=TrainedSystem,
    owner="campaign",
    page=("system", "campaign.name", "number"),
    by_members=True,
    refusals=(CorpusError, SystemsError),
)
def train_system(row: TrainedSystem, report: Report) -> None:
    with full_disks_pass():
        train(row, report)
    report(1, 1, "the run is submitted")


@contextmanager
def full_disks_pass() -> Iterator[None]:
    """Postpone the job if a disk is full, on which there may be room later."""
    try:
        yield
    except (NoRoom, OutOfRoom) as fault:
        raise JobPostponed(str(fault)) from fault
    except SystemsError as fault:
        if getattr(fault.__cause__, "errno", None) in FULL:
            raise JobPostponed(str(fault)) from fault
        raise


def train(row: TrainedSystem, say: Say) -> None:
    """Train a system, index the corpus, and submit its run. What an earlier attempt has stored is gone on with.

    Raises
    ------
    SystemsError
        If the features do not fit the corpus, or nothing can be learned or stored.
    """
    if row.is_submitted:
        return
    made, data = row.made(), None
    if row.trained is None:
        videos = videos_of(row.campaign.corpus, row.features, row.clip_seconds, say)
        _notice(row, videos)
        if row.entry.learns:
            data = data_of(row.campaign, videos, row.depth, row.folder, say)
        data = data_as_read(row, data or Data(videos, []), say)
        _learn(row, made, data, say)
        made.index(data.videos, lambda progress: say(progress.done, progress.total, progress.text))
        TrainedSystem.objects.filter(pk=row.pk).update(trained=Now())
    searching = "searching the campaign’s queries"
    say(0, 1, searching)
    queries = queries_as_read(row, queries_of(row.campaign), say)
    found = made.search(queries, DEPTH, lambda each: say(each.done, each.total, searching))
    submit_run(row, found)


def _notice(row: TrainedSystem, videos: Videos) -> None:
    """Keep in the row what the features lack that the system would use."""
    row.notice = notice_of(videos) if row.entry.sees_objects else ""
    TrainedSystem.objects.filter(pk=row.pk).update(notice=row.notice)


def _learn(row: TrainedSystem, made: System, data: Data, say: Say) -> None:
    """Train, and keep the curves in the row as they grow."""
    row.measure = data.validation.measure if data.validation else ""
    noted = 0.0

    def note(progress: Progress) -> None:
        nonlocal noted
        if row.note(progress) and time.monotonic() - noted >= SECONDS_BETWEEN_NOTES:
            noted = time.monotonic()
            _store_curves(row)
        say(progress.done, progress.total, progress.text)

    try:
        made.train(data, note)
    finally:
        _store_curves(row)


def _store_curves(row: TrainedSystem) -> None:
    curves = {"losses": row.losses, "validations": row.validations, "measure": row.measure}
    TrainedSystem.objects.filter(pk=row.pk).update(**curves)  # no row if somebody has removed it


def index(row: TrainedSystem, say: Say) -> None:
    """Index the corpus anew, such as after videos were added. The run that was submitted stays as it is."""
    videos = videos_of(row.campaign.corpus, row.features, row.clip_seconds, say)
    _notice(row, videos)
    videos = videos_as_read(row, videos, say)
    row.made().index(videos, lambda progress: say(progress.done, progress.total, progress.text))
    TrainedSystem.objects.filter(pk=row.pk).update(trained=Now())


@all_or_nothing
def submit_run(row: TrainedSystem, found: Predictions) -> None:
    """Submit a run as its owner would upload it, so that it is checked and scored like every other.

    Nothing is submitted if somebody has removed the system meanwhile.
    """
    if not locked(TrainedSystem.objects.filter(pk=row.pk)).first():
        return
    content = as_ranking(found).encode()
    fields = {
        "name": row.name,
        "system": row.entry.title,
        "group": row.group,
        "description": _description(row),
        "visibility": Visibility.SHARED,
        "format": "ranking",
    }
    submission = describe(row.by, fields)
    file = announce(submission, Arrival.Purpose.RUN, f"{row.system}-{row.number}.json", len(content))
    for start in range(0, len(content), PIECE):
        file = append(file, start, content[start : start + PIECE])
    TrainedSystem.objects.filter(pk=row.pk).update(submission=submission)
    submit(Submission.objects.get(pk=submission.pk))


@each_hour
def forget_folders() -> None:
    """Delete the folders of systems whose rows are gone, a day after anything was written there."""
    root = Path(settings.MODELS_ROOT) / "systems"
    known = set(TrainedSystem.objects.values_list("token", flat=True))
    for folder in root.iterdir() if root.is_dir() else ():
        if folder.name not in known and time.time() - folder.stat().st_mtime > ABANDONED_AFTER:
            shutil.rmtree(folder, ignore_errors=True)


def as_ranking(run: Predictions) -> str:
    """Return a run in TVR-Ranking's format, with its times rounded."""
    return run_as_ranking(replace(run, start=run.start.round(DIGITS), end=run.end.round(DIGITS)))


def _description(row: TrainedSystem) -> str:
    options = ", ".join(f"{name} {value}" for name, value in sorted(row.options.items()))
    learned = f", N = {row.depth}" if row.entry.learns else ""
    learned += f", token vectors of {row.encoder}" if row.encoder else ""
    return (
        f"Trained here as system {row.number}: features {row.features}, clips of {row.clip_seconds:g} s{learned}; "
        f"{options}."
    )
