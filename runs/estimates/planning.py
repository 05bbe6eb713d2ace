"""How many queries a campaign needs to tell two systems apart, from what is known before it begins.

How far differences vary between queries is known from two runs of another campaign, a pilot, from systems on
TVR-Ranking, or to the lead. And what further hours of judging buy once it goes on. It is advice: nothing is stored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from itertools import combinations, pairwise
from math import inf
from typing import Any

import numpy as np
from django import forms
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db.models import Q
from numpy.typing import NDArray

from campaigns.models import Campaign, Membership
from drafts.leaderboard import pairs_of
from drafts.models import Draft
from judging.review.frontier import Frontier
from metrics import Estimator, MeasureError, Qrels
from metrics import Run as Ranking
from metrics.analysis.intervals import width
from metrics.analysis.planning import (
    JUDGEMENTS,
    MOST,
    SECONDS,
    TVR_RANKING,
    Plan,
    Spread,
    Work,
    plan_of,
    plans,
    smallest_difference,
)
from metrics.analysis.sampling import FEWEST
from reports.hours import Rates
from reports.statistics.progress import SECOND_SHARE
from runs.board.options import board_reference
from runs.estimates.watches import hours_of_one
from runs.measures import HEADLINE, USUAL
from runs.models import Run, Score, Scoring, ScoringReference, Visibility
from runs.references import pool_of
from runs.tables import read_table, unpacked_values

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
    """Return the newest release of each campaign that the person leads, if two visible runs or more have scores."""
    campaigns = Campaign.objects.led_by(user).values("pk")
    references = ScoringReference.objects.filter(release__campaign__in=campaigns).defer("queries", "ranked", "measures")
    newest = {
        reference.release.campaign_id: reference
        for reference in references.order_by("release__version").select_related("release__campaign")
    }
    pilots = {each.release_id: Pilot(each) for each in newest.values()}
    seen = Q(run__by__user=user) | ~Q(run__visibility=Visibility.PRIVATE)
    scorings = Scoring.objects.filter(seen, release__in=pilots).select_related("run")
    for scoring in scorings.order_by("run__number"):
        pilots[scoring.release_id].runs[scoring.run.number] = scoring.run
    found = sorted((pilot for pilot in pilots.values() if len(pilot.runs) > 1), key=lambda each: each.name)
    return {each.name: each for each in found}


def pairs_judged(campaign: Campaign) -> float:
    """Return how many pairs of a query are judged, if the lead opens as many second batches as is usual."""
    return campaign.batch_size * (1 + SECOND_SHARE * (campaign.batches - 1))


def costs_of_pools(draft: Draft, sizes: Mapping[str, list[list[int]]]) -> list[dict[str, int | None]]:
    """Return what judging a leaderboard again takes, if so many ranks of each run are judged; the cost needs a rate.

    The depths are the usual ones and the draft's own, of pools as `drafts.leaderboard.sizes_of`.
    Depths that no run reaches take what the one before takes, and are left out.
    """
    campaign, rate = Campaign(**draft.settings), draft.settings.get("hourly_rate")
    depths = sorted({*DEPTHS, draft.pool_depth or DEPTHS[0]}) if sizes else []
    depths = [deep for before, deep in pairwise([0, *depths]) if sizes[str(deep)] != sizes.get(str(before))]
    of_pair, found = JUDGEMENTS / pairs_judged(Campaign()), list[dict[str, int | None]]()
    for depth in depths:
        candidates = sum(min(size, campaign.depth) * number for size, number in sizes[str(depth)])
        judgements = of_pair * pairs_of(campaign, sizes[str(depth)], SECOND_SHARE)
        hours = judgements * SECONDS / 3600
        work = {"judgements": round(judgements), "hours": round(hours)}
        cost = round(hours * float(rate)) if rate else None
        found.append({"depth": depth, "candidates": candidates, **work, "cost": cost})
    return found


OWN, AT_FIRST = "own", TVR_RANKING["spread"]
NUMBERS = (25, 50, 100, 200, 350, 500, 1000, 2000, 3280)  # of queries; the last is TVR-Ranking's
OF_TVR_RANKING = {
    "spread": "Systems that find moments more or less often",
    "close": "Systems that find about as many moments",
    "rerank": "Systems that only order the candidates",
}


class PlanForm(forms.Form):
    """What the number of queries depends on, and what judging them takes. What is not given is as usual."""

    difference = forms.FloatField(
        label="Difference of two systems", min_value=0.001, max_value=1, help_text="In NDCG@20, such as 0.02."
    )
    power = forms.FloatField(
        label="Power", min_value=0.1, max_value=0.999, help_text="Probability of finding it, such as 0.8."
    )
    like = forms.ChoiceField(label="How differences vary between queries")
    run = forms.IntegerField(required=False, label="Run", widget=forms.Select)
    other = forms.IntegerField(required=False, label="less", widget=forms.Select)
    sd = forms.FloatField(
        required=False,
        min_value=0.0001,
        max_value=1,
        label="Standard deviation",
        help_text="Of the difference, between queries. Of systems on TVR-Ranking it is 0.06 to 0.14.",
    )
    sd_left = forms.FloatField(
        required=False,
        min_value=0.0001,
        max_value=1,
        label="What caption ranks leave of it",
        help_text="Empty: all of it, so that ranked queries correct nothing.",
    )
    ranked = forms.IntegerField(
        required=False,
        min_value=FEWEST,
        max_value=MOST,
        label="Ranked queries",
        help_text="Judged or not. Empty: many more than are judged.",
    )
    judgements = forms.FloatField(label="Judgements of a query", min_value=1, max_value=1000)
    seconds = forms.FloatField(label="Seconds of a judgement", min_value=1, max_value=3600)
    people = forms.IntegerField(required=False, label="Annotators", min_value=1, max_value=10_000)
    hours = forms.FloatField(required=False, label="Hours of each in a week", min_value=0.1, max_value=168)

    def __init__(self, draft: Draft, given: Mapping[str, Any]) -> None:
        self.draft = draft
        self.pilots = pilots_of(draft.owner)
        usual = self._usual()
        like = str(given.get("like", usual["like"]))
        self.pilot, self.is_own = self.pilots.get(like), like == OWN
        if self.pilot:
            usual |= dict(zip(("run", "other"), self.pilot.runs, strict=False))
        elif self.is_own and "sd" not in given:
            usual |= {"sd": AT_FIRST.judged, "sd_left": AT_FIRST.left}
        super().__init__({name: value for name, value in (usual | {**given}).items() if value is not None})
        fields: dict[str, Any] = self.fields
        fields["like"].choices = self._choices()
        for name in ("run", "other"):
            fields[name].widget.choices = list(self.pilot.runs.items()) if self.pilot else []

    def _usual(self) -> dict[str, Any]:
        """Return the usual values: TVR-Ranking's, and what the draft says."""
        campaign, people = Campaign(**self.draft.settings), [role for _, role in self.draft.people]
        return {
            "difference": 0.02,
            "power": 0.8,
            "like": next(iter(OF_TVR_RANKING)),
            "ranked": sum(self.draft.selection.get(name) or 0 for name in ("validation", "test")) or None,
            "judgements": round(JUDGEMENTS * pairs_judged(campaign) / pairs_judged(Campaign()), 1),
            "seconds": round(SECONDS),
            "people": people.count(Membership.Role.ANNOTATOR) or None,
        }

    def _choices(self) -> list[Any]:
        pilots = [(name, name.replace("/", ", release ")) for name in self.pilots]
        return [
            ("As on TVR-Ranking", list(OF_TVR_RANKING.items())),
            *([("As two runs of a campaign", pilots)] if pilots else []),
            ("As I know", [(OWN, "Standard deviations of my own")]),
        ]

    def clean(self) -> dict[str, Any]:
        data = self.cleaned_data
        if self.errors:
            return data
        if self.is_own and data["sd"] is None:
            raise ValidationError({"sd": "Write a standard deviation, such as 0.14."})
        if self.pilot and (data["run"] == data["other"] or not {data["run"], data["other"]} <= {*self.pilot.runs}):
            raise ValidationError({"other": f"Choose two of the runs {', '.join(map(str, self.pilot.runs))}."})
        try:
            self.spread = self._spread(data)
        except MeasureError as fault:
            raise ValidationError({"sd_left" if self.is_own else "like": f"{fault}."}) from fault
        return data

    def _spread(self, data: dict[str, Any]) -> Spread:
        if self.pilot:
            return self.pilot.spread(data["run"], data["other"])
        if self.is_own:
            return Spread(data["sd"], data["sd_left"] or data["sd"])
        return TVR_RANKING[data["like"]]

    @cached_property
    def plans(self) -> list[Plan]:
        """The plans, once the form is valid."""
        data = self.cleaned_data
        return plans(data["difference"], self.spread, self._work, power=data["power"], ranked=data["ranked"] or inf)

    @cached_property
    def by_queries(self) -> list[tuple[Plan, float]]:
        """What judging each of some usual numbers of queries takes, and the smallest difference that it tells apart."""
        power = self.cleaned_data["power"]
        return [(plan_of(n, self._work), smallest_difference(n, self.spread, power=power)) for n in NUMBERS]

    @property
    def _work(self) -> Work:
        data, rate = self.cleaned_data, self.draft.settings.get("hourly_rate")
        weekly = data["people"] * data["hours"] if data["people"] and data["hours"] else None
        return Work(data["judgements"], data["seconds"], float(rate) if rate else None, weekly)


MOST_HOURS = 40
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Bought:
    """A number after each hour from 0 to `MOST_HOURS`, the form in which it is written, or why it is not known."""

    title: str
    form: str = ""
    values: tuple[float, ...] = ()
    why: str = ""

    def at(self, hour: int) -> str:
        return self.form.format(self.values[hour])


def next_hours(member: Membership, found: Frontier, progress: dict[str, Any] | None, with_pay: bool) -> list[Bought]:
    """Return the numbers of a campaign over the hours; without the speed of annotators none of them is known.

    Queries are finished in their order, and each takes as many hours as those that are ready took. The scores of runs
    stay what they are now, and so does how far they vary between queries.
    """
    if not progress or not progress["mean"] or not found.sample:
        return []
    campaign = member.campaign
    of_one = hours_of_one(campaign, found, progress["mean"])
    in_order = campaign.queries.ranked_population().filter(withdrawn=None).order_by("place")
    closed = list(in_order.values_list("closed", flat=True))
    counts = [ready_after(closed, hour / of_one if of_one else len(closed)) for hour in range(MOST_HOURS + 1)]
    listed = [Bought("Queries ready", "{:,.0f}", tuple(counts)), *_of_runs(member, counts)]
    return [*listed, _pay(campaign, progress, closed.count(False) * of_one)] if with_pay else listed


def ready_after(closed: list[bool], finished: float) -> int:
    """Return how many queries are finished before the first that is not, once so many more of them are.

    >>> ready_after([True, False, True, True, False], 0), ready_after([True, False, True, True, False], 1.5)
    (1, 4)
    """
    unfinished = [place for place, is_closed in enumerate(closed) if not is_closed]
    return unfinished[int(finished)] if finished < len(unfinished) else len(closed)


def _of_runs(member: Membership, counts: list[int]) -> list[Bought]:
    titles, values = ("Half-width, best run", "Pairs of runs decided"), _values(member)
    if values is None or min(counts[0], len(values)) < FEWEST:
        why = "no run is scored on a release" if values is None else f"fewer than {FEWEST} queries are ready"
        return [Bought(title, why=why) for title in titles]
    half, decided = half_of(values), decided_of(values)
    found = [Bought(titles[0], "± {:.3f}", tuple(map(half, counts)))]
    pairs = values.shape[1] * (values.shape[1] - 1) // 2
    return [*found, Bought(titles[1], f"{{:,.0f}} of {pairs:,}", tuple(map(decided, counts)))] if pairs else found


def _values(member: Membership) -> NDArray[np.float64] | None:
    """Return the headline measure of runs that the member may see, on the newest release: shape (queries, runs)."""
    reference, runs = board_reference(member), Run.objects.seen_by(member)
    if reference is None:
        return None
    scores = Score.objects.filter(scoring__release=reference.release_id, scoring__run__in=runs)
    columns = scores.filter(convention=USUAL, measure=HEADLINE).values_list("values", flat=True)
    values = [unpacked_values(column) for column in columns]
    if not values:
        return None
    table = np.stack(values, axis=1).astype(np.float64)
    return table[~np.isnan(table).any(axis=1)]


def half_of(values: NDArray[np.float64]) -> Callable[[int], float]:
    """Return half of the best run's 95 % interval as a function of the number of queries."""
    spread = float(values[:, values.mean(axis=0).argmax()].std(ddof=1))
    return lambda queries: _quantile(queries) * spread / float(np.sqrt(queries))


def decided_of(values: NDArray[np.float64]) -> Callable[[int], int]:
    """Return how many pairs of runs a paired t-test at 5 % tells apart, as a function of the number of queries."""
    means, between = values.mean(axis=0), np.atleast_2d(np.cov(values, rowvar=False))
    pairs = np.array(list(combinations(range(len(means)), 2)), dtype=np.int64).reshape(-1, 2)
    one, other = pairs.T
    far = np.abs(means[one] - means[other])
    spread = np.sqrt(np.maximum(0.0, between[one, one] + between[other, other] - 2 * between[one, other]))
    return lambda queries: int((far > _quantile(queries) * spread / np.sqrt(queries)).sum())


def _quantile(queries: int) -> float:
    return width(queries, queries - 1, CONFIDENCE)[1]


def _pay(campaign: Campaign, progress: dict[str, Any], hours_left: float) -> Bought:
    if not campaign.hourly_rate:
        return Bought("Pay", why="no hourly rate is set")
    now, rate = paid(campaign, progress), float(campaign.hourly_rate)
    form = f"{campaign.currency} {{:,.0f}}".strip()
    return Bought("Pay", form, tuple(now + rate * min(hour, hours_left) for hour in range(MOST_HOURS + 1)))


def paid(campaign: Campaign, progress: dict[str, Any]) -> float:
    """Return the pay for the hours so far, each day at its rate."""
    rates = Rates.of(campaign)
    worked = ((date.fromisoformat(day), seconds) for day, _, seconds in progress["days"])
    return float(sum(seconds / 3600 * float(rates.on(day) or 0) for day, seconds in worked))
