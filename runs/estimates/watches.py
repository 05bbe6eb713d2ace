"""Differences of runs that leads look at while judging goes on: whether they are decided, and what deciding them takes.

The interval holds at all times, however often anybody looks (`docs/estimates.md`). It is of the queries up to the
frontier as they are now; no release is needed.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import numpy as np
from django.db.models import Q, QuerySet
from django.utils import timezone

from base.errors import BadValue, WrongState
from base.transactions import all_or_nothing
from campaigns.events import About, Happened, listens
from campaigns.models import Campaign, Membership
from jobs.queue import Lane
from jobs.registry import Report, kind
from judging.models import Judgement
from judging.review.frontier import Frontier, frontier, up_to
from metrics import Estimator, MeasureError, Pool, Qrels, as_pool, calc, convention_named, qrels_from_dict
from metrics import Run as Ranking
from metrics.analysis.planning import SECONDS
from metrics.analysis.predictions import view_of
from metrics.analysis.sampling import FEWEST
from metrics.formats.predicted import predicted_from
from releases.contents import ranked_queries, scope_of
from releases.data_card import BASELINES
from releases.exports import MOMENT, ExportScope
from releases.models import Release
from reports.campaign_summaries import PROGRESS, current_summary
from runs.board.options import measure_named
from runs.board.standing import Axis
from runs.measures import USUAL
from runs.models import Watch
from runs.pools.enlarging import open_runs
from runs.tables import read_table

MOST = 20  # differences of a campaign
OF_BASELINES = ["nDCG_IoU(iou=0.5)@10", "nDCG_IoU(iou=0.5)@20", "AxIoU@10"]
WIDE = 0.02  # the least half of the width of the axis of differences
EVERY = timedelta(hours=1)  # a look by itself, when a query is closed


@dataclass(frozen=True)
class Look:
    """What a look at a difference found.

    needed: the number of queries after which it is decided if it stays what it is; None if all do not suffice, or if
    the method of the interval is "bounded", which says nothing of more queries.
    """

    at: str
    judged: int
    ranked: int
    value: float
    low: float
    high: float
    needed: int | None
    method: str = "regression"

    @property
    def is_decided(self) -> bool:
        return self.low > 0 or self.high < 0

    @property
    def more(self) -> int | None:
        """How many more queries decide it; None if nobody can say."""
        return None if self.needed is None else self.needed - self.judged


@dataclass(frozen=True)
class Cost:
    """What judging so many more queries takes, at the present pace and rate."""

    hours: float
    money: Decimal | None

    def times(self, queries: int) -> Cost:
        return Cost(queries * self.hours, None if self.money is None else queries * self.money)


def watches_of(campaign: Campaign | int) -> QuerySet[Watch]:
    """Return the campaign's watched differences of runs that leads may see, in the order in which they were begun."""
    rows = (
        Watch.objects.of_open_runs()
        .filter(run__campaign=campaign)
        .select_related("run__campaign", "other", "predictor")
    )
    return rows.order_by("pk")


def last_look(watch: Watch) -> Look | None:
    return Look(**watch.looks[-1]) if watch.looks else None


def watched(campaign: Campaign) -> list[tuple[Watch, Look | None, Axis, Cost | None]]:
    """Return each watched difference, its last look, the axis of all, with 0 in its middle, and what deciding costs."""
    found = [(watch, last_look(watch)) for watch in watches_of(campaign)]
    widest = max([WIDE, *(max(abs(look.low), abs(look.high)) for _, look in found if look)])
    of_one = cost_of(campaign, 1) if any(look and look.more for _, look in found) else None
    axis = Axis(-widest, widest, widest)
    return [
        (watch, look, axis, of_one.times(look.more) if of_one and look and look.more else None) for watch, look in found
    ]


@all_or_nothing
def begin(lead: Membership, run: int, other: int, measure: str, predictor: int | None = None) -> Watch:
    """Watch the difference of two runs, and look at it. Doing it twice is harmless.

    The key of a predictor says what corrects the estimate; without it the mean grade of a caption rank does. Raise
    BadValue for a run or a predictor that cannot take part, or a measure that cannot be estimated, and WrongState if
    too many differences are watched.
    """
    runs = {each.number: each for each in open_runs(lead.campaign)}
    for field, number in (("run", run), ("other", other)):
        if number not in runs:
            raise BadValue(field, f"run {number}", "a run of this campaign that is shared or public")
    if run == other:
        raise BadValue("other", f"run {other}", "another run than the first")
    wanted = measure_named(measure)
    try:
        view_of(wanted, convention_named(USUAL))
    except MeasureError as fault:
        raise BadValue("measure", str(wanted), f"a mean over queries ({fault})") from fault
    by = lead.campaign.predictors.filter(pk=predictor).exclude(ended=None).first() if predictor else None
    if predictor and not by:
        raise BadValue("predictor", str(predictor), "a predictor of this campaign that has all its grades")
    known = Watch.objects.filter(run__campaign=lead.campaign)
    about: dict[str, Any] = {"run": runs[run], "other": runs[other], "measure": str(wanted), "predictor": by}
    if not known.filter(**about).exists() and known.count() >= MOST:
        raise WrongState(f"{MOST} differences are watched already. End one of them first.")
    watch, _ = Watch.objects.get_or_create(**about)
    estimate_difference.ask(watch)
    return watch


@listens
def look_again(campaign: int, what: Happened, about: About) -> None:
    """Look at the differences of a campaign when a query is closed, at most once an hour."""
    if what == Happened.QUERY_CLOSED:
        due = Q(looked=None) | Q(looked__lt=timezone.now() - EVERY)
        for watch in watches_of(campaign).filter(due):
            estimate_difference.ask(watch)


@kind(
    "estimate-difference",
    "Estimate a difference",
    lane=Lane.QUICK,
    of=Watch,
    owner="run.campaign",
    page=("leaderboard", "run.campaign.name"),
    by_members=True,
    refusals=(MeasureError,),
)
def estimate_difference(watch: Watch, report: Report) -> None:
    """Look at a difference, and keep what was found. Raise MeasureError if it cannot be estimated."""
    campaign = watch.run.campaign
    if watch.run.is_private or watch.other.is_private:
        raise MeasureError("one of the runs is private now")
    report(0, 2, "reading the judgements")
    now, scope = timezone.now(), ExportScope(campaign, with_finished=False, with_unfinished=False)
    must_be_a_sample(scope)
    predictor = predicted_from(watch.predictor.rows(), watch.predictor.name) if watch.predictor else None
    estimator = Estimator(
        watch.measure, qrels_of(scope), pool_of(scope), predictor=predictor, future=True, anytime=True
    )
    report(1, 2, "scoring both runs")
    runs = [read_table(Ranking, each.table, name=each.name) for each in (watch.run, watch.other)]
    ((difference, needed),) = estimator.progress(*runs).values()
    look = {name: getattr(difference, name) for name in ("judged", "ranked", "value", "low", "high", "method")}
    watch.looks = [each for each in watch.looks if each["judged"] != difference.judged]
    watch.looks.append(look | {"at": now.isoformat(), "needed": needed})
    watch.looked = now
    watch.save(update_fields=["looks", "looked"])


def must_be_a_sample(scope: ExportScope) -> None:
    """Raise MeasureError if the queries up to the frontier are too few for an estimate, or no random sample."""
    found = scope.frontier
    if found.left_out:
        raise MeasureError(
            "queries were withdrawn for what judging them showed, so the judged ones are no random sample"
        )
    if found.sample < FEWEST:
        queries = "1 query is" if found.sample == 1 else f"{found.sample} queries are"
        raise MeasureError(f"{queries} finished up to the frontier; an estimate needs {FEWEST}")


def cost_of(campaign: Campaign, queries: int) -> Cost:
    """Return what judging more queries costs, if they take as much as those up to the frontier did."""
    progress: dict[str, Any] = current_summary(campaign, PROGRESS).counts or {}
    hours = queries * hours_of_one(campaign, frontier(campaign), progress.get("mean") or SECONDS)
    rate = campaign.hourly_rate
    return Cost(hours, None if rate is None else rate * Decimal(hours))


def hours_of_one(campaign: Campaign, found: Frontier, seconds: float) -> float:
    """Return the hours that a query up to the frontier took, if each judgement took so many seconds."""
    sample = up_to(campaign, found).values("pk")
    counted = Judgement.objects.filter(seat__isnull=False, candidate__query__in=sample).count()
    return counted / max(1, found.sample) * seconds / 3600


def qrels_of(scope: ExportScope) -> Qrels:
    """Return the consensus on each candidate up to the frontier."""
    rows = scope.candidates.settled().order_by("query", "rank")
    moments: dict[str, list[tuple[str, float, float, int]]] = defaultdict(list)
    for query, *moment, grade in rows.values_list("query__query_id", *MOMENT, "grade"):
        moments[query].append((*moment, grade))
    return qrels_from_dict(moments, lenient=True)


def baselines_of(release: Release) -> list[dict[str, str]]:
    """Return the scores that a release's data card shows of the runs that the lead chose, by measure."""
    qrels = qrels_of(scope_of(release))
    rows = []
    for run in release.campaign.runs.filter(number__in=release.baselines).order_by("number"):
        found = calc(OF_BASELINES, qrels, read_table(Ranking, run.table, name=run.name)).aggregate()
        scores = {str(measure): "none" if value is None else f"{value:.4f}" for measure, value in found.items()}
        rows.append({"run": run.name, "system": run.system, **scores})
    return rows


BASELINES.append(baselines_of)


def pool_of(scope: ExportScope) -> Pool:
    """Return what `pool.jsonl` of a release would hold now."""
    ranked = list(ranked_queries(scope))
    pool = as_pool({each.query_id: candidates for each, candidates in ranked})
    return replace(
        pool, sample=np.array([each.sample for each, _ in ranked]), strata=tuple(each.stratum for each, _ in ranked)
    )
