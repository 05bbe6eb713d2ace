"""Scoring runs on a release, under every convention. A new release is scored anew, and the old scores stay.

How much the scores depend on who annotated tells a bootstrap over annotators, from the raw grades of the release.
Annotators are drawn with replacement, as many as there are. Each grade counts as often as its annotator was drawn, and
the consensus is made anew: the mean of the two middle grades, halves up, if they differ by at most the tolerance. Of
two and of four grades this is the campaign's rule. A pair whose annotators were all left out keeps its consensus.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from base.errors import BadValue
from base.transactions import all_or_nothing, locked
from campaigns.events import About, Happened, listens, tell
from campaigns.models import Campaign, LogEntry, Membership, log, spend
from jobs.queue import JobQuerySet, Lane
from jobs.registry import Report, kind
from metrics import CONVENTIONS, Evaluator, Measure, MeasureError, Qrels, parse_measures
from metrics import Run as Ranking
from metrics.analysis.many_gradings import means_by_grading
from metrics.analysis.other_judging import Judged, settled
from metrics.analysis.predictions import PredictedScores, Predictions, obstacle
from metrics.measures.ground import Ground
from metrics.measures.results import Scores
from metrics.measures.scene import Scene
from releases.archive import ReleaseArchive
from releases.models import Release
from runs.estimates.scores import Sample
from runs.measures import NAMES, NDCG, further_of, measures_of, numbers_of
from runs.models import Run, Score, Scoring, ScoringReference
from runs.pools.comparing import ask_to_compare
from runs.references import judged_in, pool_of, reference_of
from runs.rejudging import scores_on_benchmark
from runs.tables import packed_values, read_table

MOST_FURTHER = 50  # measures
INFERRED = ("infAP", "xinfAP")
GRADED = ("paper", "released", "spr")  # conventions that score NDCG
RESAMPLES = 1000
RUNS_AT_ONCE = 20
RESAMPLES_AT_ONCE = 50
MOST_GRADES = 4  # of a pair
CASES = 1 + MOST_GRADES**2
INTERVAL = (0.025, 0.975)
Gradings = NDArray[np.int8]
Ints = NDArray[np.int64]
Predicted = dict[Measure, NDArray[np.float64]]


def ask_for_scores(campaign: Campaign) -> None:
    """Ask for the job that scores the campaign's runs on its newest release, if there is one."""
    if release := campaign.releases.newest():
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
def ask_for_measure(release: Release, measure: Measure, by: Membership) -> None:
    """Have all runs scored by one more measure. Doing it twice is harmless.

    Raise BadValue if a release holds nothing by which it could be computed, or has many further measures already;
    TooManyRequests if the member has asked for too many.
    """
    if measure.definition.family == "highlight" or measure.param("type"):
        raise BadValue("measure", str(measure), "a measure of graded moments; a release has no saliency and no types")
    if measure.name in INFERRED:
        raise BadValue(
            "measure", str(measure), "AP, or an estimate; a release judges whole queries, not a sampled pool"
        )
    reference = locked(ScoringReference.objects.filter(release=release)).get()
    if str(measure) not in reference.measures:
        if len(reference.measures) >= MOST_FURTHER:
            right = f"no more than {MOST_FURTHER} beside the usual ones; a lead can remove some"
            raise BadValue("measure", str(measure), right)
        spend(by.user_id, "MEASURE_RATE", "You have asked for many measures in a short time.")
        reference.measures.append(str(measure))
        reference.save(update_fields=["measures"])
    ask_for_scores_on(release)


@all_or_nothing
def remove_measure(release: Release, measure: Measure, lead: Membership) -> None:
    """Score runs no longer by a further measure, and list no scores by it. Doing it twice is harmless.

    The scores are kept, so that they are there again if somebody asks for the measure again.
    """
    reference = locked(ScoringReference.objects.filter(release=release)).get()
    if str(measure) in reference.measures:
        reference.measures.remove(str(measure))
        reference.save(update_fields=["measures"])
        log(lead, LogEntry.Kind.SETTINGS, f"Further measure of release {release.version}", measure, "removed")


ABOUT = {"of": Release, "owner": "campaign", "subject": "release {0.version}", "page": ("leaderboard", "campaign.name")}


@kind("score-runs", "Score runs", lane=Lane.QUICK, by_members=True, **ABOUT)
def score_runs(release: Release, report: Report) -> None:
    """Score all runs of the release's campaign on it, and ask for what follows."""
    _score_unscored(release, report)
    resample_annotators.ask(release)
    ask_to_compare(release)


def _score_unscored(release: Release, report: Report) -> None:
    """Score every run that is not scored on the release yet, or not by all measures."""
    reference = reference_of(release)
    waiting = list(_unscored(release, reference))
    if not waiting:
        return
    ground = Ground(read_table(Qrels, reference.table))
    sample = Sample(reference)
    pool = pool_of(reference) if sample.is_part else None
    # What the judged candidates of a random sample say of all candidates
    predictions = Predictions(pool, ground.qrels, sample.design.sample) if pool else None
    for number, run in enumerate(waiting):
        # Without the run's name: others read it too, and some runs are private.
        report(number, len(waiting), "scoring runs")
        score(run, reference, ground, predictions)
    report(len(waiting), len(waiting))


def _unscored(release: Release, reference: ScoringReference) -> Iterator[Run]:
    scored = dict(Scoring.objects.filter(release=release).values_list("run", "measures"))
    for run in release.campaign.runs.order_by("number"):
        if run.pk not in scored or not {*reference.measures} <= {*scored[run.pk]}:
            yield run


def score(run: Run, reference: ScoringReference, ground: Ground, predictions: Predictions | None = None) -> Scoring:
    """Score a run under every convention by the measures that it was not scored by yet, and store the scores."""
    release, further = reference.release, list(reference.measures)
    scoring = Scoring.objects.filter(run=run, release=release).first() or Scoring(run=run, release=release)
    known = set(scoring.scores.values_list("convention", "measure")) if scoring.pk else set()
    table = read_table(Ranking, run.table, name=run.name)
    found = list(_scores(table, ground, further, known, scoring))
    if scoring.pk is None:
        scoring.on_benchmark = scores_on_benchmark(table, release.campaign, ground)
    scoring.measures = further
    return _store(scoring, found, [_predicted(scores, table, predictions) for scores in found])


def _predicted(scores: Scores, table: Ranking, predictions: Predictions | None) -> Predicted:
    """Return what a run would score on each ranked query if its candidates had the predicted grades."""
    if predictions is None or not predictions.unjudged.intersection(table.queries):
        return {}  # a run of the judged queries alone says nothing of the others
    measures = [
        m for m, groups in zip(scores.measures, scores.groups, strict=True) if groups is None and not obstacle(m)
    ]
    convention = CONVENTIONS[scores.convention.name].but(unjudged="skip")
    try:
        return PredictedScores(measures, predictions, convention).scores(table)[0]
    except MeasureError:  # This convention wants all queries in a run, and some that nobody judged are missing.
        return {}


def _scores(
    ranking: Ranking, ground: Ground, further: list[str], known: set[Any], scoring: Scoring
) -> Iterator[Scores]:
    """Yield the scores under each convention; what keeps one from scoring the run is noted with the scoring."""
    try:
        scene = Scene(ground, [ranking], "skip")  # made once: all conventions look at the same pairs
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
def _store(scoring: Scoring, found: list[Scores], predicted: list[Predicted]) -> Scoring:
    is_first, run = scoring.pk is None, scoring.run
    scoring.save()
    if is_first and not run.is_private:
        tell(run.campaign_id, Happened.RUN_SCORED, run=run.number, release=scoring.release.version)
    rows = [row for scores, of in zip(found, predicted, strict=True) for row in _rows(scoring, scores, of)]
    Score.objects.bulk_create(rows, ignore_conflicts=True)
    return scoring


def _rows(scoring: Scoring, scores: Scores, predicted: Predicted) -> Iterator[Score]:
    for measure, each in zip(scores.measures, numbers_of(scores), strict=True):
        yield Score(
            scoring=scoring,
            convention=scores.convention.name,
            measure=each.measure,
            value=each.value,
            low=each.low,
            high=each.high,
            values=packed_values(each.values),
            predicted=packed_values(predicted[measure]) if measure in predicted else None,
        )


class GradesByPair(NamedTuple):
    """The grades of each pair, lowest first, as arrays of shape (pairs, 4); where there are fewer, the annotator is −1.

    final: the consensus of each pair, −1 if it has none.
    """

    grade: Gradings
    annotator: Ints
    final: Gradings


@kind("resample-annotators", "Resample annotators", by_members=True, **ABOUT)
def resample_annotators(release: Release, report: Report) -> None:
    """Store the interval over annotators with each score of NDCG that has none yet."""
    scores = Score.objects.filter(
        scoring__release=release, measure__in=NDCG, convention__in=GRADED, value__isnull=False
    )
    waiting = sorted(set(scores.filter(spread=None).values_list("scoring__run", flat=True)))
    if not waiting:
        return
    report(0, len(waiting), "reading the raw grades")
    ground, gradings = drawn_for(release)
    for done in range(0, len(waiting), RUNS_AT_ONCE):
        some = list(Run.objects.filter(pk__in=waiting[done : done + RUNS_AT_ONCE]).order_by("pk"))
        for convention in GRADED:
            report(done, len(waiting), f"resampling annotators, convention {convention}")
            _store_spreads(release, convention, some, _spreads(ground, some, gradings, convention))
    report(len(waiting), len(waiting))


def drawn_for(release: Release) -> tuple[Ground, Gradings]:
    """Return all pairs that annotators graded, and their consensus in each resample of the annotators."""
    hidden = reference_of(release).held_queries
    with release.file.open("rb") as file:
        judged = judged_in(ReleaseArchive(file), hidden)
    # The grades that count are those of the resamples, and some pairs have none of their own.
    pairs = replace(judged.pairs, grades=np.zeros_like(judged.final))
    return Ground(pairs), redrawn(by_pair(judged), judged.tolerance)


def _spreads(ground: Ground, runs: list[Run], gradings: Gradings, convention: str) -> NDArray[np.float64]:
    """Return half the width of the interval of each run and measure: floats of shape (runs, measures)."""
    known = set(ground.queries)
    read = [read_table(Ranking, run.table, name=run.name) for run in runs]
    able = [n for n, run in enumerate(read) if known & set(run.queries)]
    spreads = np.full((len(runs), len(NDCG)), np.nan)
    if able:
        measures = parse_measures(NDCG)
        means = means_by_grading(ground, [read[n] for n in able], gradings, measures, CONVENTIONS[convention])
        low, high = np.nanquantile(means, INTERVAL, axis=0)
        spreads[able] = (high - low) / 2
    return spreads


def _store_spreads(release: Release, convention: str, runs: list[Run], spreads: NDArray[np.float64]) -> None:
    place = {run.pk: n for n, run in enumerate(runs)}
    rows = Score.objects.filter(
        scoring__release=release, scoring__run__in=place, convention=convention, measure__in=NDCG
    )
    scores = list(rows.defer("values").select_related("scoring"))
    for score in scores:
        spread = spreads[place[score.scoring.run_id], NDCG.index(score.measure)]
        score.spread = None if np.isnan(spread) else float(spread)
    Score.objects.bulk_update(scores, ["spread"], batch_size=500)


def by_pair(judged: Judged) -> GradesByPair:
    """Arrange raw grades by pair, in the order of the pairs' rows."""
    raw, pairs = judged.raw, judged.final.size
    order = np.lexsort((raw.grade, raw.pair))
    at = raw.pair[order]
    place = np.arange(at.size) - np.searchsorted(at, at)
    grade = np.zeros((pairs, MOST_GRADES), np.int8)
    annotator = np.full((pairs, MOST_GRADES), -1)
    grade[at, place] = raw.grade[order]
    annotator[at, place] = np.unique(raw.annotator, return_inverse=True)[1][order]
    return GradesByPair(grade, annotator, judged.final.astype(np.int8))


def redrawn(raw: GradesByPair, tolerance: int, resamples: int = RESAMPLES, seed: int = 0) -> Gradings:
    """Return the consensus in each resample of the annotators: int8 of shape (resamples, pairs), −1 for none."""
    people = int(raw.annotator.max(initial=-1)) + 1
    drawn = _drawn(people, resamples, seed)
    counts = np.append(drawn, np.zeros((resamples, 1), drawn.dtype), axis=1).astype(np.int16)  # −1 is nobody
    # Who judged a batch judged all of it, so there are far fewer groups of annotators than pairs.
    groups, group = np.unique(raw.annotator, axis=0, return_inverse=True)
    outcomes, begins = _outcomes(raw, tolerance), np.arange(len(raw.final)) * CASES
    gradings = np.empty((resamples, len(raw.final)), dtype=np.int8)
    for begin in range(0, resamples, RESAMPLES_AT_ONCE):
        here = slice(begin, begin + RESAMPLES_AT_ONCE)
        cases = _cases(groups, counts[here])
        gradings[here] = outcomes.ravel()[begins + cases[:, group.reshape(-1)]]
    return gradings


def _drawn(people: int, resamples: int, seed: int) -> Ints:
    """Return how often each resample draws each annotator: shape (resamples, people)."""
    return np.random.default_rng(seed).multinomial(people, np.full(people, 1 / max(people, 1)), resamples)


def _cases(groups: Ints, counts: NDArray[np.int16]) -> NDArray[np.uint8]:
    """Return which two of a group's grades, lowest first, are in the middle: 1 + 4 × lower + upper; 0 for none."""
    reached = np.cumsum([counts[:, groups[:, n]] for n in range(MOST_GRADES)], axis=0, dtype=np.int16)
    number = reached[-1]
    lower, upper = (
        sum((reached[n] <= place).astype(np.uint8) for n in range(MOST_GRADES - 1))
        for place in ((number - 1) >> 1, number >> 1)
    )
    cases: NDArray[np.uint8] = np.where(number > 0, 1 + MOST_GRADES * lower + upper, 0).astype(np.uint8)
    return cases


def _outcomes(raw: GradesByPair, tolerance: int) -> Gradings:
    """Return the consensus of each pair in each case: int8 of shape (pairs, cases)."""
    outcomes = np.repeat(raw.final[:, None], CASES, axis=1)
    for lower in range(MOST_GRADES):
        for upper in range(lower, MOST_GRADES):
            case = 1 + MOST_GRADES * lower + upper
            outcomes[:, case] = settled(raw.grade[:, lower], raw.grade[:, upper], tolerance)
    return outcomes
