"""Scoring runs on a release, under every convention. A new release is scored anew, and the old scores stay."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np

from base.errors import BadValue
from base.transactions import all_or_nothing, locked
from campaigns.events import About, Happened, listens, tell
from campaigns.models import Campaign
from jobs.models import Job
from jobs.registry import Report
from metrics import CONVENTIONS, Evaluator, Measure, MeasureError, Qrels, read_qrels
from metrics import Run as Predictions
from metrics.analysis.compare import bootstrap_columns
from metrics.measures.aggregate import reported
from metrics.measures.ground import Ground
from metrics.measures.results import Scores
from metrics.measures.scene import Scene
from releases.archive import ReleaseArchive
from releases.models import Release
from runs.measures import NAMES, further_of, measures_of
from runs.models import Run, Score, Scoring, Yardstick
from runs.tables import packed_values, read_table, store_table

SCORE = "score runs"  # the kind of job
QRELS = "qrels.jsonl"
MOST_FURTHER = 50  # measures
SPLITS, QUERIES = "splits/", ".queries.txt"


def newest_release(campaign: Campaign) -> Release | None:
    """Return the newest release that is ready, which runs are checked and scored against."""
    return campaign.releases.filter(state=Release.State.READY).order_by("version").last()


def ask_for_scores(campaign: Campaign) -> None:
    """Ask for the job that scores the campaign's runs on its newest release, if there is one."""
    if release := newest_release(campaign):
        ask_for_scores_on(release)


@listens
def score_what_is_frozen(campaign: int, what: Happened, about: About) -> None:
    """Have a new release's runs scored as soon as it is frozen."""
    if what == Happened.RELEASE_FROZEN:
        releases = Release.objects.select_related("campaign")
        ask_for_scores_on(releases.get(campaign=campaign, version=about["version"]))


def ask_for_scores_on(release: Release) -> None:
    """Ask for the job that scores the runs of a release's campaign on it, if there are any."""
    if release.campaign.runs.exists():
        Job.objects.ask(SCORE, release.job_key, release=release.pk)


@all_or_nothing
def ask_for_measure(release: Release, measure: Measure) -> None:
    """Have all runs scored by one more measure. Doing it twice is harmless.

    Raises
    ------
    BadValue
        If a release holds nothing by which it could be computed.
    """
    if measure.definition.family == "highlight" or measure.param("type"):
        raise BadValue(
            "measure", str(measure), "a measure of graded moments; a release has no saliency and no types"
        )
    yardstick = locked(Yardstick.objects.filter(release=release)).get()
    if len(yardstick.measures) >= MOST_FURTHER:
        raise BadValue("measure", str(measure), f"no more than {MOST_FURTHER} beside the usual ones")
    if str(measure) not in yardstick.measures:
        yardstick.measures.append(str(measure))
        yardstick.save(update_fields=["measures"])
    ask_for_scores_on(release)


def score_runs(release: Release, report: Report) -> None:
    """Score every run of the release's campaign that is not scored on it yet, or not by all measures."""
    yardstick = yardstick_of(release)
    waiting = list(_unscored(release, yardstick))
    if not waiting:
        return
    ground = Ground(read_table(Qrels, yardstick.table))
    for number, run in enumerate(waiting):
        report(
            number, len(waiting), "scoring runs"
        )  # without a name: others read it too, and some are private
        score(run, yardstick, ground)
    report(len(waiting), len(waiting))


def _unscored(release: Release, yardstick: Yardstick) -> Iterator[Run]:
    scored = dict(Scoring.objects.filter(release=release).values_list("run", "measures"))
    for run in release.campaign.runs.order_by("number"):
        if run.pk not in scored or not {*yardstick.measures} <= {*scored[run.pk]}:
            yield run


def yardstick_of(release: Release) -> Yardstick:
    """Return what scoring knows of a release. The first call reads it from the release's file."""
    if found := Yardstick.objects.filter(release=release).first():
        return found
    with release.file.open("rb") as file:
        archive = ReleaseArchive(file)
        qrels, split_of = _qrels(archive), _splits(archive)
    relevant = np.bincount(qrels.query_of_row(), qrels.grades > 0, minlength=len(qrels)).astype(int)
    queries = [
        [query, split_of.get(query, ""), len(qrels.texts.get(query, "").split()), count]
        for query, count in zip(qrels.queries, relevant.tolist(), strict=True)
    ]
    table = store_table(f"runs/{release.campaign.name}/release-{release.version}.npz", qrels)
    fields = {"table": table, "queries": queries}
    return Yardstick.objects.get_or_create(release=release, defaults=fields)[0]


def _qrels(archive: ReleaseArchive) -> Qrels:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / QRELS
        file.write_bytes(archive.archive.read(QRELS))
        return read_qrels(file, "jsonl", lenient=True)


def _splits(archive: ReleaseArchive) -> dict[str, str]:
    """Return the split of each query that has one."""
    listed = [name for name in archive.names if name.startswith(SPLITS) and name.endswith(QUERIES)]
    return {
        line.strip(): unquote(name.removeprefix(SPLITS).removesuffix(QUERIES))
        for name in listed
        for line in archive.lines(name)
    }


def score(run: Run, yardstick: Yardstick, ground: Ground) -> Scoring:
    """Score a run under every convention by the measures that it was not scored by yet, and store the scores."""
    release, further = yardstick.release, list(yardstick.measures)
    scoring = Scoring.objects.filter(run=run, release=release).first() or Scoring(run=run, release=release)
    known = set(scoring.scores.values_list("convention", "measure")) if scoring.pk else set()
    found = list(_scores(read_table(Predictions, run.table, name=run.name), ground, further, known, scoring))
    scoring.measures = further
    return _store(scoring, found)


def _scores(
    predictions: Predictions, ground: Ground, further: list[str], known: set[Any], scoring: Scoring
) -> Iterator[Scores]:
    """Yield the scores under each convention; what keeps one from scoring the run is noted with the scoring."""
    try:
        scene = Scene(ground, [predictions], "skip")  # made once: all conventions look at the same pairs
    except MeasureError as fault:
        scoring.refusals = dict.fromkeys(NAMES, str(fault))
        return
    scoring.missing, scoring.unjudged = int(scene.missing.sum()), len(scene.unjudged[0])
    for convention in NAMES:
        # What a further measure cannot be computed on keeps no usual one from its score.
        for wanted in (measures_of(convention), further_of(convention, further)):
            measures = [measure for measure in wanted if (convention, str(measure)) not in known]
            try:
                if measures:
                    yield Evaluator(measures, ground, convention).scores_on(scene)[0]
            except MeasureError as fault:
                scoring.refusals[convention] = str(fault)


@all_or_nothing
def _store(scoring: Scoring, found: list[Scores]) -> Scoring:
    is_first, run = scoring.pk is None, scoring.run
    scoring.save()
    if is_first and not run.is_private:
        tell(run.campaign_id, Happened.RUN_SCORED, run=run.number, release=scoring.release.version)
    rows = [row for scores in found for row in _rows(scoring, scores)]
    Score.objects.bulk_create(rows, ignore_conflicts=True)
    return scoring


def _rows(scoring: Scoring, scores: Scores) -> Iterator[Score]:
    convention = CONVENTIONS[scores.convention.name]
    values = [reported(m, v, convention) for m, v in zip(scores.measures, scores.values, strict=True)]
    low, high = bootstrap_columns(np.stack(values, axis=1))
    for n, (measure, value) in enumerate(scores.aggregate().items()):
        is_mean = measure.definition.aggregate == "mean" and value is not None
        yield Score(
            scoring=scoring,
            convention=convention.name,
            measure=str(measure),
            value=value,
            low=float(low[n]) if is_mean else None,
            high=float(high[n]) if is_mean else None,
            values=packed_values(values[n]),
        )
