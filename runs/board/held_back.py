"""The held-back split: people enter some of their runs, and all of these are scored when a lead opens the scores.

The scores reveal something about the grades of the split, so they are few and coarse: no run is entered after the first
opening, a person enters a limited number of runs, each answers most queries of the split, and scores have two decimals.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from math import ceil
from typing import Any

from base.errors import BadValue, WrongState
from base.text import abbreviated
from base.transactions import all_or_nothing, locked
from campaigns.models import Campaign, LogEntry, Membership, log
from jobs.queue import Lane
from jobs.registry import Report, kind
from metrics import Evaluator, MeasureError, Qrels
from metrics import Run as Ranking
from metrics.measures.ground import Ground
from metrics.measures.scene import Scene
from releases.models import Release
from runs.measures import NDCG, USUAL
from runs.models import HeldScore, Run, ScoringReference
from runs.models import RunQuerySet as Runs
from runs.references import reference_of
from runs.tables import read_table

MEASURES = NDCG[3:6]  # NDCG@20 at three thresholds, under the usual convention
LEAST_ANSWERED = 0.9  # of the split's queries
DECIMALS = 2
FEW_QUERIES = 100  # of a split: with fewer, one query can change the second decimal of a score
RUNS_A_DAY = 20  # of a researcher, where the campaign has no limit of its own


def splits_of(campaign: Campaign) -> list[str]:
    """Return the names of the campaign's splits."""
    return sorted(set(campaign.queries.pool().exclude(split="").order_by().values_list("split", flat=True)))


@all_or_nothing
def hold_back(lead: Membership, split: str) -> None:
    """Hold a split back from now on, or none, in place of the present one. Doing it twice is harmless.

    A campaign without a limit of runs a day gets one.

    Raise BadValue if there is no such split, or no query outside it; WrongState if scores on it have been seen.
    """
    campaign = locked(Campaign.objects.filter(pk=lead.campaign_id)).get()
    if split == campaign.held_back:
        return
    if split and split not in (splits := splits_of(campaign)):
        right = f"one of {', '.join(splits)}" if splits else "nothing, because the queries have no splits"
        raise BadValue("split", abbreviated(split), right)
    if split and not campaign.queries.pool().exclude(split=split).exists():
        raise BadValue("split", split, "a split beside which there are other queries")
    for reference in (
        ScoringReference.objects.filter(release__campaign=campaign).select_related("release") if split else ()
    ):
        if any(row[1] == split for row in reference.queries):
            raise WrongState(
                f"Runs have scores on {split} in release {reference.release.version}: who has seen them can fit "
                "a system to the split. Hold another one back."
            )
    log(lead, LogEntry.Kind.SETTINGS, "Split that is held back", campaign.held_back, split)
    campaign.held_back = lead.campaign.held_back = split
    if split and campaign.runs_a_day is None:
        log(lead, LogEntry.Kind.SETTINGS, "Runs of a researcher on a day, at most", "", str(RUNS_A_DAY))
        campaign.runs_a_day = lead.campaign.runs_a_day = RUNS_A_DAY
    campaign.save(update_fields=["held_back", "runs_a_day"])


def held_by(campaign: Campaign) -> ScoringReference | None:
    """Return the reference of the newest release on which runs are scored, if it holds a split back."""
    newest = ScoringReference.objects.filter(release__campaign=campaign).select_related("release__campaign")
    found = newest.order_by("release__version").last()
    return found if found and found.held else None


def entries_closed(campaign: Campaign) -> datetime | None:
    """Return when the list of runs for the held-back split was closed; None while runs can be entered."""
    opened = ScoringReference.objects.filter(release__campaign=campaign, held_back=campaign.held_back).exclude(
        closed=None
    )
    first = opened.order_by("closed").first()
    return first.closed if first else None


def entered_runs(campaign: Campaign) -> Runs:
    """Return the runs that are scored on the held-back split when its scores are opened."""
    return campaign.runs.exclude(entered="").filter(entered=campaign.held_back).order_by("number")


@all_or_nothing
def enter(run: Run, is_entered: bool) -> None:
    """Enter a run for the held-back split, or withdraw it. Doing it twice is harmless.

    Raise WrongState if no release holds a split back, the list is closed, the person has entered as many runs as the
    campaign allows, or the run answers too few queries of the split.
    """
    campaign = locked(Campaign.objects.filter(pk=run.campaign_id)).get()
    reference = held_by(campaign)
    if reference is None or reference.held_back != campaign.held_back:
        raise WrongState("Runs cannot be entered: the newest release with scores holds no split back.")
    if closed := entries_closed(campaign):
        raise WrongState(
            f"The scores on {campaign.held_back} were opened on {closed:%Y-%m-%d}: its list of runs is final."
        )
    if is_entered and run.entered != campaign.held_back:
        _must_be_admissible(run, reference, campaign)
    run.entered = campaign.held_back if is_entered else ""
    run.save(update_fields=["entered"])


def _must_be_admissible(run: Run, reference: ScoringReference, campaign: Campaign) -> None:
    most = campaign.held_back_runs
    if entered_runs(campaign).filter(by=run.by_id).count() >= most:
        raise WrongState(
            f"You have entered {most} run{'s' * (most != 1)}, the limit for one person. Withdraw one first."
        )
    ranking = read_table(Ranking, run.table, name=run.name)
    answered, needed = _answered(ranking, reference), _needed(reference)
    if answered < needed:
        raise WrongState(
            f"The run answers {answered:,} of {len(reference.held_queries):,} queries of {campaign.held_back}; "
            f"at least {needed:,} are needed."
        )


def _answered(ranking: Ranking, reference: ScoringReference) -> int:
    """Return how many queries of the split have a prediction in a run, judged or not."""
    return len({*reference.held_queries} & {*ranking.queries})


def _needed(reference: ScoringReference) -> int:
    return ceil(LEAST_ANSWERED * len(reference.held_queries))


@all_or_nothing
def open_scores(lead: Membership, is_open: bool) -> None:
    """Show the scores on the split to all members and on the public leaderboard, or hide them again.

    The first opening closes the list of runs, and has them scored. Doing it twice is harmless. Raise WrongState if the
    newest release holds no split back, or no run is entered.
    """
    campaign = locked(Campaign.objects.filter(pk=lead.campaign_id)).get()
    reference = held_by(campaign)
    if reference is None:
        raise WrongState("The newest release with scores holds no split back.")
    if bool(reference.opened) == is_open:
        return
    if is_open and not entered_runs(campaign).exists():
        raise WrongState("No run is entered yet. Opening the scores closes the list of runs for good.")
    words = ["closed", "open"]
    what = f"Scores on {reference.held_back}, release {reference.release.version}"
    log(lead, LogEntry.Kind.SETTINGS, what, words[not is_open], words[is_open])
    reference.open(is_open)
    if is_open:
        score_held_back.ask(reference.release)


@kind(
    "score-held-back",
    "Score runs on the held-back split",
    lane=Lane.QUICK,
    of=Release,
    owner="campaign",
    subject="release {0.version}",
    page=("leaderboard", "campaign.name"),
    for_leads=True,
)
def score_held_back(release: Release, report: Report) -> None:
    """Score the entered runs that have no score on the split yet."""
    reference = reference_of(release)
    if not reference.closed:
        return
    scored = HeldScore.objects.filter(reference=reference).values("run")
    waiting = list(entered_runs(release.campaign).exclude(pk__in=scored))
    ground = Ground(read_table(Qrels, reference.held))
    for number, run in enumerate(waiting):
        report(number, len(waiting), "scoring runs")
        rows = [HeldScore(reference=reference, run=run, **row) for row in _scores(run, ground, reference)]
        HeldScore.objects.bulk_create(rows, ignore_conflicts=True)
    report(len(waiting), len(waiting))


def _scores(run: Run, ground: Ground, reference: ScoringReference) -> Iterator[dict[str, Any]]:
    """Yield each measure with its rounded value, which is None for a run that answers too few queries."""
    values, ranking = dict[str, float | None](), read_table(Ranking, run.table, name=run.name)
    if _answered(ranking, reference) >= _needed(reference):
        with suppress(MeasureError):  # the run answers none of the judged queries
            scene = Scene(ground, [ranking], "skip")
            scores = Evaluator(MEASURES, ground, USUAL).scores_on(scene)[0]
            values = {str(measure): value for measure, value in scores.aggregate().items()}
    for measure in MEASURES:
        value = values.get(measure)
        yield {"measure": measure, "value": None if value is None else round(value, DECIMALS)}


def held_rows(reference: ScoringReference, runs: Runs) -> list[tuple[Run, list[float | None]]]:
    """Return the runs that are scored on the split, each with its scores; none until it is open.

    The best by the first measure comes first.
    """
    if not reference.opened:
        return []
    found: dict[Run, dict[str, float | None]] = {}
    for score in reference.held_scores.filter(run__in=runs).select_related("run__by"):
        found.setdefault(score.run, {})[score.measure] = score.value
    listed = [(run, [values.get(name) for name in MEASURES]) for run, values in found.items()]
    return sorted(listed, key=lambda row: (1 if row[1][0] is None else -row[1][0], row[0].name.casefold()))
