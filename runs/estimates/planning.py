"""How many queries a campaign needs to tell two systems apart, from what is known before it begins.

How far differences vary between queries is known from two runs of another campaign, a pilot, from systems on
TVR-Ranking, or to the lead. It is advice: nothing is stored, and nothing depends on it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from django.contrib.auth.models import User
from django.db.models import Q

from campaigns.models import Campaign, Draft
from judging.drafts.leaderboard import pairs_of
from metrics import Estimator, MeasureError, Qrels
from metrics import Run as Ranking
from metrics.analysis.planning import JUDGEMENTS, SECONDS, Spread
from reports.statistics.forecast import SECOND_SHARE
from runs.measures import USUAL
from runs.models import Run, Scoring, ScoringReference, Visibility
from runs.references import pool_of
from runs.tables import read_table

MEASURE = "nDCG_IoU(iou=0.5)@20"
DEPTHS = (1, 2, 3, 5, 10, 20)  # of pools


@dataclass
class Pilot:
    """A release that a person may see, with the runs scored on it that the person may see, by number."""

    reference: ScoringReference
    runs: dict[int, Run] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{self.reference.release.campaign.name}/{self.reference.release.version}"

    def spread(self, run: int, other: int) -> Spread:
        """Return how the difference of two runs varies. Raise MeasureError if it cannot be estimated."""
        pool = pool_of(self.reference)
        if pool is None:
            raise MeasureError("the release does not hold the candidates of all ranked queries")
        estimator = Estimator(MEASURE, read_table(Qrels, self.reference.table), pool, convention=USUAL)
        two = [read_table(Ranking, self.runs[each].table, name=self.runs[each].name) for each in (run, other)]
        (found,) = estimator.spreads(*two).values()
        return found


def pilots_of(user: User) -> dict[str, Pilot]:
    """Return the newest release of each campaign that the person sees, if two runs or more are scored on it.

    The person sees these runs, too.
    """
    campaigns = Campaign.objects.led_by(user).values("pk")
    references = ScoringReference.objects.filter(release__campaign__in=campaigns).defer("queries", "ranked", "measures")
    newest = {
        each.release.campaign_id: each
        for each in references.order_by("release__version").select_related("release__campaign")
    }
    pilots = {each.release_id: Pilot(each) for each in newest.values()}
    seen = Q(run__by__user=user) | ~Q(run__visibility=Visibility.PRIVATE)
    scorings = Scoring.objects.filter(seen, release__in=pilots).select_related("run")
    for each in scorings.order_by("run__number"):
        pilots[each.release_id].runs[each.run.number] = each.run
    found = sorted((each for each in pilots.values() if len(each.runs) > 1), key=lambda each: each.name)
    return {each.name: each for each in found}


def pairs_judged(campaign: Campaign) -> float:
    """Return how many pairs of a query are judged, if the lead opens as many second batches as is usual."""
    return campaign.batch_size * (1 + SECOND_SHARE * (campaign.batches - 1))


class PoolCost(NamedTuple):
    """What judging a leaderboard again takes, if so many ranks of each run are judged."""

    depth: int
    candidates: int
    judgements: int
    hours: int
    cost: int | None  # None without an hourly rate


def costs_of_pools(draft: Draft, sizes: Mapping[str, list[list[int]]]) -> list[PoolCost]:
    """Return what the usual depths take, and the draft's own, of pools as `judging.drafts.leaderboard.sizes_of`.

    Depths that no run reaches take what the one before takes, and are left out.
    """
    campaign, rate = Campaign(**draft.settings), draft.settings.get("hourly_rate")
    depths = sorted({*DEPTHS, draft.pool_depth or DEPTHS[0]}) if sizes else []
    depths = [deep for before, deep in pairwise([0, *depths]) if sizes[str(deep)] != sizes.get(str(before))]
    of_pair, found = JUDGEMENTS / pairs_judged(Campaign()), list[PoolCost]()
    for depth in depths:
        candidates = sum(min(size, campaign.depth) * number for size, number in sizes[str(depth)])
        judgements = of_pair * pairs_of(campaign, sizes[str(depth)], SECOND_SHARE)
        hours = judgements * SECONDS / 3600
        cost = round(hours * float(rate)) if rate else None
        found.append(PoolCost(depth, candidates, round(judgements), round(hours), cost))
    return found
