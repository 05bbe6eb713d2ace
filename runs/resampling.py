"""How much the scores depend on who annotated: a bootstrap over annotators, from the raw grades of a release.

Annotators are drawn with replacement, as many as there are. Each grade counts as often as its annotator was drawn, and
the consensus is made anew: the mean of the two middle grades, halves up, if they differ by at most the tolerance. Of
two and of four grades this is the campaign's rule. A pair whose annotators were all left out keeps its consensus.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from jobs.registry import Report, kind
from metrics import CONVENTIONS, parse_measures
from metrics import Run as Predictions
from metrics.analysis.many_gradings import means_by_grading
from metrics.analysis.other_judging import Judged, settled
from metrics.measures.ground import Ground
from releases.archive import ReleaseArchive
from releases.models import Release
from runs.measures import NDCG
from runs.models import Run, Score
from runs.tables import read_table
from runs.yardsticks import judged_in

GRADED = ("paper", "released", "spr")  # conventions that score NDCG
RESAMPLES = 1000
RUNS_AT_ONCE = 20
RESAMPLES_AT_ONCE = 50
MOST_GRADES = 4  # of a pair
CASES = 1 + MOST_GRADES**2
INTERVAL = (0.025, 0.975)
Gradings = NDArray[np.int8]
Ints = NDArray[np.int64]


class GradesByPair(NamedTuple):
    """The grades of each pair, lowest first, as arrays of shape (pairs, 4); where there are fewer, the annotator is −1.

    final: the consensus of each pair, −1 if it has none.
    """

    grade: Gradings
    annotator: Ints
    final: Gradings


@kind(
    "resample-annotators",
    "Resample annotators",
    of=Release,
    owner="campaign",
    subject="release {0.version}",
    page=("leaderboard", "campaign.name"),
    by_members=True,
)
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
            _store(release, convention, some, _spreads(ground, some, gradings, convention))
    report(len(waiting), len(waiting))


def drawn_for(release: Release) -> tuple[Ground, Gradings]:
    """Return all pairs that annotators graded, and their consensus in each resample of the annotators."""
    with release.file.open("rb") as file:
        judged = judged_in(ReleaseArchive(file))
    # The grades that count are those of the resamples, and some pairs have none of their own.
    pairs = replace(judged.pairs, grades=np.zeros_like(judged.final))
    return Ground(pairs), redrawn(by_pair(judged), judged.tolerance)


def _spreads(ground: Ground, runs: list[Run], gradings: Gradings, convention: str) -> NDArray[np.float64]:
    """Return half the width of the interval of each run and measure: floats of shape (runs, measures)."""
    known = set(ground.queries)
    read = [read_table(Predictions, run.table, name=run.name) for run in runs]
    able = [n for n, run in enumerate(read) if known & set(run.queries)]
    spreads = np.full((len(runs), len(NDCG)), np.nan)
    if able:
        measures = parse_measures(NDCG)
        means = means_by_grading(ground, [read[n] for n in able], gradings, measures, CONVENTIONS[convention])
        low, high = np.nanquantile(means, INTERVAL, axis=0)
        spreads[able] = (high - low) / 2
    return spreads


def _store(release: Release, convention: str, runs: list[Run], spreads: NDArray[np.float64]) -> None:
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
    """Return the consensus of each pair in each resample of the annotators: int8 of shape (resamples, pairs).

    It is −1 for a pair without a consensus.
    """
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
