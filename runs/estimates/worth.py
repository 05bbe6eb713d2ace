"""What predictors are worth: how their grades compare with consensus, and how much judging each saves.

A job computes both from the queries up to the frontier, which are a random sample of all, and stores them.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any

import numpy as np
from django.db.models import Max
from django.utils import timezone

from base.errors import BadValue
from campaigns.events import About, Happened, listens
from campaigns.models import Campaign
from jobs.models import Job
from jobs.queue import Lane
from jobs.registry import SELF, Report, kind
from metrics import Estimator, MeasureError, Pool, calibration, parse_measure, queries_alone
from metrics import Run as Ranking
from metrics.formats.predicted import predicted_from
from releases.exports import ExportScope
from reports.models import Summary
from runs.estimates.watches import EVERY, must_be_a_sample, pool_of, qrels_of
from runs.models import Predictor
from runs.pools.enlarging import open_runs
from runs.tables import read_table

SUMMARY = "predictors"  # the name under which the numbers are stored
MEASURE = parse_measure("nDCG_IoU(iou=0.5)@20")
RANKS = (5, 10, 20, 40)  # the last rank of each band
CAPTIONS = "Caption rank"


@dataclass(frozen=True)
class Saving:
    """How much judging a predictor saves.

    left: share of the score's variance between queries that the predictions leave; None if that is not known.
    alone: how many queries, judged alone, tell as much as the judged ones that all ranked queries correct.
    """

    name: str
    predictor: Predictor | None
    left: float | None
    alone: int | None


@dataclass(frozen=True)
class Worth:
    """What is known of a campaign's predictors.

    made: when the judgements were read; None before the first time.
    run: the number of the run whose score is estimated; 0: the candidates in the order of their caption ranks.
    why: why nothing is known of savings; empty if something is.
    """

    made: datetime | None = None
    run: int = 0
    judged: int = 0
    ranked: int = 0
    why: str = "it was not computed yet"
    savings: list[Saving] = field(default_factory=list)
    calibrations: dict[int, dict[str, Any]] = field(default_factory=dict)


def worth_of(campaign: Campaign) -> Worth:
    """Return what was computed last."""
    row = Summary.objects.filter(campaign=campaign, name=SUMMARY).first()
    if row is None:
        return Worth()
    counts = row.counts
    predictors: list[Predictor | None] = [None, *campaign.predictors.exclude(ended=None)]
    left = {key: value for key, value in counts["left"].items() if value is not None}
    savings = [
        _saving(predictor, left.get(_key(predictor)), counts["judged"], counts["ranked"]) for predictor in predictors
    ]
    calibrations = {int(key): held for key, held in counts["calibrations"].items()}
    about = {name: counts[name] for name in ("run", "judged", "ranked", "why")}
    return Worth(row.made, savings=savings, calibrations=calibrations, **about)


def _key(predictor: Predictor | None) -> str:
    return str(predictor.pk if predictor else 0)


def _saving(predictor: Predictor | None, left: float | None, judged: int, ranked: int) -> Saving:
    alone = None if left is None else round(queries_alone(max(left, 1e-6), judged, ranked))
    return Saving(predictor.name if predictor else CAPTIONS, predictor, left, alone)


def ask_to_weigh(campaign: Campaign, run: int | None = None) -> Job:
    """Return the job that computes all of it anew, for the run of this number, or 0, or else for the run of last time.

    Raise BadValue for a run that cannot be chosen.
    """
    if run and run not in {each.number for each in open_runs(campaign)}:
        raise BadValue("run", f"run {run}", "0, or a run of this campaign that is shared or public")
    return weigh_predictors.ask(campaign) if run is None else weigh_predictors.ask(campaign, f"run {run}", run=run)


@listens
def weigh_again(campaign: int, what: Happened, about: About) -> None:
    """Compute it anew when a query is closed, at most once an hour, if there are predictors."""
    if what == Happened.QUERY_CLOSED and Predictor.objects.filter(campaign=campaign).exclude(ended=None).exists():
        fresh = Summary.objects.filter(campaign=campaign, name=SUMMARY, made__gte=timezone.now() - EVERY)
        if not fresh.exists():
            weigh_predictors.ask(Campaign.objects.get(pk=campaign))


@kind(
    "weigh-predictors",
    "Compare predictors with judgements",
    lane=Lane.QUICK,
    of=Campaign,
    owner=SELF,
    page=("model-judges", "name"),
    for_leads=True,
)
def weigh_predictors(campaign: Campaign, report: Report, run: int | None = None) -> None:
    """Compute and store what the campaign's predictors are worth."""
    made, scope = timezone.now(), ExportScope(campaign, with_finished=False, with_unfinished=False)
    report(0, 2, "reading the judgements")
    if run is None:
        known = Summary.objects.filter(campaign=campaign, name=SUMMARY).first()
        run = known.counts["run"] if known else 0
    predictors = list(campaign.predictors.exclude(ended=None))
    tables = {_key(predictor): predicted_from(predictor.rows(), predictor.name) for predictor in predictors}
    counts: dict[str, Any] = {"run": run, "judged": scope.frontier.sample, "ranked": scope.frontier.queries}
    counts["calibrations"] = dict(_calibrations(scope, predictors))
    report(1, 2, "estimating with each predictor")
    try:
        left, faults = _shares_left(scope, run, tables)
        counts |= {"left": left, "why": "; ".join(faults)}
    except MeasureError as fault:
        counts |= {"left": {}, "why": str(fault)}
    Summary.objects.update_or_create(campaign=campaign, name=SUMMARY, defaults={"made": made, "counts": counts})


def _shares_left(scope: ExportScope, run: int, tables: dict[str, Ranking]) -> tuple[dict[str, float | None], list[str]]:
    """Return the share that each predictor leaves, and caption rank, whose key is 0; and why others tell nothing."""
    must_be_a_sample(scope)
    qrels, pool = qrels_of(scope), pool_of(scope)
    chosen = next((each for each in open_runs(scope.campaign) if each.number == run), None)
    if run and not chosen:
        raise MeasureError(f"run {run} is private now; choose another")
    ranking = read_table(Ranking, chosen.table, name=chosen.name) if chosen else in_caption_order(pool)
    found: dict[str, float | None] = {}
    faults = []
    for key, table in {"0": None, **tables}.items():
        try:
            (left,) = Estimator(MEASURE, qrels, pool, predictor=table, future=True).shares_left(ranking).values()
        except MeasureError as fault:
            if table is None:
                raise
            left = math.nan
            faults.append(f"{table.name}: {fault}")
        found[key] = None if math.isnan(left) else left
    return found, faults


def in_caption_order(pool: Pool) -> Ranking:
    """Return a run that has the candidates of each query in the order of their caption ranks."""
    shared = {name: getattr(pool, name) for name in ("queries", "offsets", "names", "video", "start", "end")}
    return Ranking(**shared, scores=-pool.rank.astype(np.float64), name="caption order")


# A candidate with its query, its rank, when it was judged last, its final grade, and the predicted one.
Pair = tuple[int, int, date | None, float, float]


def _calibrations(scope: ExportScope, predictors: list[Predictor]) -> Iterator[tuple[str, dict[str, Any]]]:
    judged = Max("judgements__assignment__submitted")
    rows = scope.candidates.settled().annotate(judged=judged).order_by("query", "rank")
    final: list[Any] = list(rows.values_list("pk", "query", "rank", "judged", "grade"))
    for predictor in predictors:
        held = predictor.predicted.values_list("grades", flat=True)
        grades = {int(key): grade for each in held.iterator() for key, grade in each.items()}
        pairs = [
            (query, rank, at and timezone.localtime(at).date(), float(grade), grades[pk])
            for pk, query, rank, at, grade in final
            if pk in grades
        ]
        bands = _parts(pairs, lambda pair: sum(pair[1] > last for last in RANKS))
        weeks = _parts(pairs, lambda pair: pair[2] and pair[2] - timedelta(days=pair[2].weekday()))
        about = {"ranks": [{"ranks": _words(band)} | each for band, each in bands]}
        about["weeks"] = [{"week": day.isoformat()} | each for day, each in weeks]
        yield _key(predictor), _numbers(pairs) | {"lacking": len(final) - len(pairs)} | about


def _parts(pairs: list[Pair], part_of: Callable[[Pair], Any]) -> list[tuple[Any, dict[str, Any]]]:
    """Return the numbers of each part of the candidates, in order; those that belong to none are left out."""
    parts: dict[Hashable, list[Pair]] = defaultdict(list)
    for pair in pairs:
        if (part := part_of(pair)) is not None:
            parts[part].append(pair)
    return [(part, _numbers(held)) for part, held in sorted(parts.items())]


def _words(band: int) -> str:
    first = RANKS[band - 1] + 1 if band else 1
    return f"{first}–{RANKS[band]}" if band < len(RANKS) else f"from {first}"


def _numbers(pairs: list[Pair]) -> dict[str, Any]:
    queries, _, _, grades, predicted = zip(*pairs, strict=True) if pairs else ((), (), (), (), ())
    found = calibration(np.array(predicted), np.array(grades), np.array(queries, dtype=np.int64))
    of = {"kappa": found.kappa, "severity": found.severity}
    intervals = {name: [_known(value) for value in (each.mean, each.low, each.high)] for name, each in of.items()}
    return {"candidates": found.candidates, "queries": found.queries, "table": found.table.tolist()} | intervals


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value
