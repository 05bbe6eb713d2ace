"""The queries of a release with what some runs score on them, the most telling first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.http import urlencode
from numpy.typing import NDArray

from base.errors import BadValue
from base.text import abbreviated
from campaigns.models import Campaign, Membership
from metrics import CONVENTIONS, Convention, Measure
from metrics.measures.explain import can_explain
from runs import access
from runs.board.options import known_measures
from runs.measures import HEADLINE, NAMES, USUAL, measures_of
from runs.models import Run, Score, ScoringReference
from runs.tables import unpacked_values

Values = NDArray[np.float32]
EXPLAINED = [name for name in NAMES if any(map(can_explain, measures_of(name)))]
MOST_RUNS = 4  # beside each other


@dataclass(frozen=True)
class ScoredQuery:
    """A query with the value of each run; None where the query does not count for the run."""

    query: str
    values: tuple[float | None, ...]

    @property
    def value(self) -> float | None:
        """The value of the run that the page is about."""
        return self.values[0]

    @property
    def other(self) -> float | None:
        """The value of the first run beside it."""
        return self.values[1] if len(self.values) > 1 else None

    @property
    def difference(self) -> float | None:
        """The value less that of the other run; of more runs, the highest value less the lowest."""
        known = [value for value in self.values if value is not None]
        if len(self.values) < 2 or len(known) < len(self.values):
            return None
        return known[0] - known[1] if len(known) == 2 else max(known) - min(known)

    @property
    def marked(self) -> list[tuple[float | None, str]]:
        """The values, each with `high` or `low` if it is the highest or the lowest of several that differ."""
        ends = dict[float | None, str]()
        if self.difference:
            known = [value for value in self.values if value is not None]
            ends = {min(known): "low", max(known): "high"}
        return [(value, ends.get(value, "")) for value in self.values]


def scored_queries(options: ExplanationOptions) -> list[ScoredQuery] | None:
    """Return a line for each query that counts for the run: the lowest value first, or the largest difference.

    It is None if the convention gives one of the runs no score.
    """
    found = values_of(options)
    columns = [found.get((run.pk, options.convention.name)) for run in options.runs]
    if any(column is None for column in columns):
        return None
    numbers = [[None if np.isnan(v) else float(v) for v in column] for column in columns if column is not None]
    queries = [query for query, *_ in options.reference.queries]
    lines = [ScoredQuery(query, tuple(values)) for query, *values in zip(queries, *numbers, strict=True)]
    counted = [line for line in lines if None not in line.values]
    return sorted(counted, key=lambda line: -abs(line.difference or 0.0) if options.others else line.value or 0.0)


def values_of(options: ExplanationOptions) -> dict[tuple[int, str], Values]:
    """Return the values of all queries by the measure, by run and convention."""
    scores = Score.objects.filter(
        scoring__run__in=options.runs, scoring__release=options.reference.release, measure=str(options.measure)
    ).select_related("scoring")
    return {(score.scoring.run_id, score.convention): unpacked_values(score.values) for score in scores}


def texts_of(campaign: Campaign, lines: Iterable[ScoredQuery]) -> dict[str, str]:
    """Return the texts of the lines' queries, by their ids in runs."""
    ids = [line.query for line in lines]
    return dict(campaign.queries.pool().filter(query_id__in=ids).values_list("query_id", "text"))


def address_of(options: ExplanationOptions, query: str) -> str:
    """Return the address of the page that explains a query."""
    where = reverse("explain", args=[options.run.campaign.name])
    return f"{where}?{options.address(query=query)}"


def largest_loss(lines: Sequence[ScoredQuery]) -> ScoredQuery | None:
    """Return the query on which the run is most behind the others; alone, the one with its lowest value."""

    def gain(line: ScoredQuery) -> float:
        own, *others = [value or 0.0 for value in line.values]
        return own - max(others, default=0.0)

    return min(lines, key=gain, default=None)


@dataclass(frozen=True)
class ExplanationOptions:
    """A run and perhaps others beside it, on a release, by a measure under a convention."""

    run: Run
    others: tuple[Run, ...]
    reference: ScoringReference
    convention: Convention
    measure: Measure

    @property
    def runs(self) -> list[Run]:
        return [self.run, *self.others]

    @property
    def measures(self) -> list[Measure]:
        return explained_measures(self.convention.name, self.reference)

    def beside(self, other: Run) -> ExplanationOptions:
        """Return the same about the run and one other."""
        return replace(self, others=(other,))

    def address(self, **other: Any) -> str:
        """Return the query of the address of these options, with some others; None leaves a field out."""
        same: dict[str, Any] = {
            "release": self.reference.release.version,
            "convention": self.convention.name,
            "measure": str(self.measure),
            "run": [run.number for run in self.runs],
        }
        return urlencode({key: value for key, value in (same | other).items() if value is not None}, doseq=True)


def explanation_options(
    member: Membership,
    number: int,
    release: int | None = None,
    convention: str = "",
    measure: str = "",
    against: Sequence[int] = (),
) -> ExplanationOptions | None:
    """Return which runs are explained on which release, by default the newest; None if the run is not scored yet.

    Raise BadValue for other runs that cannot be explained together with this one, or an unknown measure.
    """
    run = access.run(member, number)
    others = _others(member, run, against)
    scored = ScoringReference.objects.filter(release__scorings__run=run).select_related("release")
    newest = scored.order_by("release__version").last()
    reference = newest if release is None else get_object_or_404(scored, release__version=release)
    if reference is None:
        return None
    known = explained_measures(convention or USUAL, reference)
    by_name = {str(measure): measure for measure in known}
    if measure and measure not in by_name:
        raise BadValue("measure", abbreviated(measure), f"one of {', '.join(by_name)}")
    chosen = by_name[measure] if measure else by_name.get(HEADLINE, known[0])
    return ExplanationOptions(run, others, reference, CONVENTIONS[convention or USUAL], chosen)


def _others(member: Membership, run: Run, numbers: Sequence[int]) -> tuple[Run, ...]:
    if len({run.number, *numbers}) != 1 + len(numbers):
        raise BadValue("against", ", ".join(map(str, numbers)), "the numbers of other runs, each once")
    if len(numbers) >= MOST_RUNS:
        raise BadValue("against", f"{len(numbers)} runs", f"at most {MOST_RUNS - 1}")
    return tuple(access.run(member, number) for number in numbers)


def explained_measures(convention: str, reference: ScoringReference) -> list[Measure]:
    """Return the measures by which runs are scored under a convention, and that can be explained rank by rank."""
    return [measure for measure in known_measures(convention, reference) if can_explain(measure)]
