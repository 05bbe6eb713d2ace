"""The tables of the exam and of the attention checks: how each annotator agrees with what is known, pair by pair."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from django.db.models import Count

from campaigns.models import Campaign, Membership
from judging.models import Batch, Candidate, Flag, Sitting
from judging.models.sitting import exam_batches
from judging.quality.check_results import Checked, RecentChecks, Speed, recent_checks
from judging.quality.exam import ExamGrades, Truths, exam_grades, truths
from metrics.analysis.agreement import kappa_of
from reports.campaign_summaries import CurrentSummary
from reports.statistics.agreement import LEVELS

OF_PAIRS = ("batch", "query", "rank", "truth", "why")  # what the table of all pairs reads of each


class Kappas(NamedTuple):
    """Cohen's kappa with the truth; none where it is not defined, or nothing is known yet."""

    plain: float | None
    quadratic: float | None


@dataclass(frozen=True)
class Examinee:
    member: Membership
    sittings: list[Sitting]
    first: Kappas
    last: Kappas

    @property
    def state(self) -> str:
        """How far the examinee has come, in words."""
        if not self.sittings:
            return "works without the exam" if self.member.qualified else "not begun yet"
        last = self.sittings[-1]
        if last.result == Sitting.Result.PASSED:
            return f"passed in round {last.round}"
        if self.member.qualified:
            return "works by a lead's decision"
        if last.result == Sitting.Result.FAILED:
            return "failed"
        return "submitted, waits for others" if last.is_waiting else f"in round {last.round}"

    @property
    def may_repeat(self) -> bool:
        """Whether another round can be given."""
        return bool(self.sittings and self.sittings[-1].may_be_repeated)


@dataclass(frozen=True)
class Pair:
    """A pair of the exam: its truth, the first grades that it got, and how many of them were missed."""

    candidate: Candidate
    truth: float | None
    grades: list[int]
    missed: int
    flags: int


@dataclass(frozen=True)
class Overview:
    examinees: list[Examinee]
    pairs: list[Pair]
    missed: float | None  # per cent of the first grades, as they were marked
    first: Kappas  # means over examinees
    last: Kappas


def overview(campaign: Campaign) -> Overview:
    """Everything on the exam's page, in a fixed number of queries."""
    known = truths(campaign, given := exam_grades(campaign))
    examinees = _examinees(campaign, known, given)
    marked = [sitting for person in examinees for sitting in person.sittings if sitting.round == 1 and sitting.pairs]
    pairs = sum(each.pairs for each in marked)
    return Overview(
        examinees,
        pairs_of(campaign, known, given),
        100 * sum(each.missed for each in marked) / pairs if pairs else None,
        _means([person.first for person in examinees]),
        _means([person.last for person in examinees]),
    )


def _examinees(campaign: Campaign, known: Truths, given: list[ExamGrades]) -> list[Examinee]:
    by_member = defaultdict(list)
    for each in given:
        by_member[each.annotator].append(each)
    members = campaign.memberships.annotators().order_by("worker")
    rows = members.select_related("user").prefetch_related("sittings")
    return [
        Examinee(
            member,
            list(member.sittings.all()),
            _kappas([(each.first, known.get(each.candidate)) for each in by_member[member.pk]]),
            _kappas([(each.last, known.get(each.candidate)) for each in by_member[member.pk]]),
        )
        for member in rows
    ]


def _kappas(pairs: list[tuple[int, float | None]]) -> Kappas:
    """Of grades and truths; a median of two and a half counts as three."""
    cells = [grade * LEVELS.size + math.floor(truth + 0.5) for grade, truth in pairs if truth is not None]
    counts = np.bincount(np.array(cells, np.int64), minlength=LEVELS.size**2)
    table = counts.reshape(LEVELS.size, LEVELS.size).astype(np.float64)
    return Kappas(_defined(kappa_of(table, LEVELS)), _defined(kappa_of(table, LEVELS, "quadratic")))


def _defined(value: float) -> float | None:
    return None if math.isnan(value) else value


def _means(all_: list[Kappas]) -> Kappas:
    def mean(values: list[float | None]) -> float | None:
        there = [value for value in values if value is not None]
        return sum(there) / len(there) if there else None

    return Kappas(mean([each.plain for each in all_]), mean([each.quadratic for each in all_]))


def pairs_of(campaign: Campaign, known: Truths, given: list[ExamGrades], batch: Batch | None = None) -> list[Pair]:
    """The exam's pairs in the order of queries and ranks; with a batch those of it, with their clips."""
    grades = defaultdict(list)
    for each in given:
        grades[each.candidate].append(each.first)
    candidates = Candidate.objects.filter(batch__in=[batch] if batch else exam_batches(campaign))
    flags = Flag.objects.filter(candidate__in=candidates).order_by().values_list("candidate").annotate(n=Count("pk"))
    flagged = dict(flags)
    candidates = candidates.select_related("clip", "moment__video") if batch else candidates.only(*OF_PAIRS)
    found = []
    for candidate in candidates.prefetch_related("query").order_by("query", "rank"):
        first, truth = sorted(grades[candidate.pk]), known.get(candidate.pk)
        missed = 0 if truth is None else sum(not campaign.tolerates(grade, truth) for grade in first)
        found.append(Pair(candidate, truth, first, missed, flagged.get(candidate.pk, 0)))
    return found


def pairs_in(batch: Batch) -> list[Pair]:
    """The pairs of a batch of the exam, by rank."""
    campaign, given = batch.query.campaign, exam_grades(batch.query.campaign)
    return pairs_of(campaign, truths(campaign, given), given, batch)


def examination(member: Membership) -> tuple[Examinee, list[dict[str, Any]]]:
    """Return how far the member has come in the exam, and every pair of it as the member graded or flagged it.

    A pair has no grades where it is flagged, or not submitted yet.
    """
    campaign = member.campaign
    known = truths(campaign, everything := exam_grades(campaign))
    person = next(each for each in _examinees(campaign, known, everything) if each.member.pk == member.pk)
    own = {each.candidate: each for each in everything if each.annotator == member.pk}
    flags = {flag.candidate_id: flag for flag in Flag.objects.filter(assignment__annotator=member)}
    found = []
    for pair in pairs_of(campaign, known, everything):
        grades = own.get(pair.candidate.pk)
        missed = bool(grades and pair.truth is not None and not campaign.tolerates(grades.last, pair.truth))
        found.append({"pair": pair, "grades": grades, "missed": missed, "flag": flags.get(pair.candidate.pk)})
    return person, found


def check_rows(campaign: Campaign, counted: CurrentSummary) -> list[dict[str, Any]]:
    """Every annotator by worker number; check pairs in all and speeds are those that were counted last."""
    numbers = counted.counts or {"checked": [], "speeds": []}
    checked = {key: Checked(*rest) for key, *rest in numbers["checked"]}
    speeds = {key: Speed(*rest) for key, *rest in numbers["speeds"]}
    recent = recent_checks(campaign)
    return [
        {"annotator": each, "checked": checked.get(each.pk), "speed": speeds.get(each.pk)}
        | {"recent": recent.get(each.pk, RecentChecks())}
        for each in campaign.memberships.annotators().select_related("user").order_by("worker")
    ]
