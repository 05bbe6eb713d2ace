"""Recommending a verdict for a settled batch, from the grades of its last candidates."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Count

from campaigns.models.campaign import LAST
from judging.models.judgement import Flag
from judging.models.pool import Batch, Candidate
from judging.models.review import Review

SECOND, CLOSE = Review.Verdict.SECOND, Review.Verdict.CLOSE
WORDS = {SECOND: "open the second batch", CLOSE: "close the query"}
Part = tuple[int, int]  # a query's key and the number of a batch; all editions of that batch


@dataclass(frozen=True)
class Recommendation:
    """The verdict that the grades suggest, with its reason."""

    mean: float | None  # of the final grades among the last five candidates
    verdict: str | None  # None if the lead has to decide by hand
    reason: str
    possible: tuple[str, ...]  # the verdicts that the lead can give

    @property
    def other(self) -> str | None:
        """The possible verdict that is not recommended, if there is one."""
        return next((each for each in self.possible if self.verdict and each != self.verdict), None)

    @property
    def seen(self) -> str:
        """The mean as a form carries it, so that a later change of the mean is noticed."""
        return as_seen(self.mean)


def as_seen(mean: float | None) -> str:
    return "none" if mean is None else f"{mean:.4f}"


def recommendation(batch: Batch) -> Recommendation:
    return recommendations([batch])[batch.pk]


def recommendations(batches: Iterable[Batch]) -> dict[int, Recommendation]:
    """Return the recommendation for each batch and all its editions, by the batch's key.

    The number of database queries does not depend on the number of batches.
    """
    batches = list(batches)
    queries = {batch.query_id for batch in batches}
    (grades, deepest), waiting = _grades(queries), _waiting(queries)
    found = {}
    for batch in batches:
        part = (batch.query_id, batch.number)
        last = [grade for grade in grades[part][-LAST:] if grade is not None]
        mean = sum(last) / len(last) if last else None
        second_there = (batch.query_id, 2) in grades
        possible = _possible(batch, second_there, deepest[batch.query_id])
        found[batch.pk] = _recommend(batch, mean, possible, second_there, waiting.get(part, 0))
    return found


def _grades(queries: set[int]) -> tuple[dict[Part, list[int | None]], dict[int, int]]:
    """Return the final grades of each batch by rank, None without a consensus, and the last rank of each query."""
    candidates = Candidate.objects.filter(query__in=queries).order_by("query", "rank")
    grades: dict[Part, list[int | None]] = defaultdict(list)
    deepest: dict[int, int] = {}
    columns = candidates.values_list("query_id", "batch__number", "rank", "similarity", "outcome", "grade")
    for query, number, rank, similarity, outcome, grade in columns:
        deepest[query] = rank if similarity is not None else deepest.get(query, 0)
        if number is not None:
            grades[query, number].append(grade if outcome == Candidate.Outcome.SETTLED else None)
    return grades, deepest


def _waiting(queries: set[int]) -> dict[Part, int]:
    """Return for each batch the number of flagged candidates with a flag that no lead has handled."""
    flagged = Candidate.Outcome.FLAGGED
    flags = Flag.objects.filter(candidate__query__in=queries, candidate__outcome=flagged, handled=None)
    parts = flags.order_by().values_list("candidate__query", "candidate__batch__number")
    return {(query, number): n for query, number, n in parts.annotate(Count("candidate", distinct=True))}


def _possible(batch: Batch, second_there: bool, deepest: int) -> tuple[str, ...]:
    campaign = batch.query.campaign
    if batch.number != 1 or campaign.batches < 2 or deepest <= campaign.batch_size:
        return (CLOSE,)
    return (SECOND,) if second_there else (SECOND, CLOSE)


def _recommend(
    batch: Batch, mean: float | None, possible: tuple[str, ...], second_there: bool, waiting: int
) -> Recommendation:
    if waiting:
        flags = "flagged candidate waits" if waiting == 1 else "flagged candidates wait"
        return Recommendation(mean, None, f"{waiting} {flags} for your word first", possible)
    if batch.further:
        reason = f"nothing is opened after moments that runs found: {WORDS[CLOSE]}"
        return Recommendation(mean, CLOSE, reason, possible)
    if mean is None:
        return Recommendation(mean, None, "none of the last five has a final grade: decide by hand", possible)
    threshold = batch.query.campaign.second_from
    wanted = SECOND if mean >= threshold else CLOSE
    verdict = wanted if wanted in possible else possible[0]
    but = ""
    if verdict == SECOND and second_there:
        but = ", and the second batch is there already"
    elif verdict != wanted:
        but = ", but a third batch is never opened" if batch.number > 1 else ", but no more candidates are ranked"
    sign = "≥" if wanted == SECOND else "<"
    comparison = f"last five mean {format_mean(mean)} {sign} {format_mean(threshold)}"
    reason = f"{comparison}{but}: {WORDS[Review.Verdict(verdict)]}"
    return Recommendation(mean, verdict, reason, possible)


def format_mean(value: float) -> str:
    """Return the value with one or two decimals.

    >>> format_mean(2.0), format_mean(2.75), format_mean(7 / 3)
    ('2.0', '2.75', '2.33')
    """
    text = f"{value:.2f}"
    return text.removesuffix("0")
