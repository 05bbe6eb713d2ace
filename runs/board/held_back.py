"""The split that is held back: runs are scored on it once a day, and nobody sees the scores until a lead opens it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from django.utils import timezone

from base.errors import BadValue, WrongState
from base.text import abbreviated
from base.transactions import all_or_nothing, locked
from campaigns.models import Campaign, LogEntry, Membership, log
from jobs.queue import Lane
from jobs.registry import Report, each_hour, kind
from metrics import Qrels
from metrics.measures.ground import Ground
from releases.models import Release
from runs.measures import NDCG, USUAL, numbers_of
from runs.models import HeldScore, Run, Yardstick
from runs.models import RunQuerySet as Runs
from runs.scoring import usual_scores
from runs.tables import read_table
from runs.yardsticks import yardstick_of

MEASURES = NDCG[3:6]  # of pages: NDCG@20 at three thresholds, under the usual convention


def splits_of(campaign: Campaign) -> list[str]:
    """Return the names of the campaign's splits."""
    return sorted(set(campaign.queries.pool().exclude(split="").order_by().values_list("split", flat=True)))


@all_or_nothing
def hold_back(lead: Membership, split: str) -> None:
    """Hold a split back from now on, or none, in place of the one that is. Doing it twice is harmless.

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
    for yardstick in Yardstick.objects.filter(release__campaign=campaign).select_related("release") if split else ():
        if any(row[1] == split for row in yardstick.queries):
            raise WrongState(
                f"Runs have scores on {split} in release {yardstick.release.version}: who has seen them can fit "
                "a system to the split. Hold another one back."
            )
    log(lead, LogEntry.Kind.SETTINGS, "Split that is held back", campaign.held_back, split)
    campaign.held_back = lead.campaign.held_back = split
    campaign.save(update_fields=["held_back"])


@all_or_nothing
def open_scores(lead: Membership, is_open: bool) -> None:
    """Show the scores on the split to all members and on the public leaderboard, or no longer.

    Doing it twice is harmless. Raise WrongState if the newest release holds no split back.
    """
    yardstick = held_by(lead.campaign)
    if yardstick is None:
        raise WrongState("The newest release with scores holds no split back.")
    words = ["closed", "open"]
    if bool(yardstick.opened) != is_open:
        what = f"Scores on {yardstick.held_back}, release {yardstick.release.version}"
        log(lead, LogEntry.Kind.SETTINGS, what, words[not is_open], words[is_open])
    yardstick.open(is_open)


def change_held_back(lead: Membership, fields: Mapping[str, Any]) -> None:
    """Do what a form or a body says: hold the `split` back that it names, or `open` the scores or not."""
    if "split" in fields:
        hold_back(lead, str(fields["split"]))
    if "open" in fields:
        open_scores(lead, fields["open"] in (True, "yes"))


def held_by(campaign: Campaign) -> Yardstick | None:
    """Return the yardstick of the newest release on which runs are scored, if it holds a split back."""
    newest = Yardstick.objects.filter(release__campaign=campaign).select_related("release__campaign")
    found = newest.order_by("release__version").last()
    return found if found and found.held else None


@each_hour
def ask_for_held_scores() -> None:
    """Ask for the jobs that score runs on splits that are held back, unless that was done today."""
    today = timezone.localdate()
    for yardstick in Yardstick.objects.exclude(held="").exclude(held_on=today).select_related("release__campaign"):
        release = yardstick.release
        if release.campaign.releases.newest() == release and _unscored(yardstick).exists():
            score_held_back.ask(release)


@kind(
    "score-held-back",
    "Score runs on the split that is held back",
    lane=Lane.QUICK,
    of=Release,
    owner="campaign",
    subject="release {0.version}",
    page=("held-back", "campaign.name"),
    for_leads=True,
)
def score_held_back(release: Release, report: Report) -> None:
    """Score the runs that have no score on the split yet. The second time on a day it does nothing."""
    yardstick, today = yardstick_of(release), timezone.localdate()
    if not yardstick.held or yardstick.held_on == today:
        return
    waiting = list(_unscored(yardstick))
    ground = Ground(read_table(Qrels, yardstick.held)) if waiting else None
    for number, run in enumerate(waiting):
        report(number, len(waiting), "scoring runs")
        assert ground
        _score(run, ground, yardstick)
    Yardstick.objects.filter(pk=yardstick.pk).update(held_on=today)
    report(len(waiting), len(waiting))


def _unscored(yardstick: Yardstick) -> Runs:
    scored = HeldScore.objects.filter(yardstick=yardstick).values("run")
    return yardstick.release.campaign.runs.exclude(pk__in=scored).order_by("number")


def _score(run: Run, ground: Ground, yardstick: Yardstick) -> None:
    rows = [
        HeldScore(
            yardstick=yardstick,
            run=run,
            convention=scores.convention.name,
            measure=each.measure,
            value=each.value,
            low=each.low,
            high=each.high,
            on=timezone.localdate(),
        )
        for scores in usual_scores(run, ground)
        for each in numbers_of(scores)
    ]
    HeldScore.objects.bulk_create(rows, ignore_conflicts=True)


@dataclass(frozen=True)
class HeldRow:
    """A run with its scores on the split, by the measures that pages show."""

    run: Run
    scores: list[HeldScore | None]

    @property
    def day(self) -> date | None:
        """The day on which it was scored."""
        return next((each.on for each in self.scores if each), None)


def held_rows(yardstick: Yardstick, runs: Runs) -> list[HeldRow]:
    """Return the runs that are scored on the split, the best by the first measure first; none until it is open."""
    if not yardstick.opened:
        return []
    found: dict[int, dict[str, HeldScore]] = {}
    rows = yardstick.held_scores.filter(run__in=runs, convention=USUAL, measure__in=MEASURES).select_related("run__by")
    for score in rows:
        found.setdefault(score.run_id, {})[score.measure] = score
    listed = [HeldRow(_run(by), [by.get(name) for name in MEASURES]) for by in found.values()]
    return sorted(listed, key=_place)


def _run(scores: dict[str, HeldScore]) -> Run:
    return next(iter(scores.values())).run


def _place(row: HeldRow) -> tuple[float, str]:
    first = row.scores[0]
    return -(first.value if first and first.value is not None else -1), row.run.name.casefold()
