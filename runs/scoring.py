"""Scoring runs on a release, under every convention. A new release is scored anew, and the old scores stay."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from base.errors import BadValue
from base.transactions import all_or_nothing, locked
from campaigns.events import About, Happened, listens, tell
from campaigns.models import Campaign
from jobs.queue import JobQuerySet
from jobs.registry import Report, kind
from metrics import CONVENTIONS, Evaluator, Measure, MeasureError, Qrels
from metrics import Run as Predictions
from metrics.analysis.compare import bootstrap_columns
from metrics.measures.ground import Ground
from metrics.measures.results import Scores, reported
from metrics.measures.scene import Scene
from releases.models import Release
from runs.measures import NAMES, further_of, measures_of
from runs.models import Run, Score, Scoring, Yardstick
from runs.pools.comparing import ask_to_compare
from runs.resampling import resample_annotators
from runs.tables import packed_values, read_table
from runs.yardsticks import yardstick_of

MOST_FURTHER = 50  # measures


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


def jobs_on(release: Release) -> JobQuerySet:
    """Return the jobs about the scores of a release's runs."""
    return (score_runs.jobs(release) | resample_annotators.jobs(release)).order_by("pk")


def ask_for_scores_on(release: Release) -> None:
    """Ask for the job that scores the runs of a release's campaign on it, if there are any."""
    if release.campaign.runs.exists():
        score_runs.ask(release)


@all_or_nothing
def ask_for_measure(release: Release, measure: Measure) -> None:
    """Have all runs scored by one more measure. Doing it twice is harmless.

    Raises
    ------
    BadValue
        If a release holds nothing by which it could be computed.
    """
    if measure.definition.family == "highlight" or measure.param("type"):
        raise BadValue("measure", str(measure), "a measure of graded moments; a release has no saliency and no types")
    yardstick = locked(Yardstick.objects.filter(release=release)).get()
    if len(yardstick.measures) >= MOST_FURTHER:
        raise BadValue("measure", str(measure), f"no more than {MOST_FURTHER} beside the usual ones")
    if str(measure) not in yardstick.measures:
        yardstick.measures.append(str(measure))
        yardstick.save(update_fields=["measures"])
    ask_for_scores_on(release)


@kind(
    "score-runs",
    "Score runs",
    of=Release,
    owner="campaign",
    subject="release {0.version}",
    page=("leaderboard", "campaign.name"),
    by_members=True,
)
def score_runs(release: Release, report: Report) -> None:
    """Score all runs of the release's campaign on it, and ask for what follows."""
    _score_unscored(release, report)
    resample_annotators.ask(release)
    ask_to_compare(release)


def _score_unscored(release: Release, report: Report) -> None:
    """Score every run that is not scored on the release yet, or not by all measures."""
    yardstick = yardstick_of(release)
    waiting = list(_unscored(release, yardstick))
    if not waiting:
        return
    ground = Ground(read_table(Qrels, yardstick.table))
    for number, run in enumerate(waiting):
        # Without the run's name: others read it too, and some runs are private.
        report(number, len(waiting), "scoring runs")
        score(run, yardstick, ground)
    report(len(waiting), len(waiting))


def _unscored(release: Release, yardstick: Yardstick) -> Iterator[Run]:
    scored = dict(Scoring.objects.filter(release=release).values_list("run", "measures"))
    for run in release.campaign.runs.order_by("number"):
        if run.pk not in scored or not {*yardstick.measures} <= {*scored[run.pk]}:
            yield run


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
