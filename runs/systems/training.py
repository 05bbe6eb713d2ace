"""Training a system for a campaign: features, training, index, and the run that is submitted. Each step goes on.

A system reads examples of the campaign's pseudo training set, judged validation queries, and their words, whose vectors
it learns itself or has from an encoder.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import numpy as np
from django.conf import settings
from django.db.models.functions import Now

from base.transactions import all_or_nothing, locked
from campaigns.models import Campaign
from campaigns.uploads import NoRoom, append
from corpus.errors import CorpusError
from corpus.features import full_disks_pass, videos_of
from corpus.models import Moment
from jobs.queue import Lane
from jobs.registry import Report, each_hour, kind
from metrics import Qrels, qrels_from_dict
from metrics import Run as Predictions
from metrics.formats.json_runs import run_as_ranking
from releases.training import file_name, write
from retrieval.encoders import model_name, same_model
from runs.models import Arrival, Submission, Visibility
from runs.receiving import announce, describe, submit
from runs.references import reference_of
from runs.systems.models import TrainedSystem
from runs.tables import read_table
from systems.data import Data, Example, Examples, Query, Rows, Validation, Videos
from systems.encoders import Encode, by_encoder, data_with_tokens, text_tower, videos_with_names, with_tokens
from systems.errors import SystemsError
from systems.examples import examples_from, notice_of
from systems.interface import Progress, System, features_in, in_words, keep_features
from systems.neural.description import checksum, in_a_line, keep_learned_from, learned_from, write_model_card

DEPTH = 100  # predictions of a query
PIECE = 1 << 20  # bytes
DIGITS = 4  # of seconds
SECONDS_BETWEEN_NOTES = 1.0
ABANDONED_AFTER = 24 * 3600.0  # seconds
Say = Callable[[int, int, str], None]
HELD_OUT = 10  # one caption in so many is for validation where no validation queries are judged
MOST_HELD_OUT = 500
OF_HELD_OUT = "nDCG_IoU(iou=0.5)@100"  # recall at 100 hardly tells systems apart by so few captions
# Of a system, what its run is made again from, beside its options.
MADE_BY = ("features", "clip_seconds", "fit", "unit_rows", "depth", "encoder")
SPLIT = "val"  # how the names of validation splits begin
TEXTS_AT_A_TIME = 512  # that are encoded


@kind(
    "train-system",
    "Train a system",
    lane=Lane.TRAINING,
    of=TrainedSystem,
    owner="campaign",
    page=("system", "campaign.name", "number"),
    by_members=True,
    refusals=(CorpusError, SystemsError),
)
def train_system(row: TrainedSystem, report: Report) -> None:
    with full_disks_pass(NoRoom):
        train(row, report)
    report(1, 1, "the run is submitted")


def train(row: TrainedSystem, say: Say) -> None:
    """Train a system, index the corpus, and submit its run. What an earlier attempt has stored is gone on with.

    Raise SystemsError if the features do not fit the corpus, or nothing can be learned or stored.
    """
    if row.is_submitted:
        return
    submit_run(row, found_by(row, say))


def found_by(row: TrainedSystem, say: Say) -> Predictions:
    """Train a system, index the corpus, and search the campaign's queries, without storing a run; see `train`."""
    made, data = row.made(), None
    if row.entry.compares:
        _encoding(row, say)  # before features are computed that it would not fit
    if row.trained is None:
        videos = _videos(row, say)
        if row.entry.learns:
            data = data_of(row.campaign, videos, row.depth, row.folder, say)
        elif row.entry.compares:
            data = Data(videos, moments_of(row.campaign, videos))
        keep_features(row.stored, "train", videos)
        data = data_as_read(row, data or Data(videos, []), say)
        _learn(row, made, data, say)
        _index(row, made, data.videos, say)
        TrainedSystem.objects.filter(pk=row.pk).update(trained=Now())
    searching = "searching the campaign’s queries"
    say(0, 1, searching)
    queries = queries_as_read(row, queries_of(row.campaign), say)
    return made.search(queries, DEPTH, lambda each: say(each.done, each.total, searching))


def _videos(row: TrainedSystem, say: Say) -> Videos:
    """Return the videos that a system sees, and keep in the row what their features lack that it would use."""
    videos = videos_of(row.campaign.corpus, row.features, row.clip_seconds, say, row.fit, row.unit_rows)
    objects = notice_of(videos) if row.entry.sees_objects else ""
    row.notice = " ".join(filter(None, (*videos.notices, objects)))
    TrainedSystem.objects.filter(pk=row.pk).update(notice=row.notice)
    return videos


def _index(row: TrainedSystem, made: System, videos: Videos, say: Say) -> None:
    """Make the index, and keep in the row which share of what is near to a query it finds."""
    made.index(videos, lambda progress: say(progress.done, progress.total, progress.text))
    row.notice = " ".join(filter(None, (row.notice, made.finds())))
    TrainedSystem.objects.filter(pk=row.pk).update(notice=row.notice)


def _learn(row: TrainedSystem, made: System, data: Data, say: Say) -> None:
    """Train, and keep the curves in the row as they grow, and how long a step takes."""
    row.measure = data.validation.measure if data.validation else ""
    noted, began = 0.0, (0, 0.0)  # a step, and when it was done

    def note(progress: Progress) -> None:
        nonlocal noted, began
        if progress.loss is not None:
            now = time.monotonic()
            began = began if began[1] else (progress.done, now)
            if progress.done > began[0]:
                row.step_seconds = (now - began[1]) / (progress.done - began[0])
        if row.note(progress) and time.monotonic() - noted >= SECONDS_BETWEEN_NOTES:
            noted = time.monotonic()
            _store_curves(row)
        say(progress.done, progress.total, progress.text)

    try:
        made.train(data, note)
        write_model_card(row.stored)
    finally:
        _store_curves(row)


def _store_curves(row: TrainedSystem) -> None:
    curves = {"losses": row.losses, "validations": row.validations, "measure": row.measure}
    curves["step_seconds"] = row.step_seconds
    TrainedSystem.objects.filter(pk=row.pk).update(**curves)  # no row if somebody has removed it


def index(row: TrainedSystem, say: Say) -> None:
    """Index the corpus anew, such as after videos were added. The run that was submitted stays as it is."""
    videos = _videos(row, say)
    videos = videos_with_names(videos, _encoding(row, say)) if row.encoder else videos
    keep_features(row.stored, "index", videos)
    _index(row, row.made(), videos, say)
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
        "description": _description(row, sha256(content).hexdigest()),
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


def _description(row: TrainedSystem, run: str) -> str:
    """Return the description of a run with this SHA-256; its last line is JSON from which it is made again."""
    options = ", ".join(f"{name} {value}" for name, value in sorted(row.options.items()))
    learned = f", N = {row.depth}" if row.entry.learns else ""
    kind = "text" if row.entry.compares else "token"
    learned += f", {kind} vectors of {row.encoder}" if row.encoder else ""
    files = "".join(f" {in_words(each)}." for each in features_in(row.stored).get("train", []))
    made_by = {"campaign": row.campaign.name} | {name: getattr(row, name) for name in MADE_BY}
    recipe = in_a_line(row.stored, made_by=made_by, learned_from=learned_from(row.folder), run=run)
    made_of = f"features {row.features}, {row.reading}{learned}; {options}.{files}"
    return f"Trained here as system {row.number}: {made_of}\n{recipe}"


def data_of(campaign: Campaign, videos: Videos, depth: int, folder: Path, say: Say) -> Data:
    """Return what a system is trained on. The training set is written into the folder once, and kept.

    Validation is by NDCG@20 on the validation queries of the newest release (TVR-Ranking, Section 4), which is kept as
    well, else by NDCG@100 of the moments of captions that are held out. Test queries take part in nothing: no training
    query is worded as one. Raise ReeljudgeError if no caption is left for training, and SystemsError if the training
    set, or the release, is not the one that was kept.
    """
    file = folder / file_name(depth)
    if not file.exists():
        folder.mkdir(parents=True, exist_ok=True)
        part = file.with_suffix(".part")
        write(campaign, {depth: part}, lambda done, total, message="": say(done, total, message))
        part.replace(file)
    known, release = learned_from(folder), campaign.releases.newest()
    if not known:
        known = {"training_set": checksum(file), "release": release.version if release else None}
        keep_learned_from(folder, known)
    if (found := checksum(file)) != known["training_set"]:
        raise SystemsError(
            f"the training set of {campaign}: has SHA-256 {found}; expected {known['training_set']}, as when its "
            "captions, its queries and its encoder were others"
        )
    examples = examples_from(file, videos.number)
    validation = _judged(campaign, known["release"], videos)
    if validation is None and len(examples.queries) >= 2 * HELD_OUT:
        held = range(0, len(examples.queries), HELD_OUT)[:MOST_HELD_OUT]
        is_held = np.isin(examples.query, held)
        _, first = np.unique(examples.query[is_held], return_index=True)  # the caption's own moment
        validation = Validation.of(examples.take(np.flatnonzero(is_held)[first[::-1]]), videos, OF_HELD_OUT)
        examples = examples.take(~is_held)
    return Data(videos, examples, validation)


def moments_of(campaign: Campaign, videos: Videos) -> Examples:
    """Return the moments of the corpus, for what learns how long moments are; their captions are not looked at."""
    rows = Moment.objects.filter(video__corpus=campaign.corpus).order_by("pk")
    nothing = Query("", "")
    return Examples.of(
        Example(nothing, video, start, end)
        for video, start, end in rows.values_list("video__name", "start", "end").iterator()
        if video in videos.number
    )


def queries_of(campaign: Campaign) -> list[Query]:
    """Return the campaign's queries, which a run must answer."""
    rows = campaign.queries.pool().order_by("pk").values_list("query_id", "text")
    return [Query(query, text) for query, text in rows]


def _judged(campaign: Campaign, version: int | None, videos: Videos) -> Validation | None:
    """Return the judged queries of the validation split of the release of this version; None if there are none."""
    if version is None:
        return None
    release = campaign.releases.filter(version=version).first()
    if release is None:
        raise SystemsError(f"release {version} of {campaign}: is not there; expected it, for its validation queries")
    reference = reference_of(release)
    named = {query for query, split, _, relevant in reference.queries if split.startswith(SPLIT) and relevant}
    if not named:
        return None
    table = read_table(Qrels, reference.table)
    judged = {query: rows for query, rows in table.rows(table.grades) if query in named}
    return Validation([Query(query, table.texts.get(query, "")) for query in judged], qrels_from_dict(judged), videos)


def data_as_read(row: TrainedSystem, data: Data, say: Say) -> Data:
    """Return training data as the system reads it. What only measures moments reads no words.

    Raise SystemsError if the system has token vectors of another encoder than that of the settings, or this one cannot
    be loaded.
    """
    return data_with_tokens(data, _encoding(row, say)) if row.encoder and row.entry.learns else data


def queries_as_read(
    row: TrainedSystem, queries: Sequence[Query], say: Say = lambda done, total, text: None
) -> Sequence[Query]:
    """Return queries as the system reads them; raises what `data_as_read` raises."""
    return with_tokens(queries, _encoding(row, say)) if row.encoder else queries


def vision_model() -> str:
    """Return the name of the site's model that compares clips with texts; empty if it has none."""
    return model_name(settings.VISION_MODEL) if settings.VISION_MODEL else ""


def _encoding(row: TrainedSystem, say: Say) -> Encode:
    """Load the settings' encoder, or the text tower of their vision model, and return what encodes texts by it."""
    if row.entry.compares:
        if not same_model(row.encoder, named := vision_model()):
            found = named or "no model"
            raise SystemsError(f"VISION_MODEL: names {found}; expected {row.encoder}, to which {row} compares clips")
        return text_tower(settings.VISION_MODEL)
    model = by_encoder(settings.ENCODER)  # its weights, by which it is known, are here then
    if not same_model(row.encoder, model_name()):
        raise SystemsError(
            f"ENCODER: names {model_name()}; expected {row.encoder}, whose token vectors {row} was trained with"
        )

    def encode(texts: Sequence[str]) -> list[Rows]:
        vectors: list[Rows] = []
        for start in range(0, len(texts), TEXTS_AT_A_TIME):
            say(start, len(texts), f"encoding words: {start:,} of {len(texts):,} texts")
            vectors += model(texts[start : start + TEXTS_AT_A_TIME])
        return vectors

    return encode
