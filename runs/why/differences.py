"""The queries of a release with what each run scores on them, those that tell most first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.http import Http404, HttpResponse
from django.urls import reverse
from numpy.typing import NDArray

from base.errors import BadValue
from campaigns.models import Campaign
from reports.figures.files import figure_file
from runs.models import Score
from runs.tables import unpacked_values
from runs.why.choices import Choices

Values = NDArray[np.float32]


@dataclass(frozen=True)
class Line:
    """A query with its value; beside another run, with that one's value and the difference."""

    query: str
    value: float | None
    other: float | None = None

    @property
    def difference(self) -> float | None:
        return None if self.value is None or self.other is None else self.value - self.other


def lines_of(choices: Choices) -> list[Line] | None:
    """Return a line for each query that counts for the run: the lowest value first, or the largest difference.

    It is None if the convention gives one of the runs no score.
    """
    found = values_of(choices)
    columns = [found.get((run.pk, choices.convention.name)) for run in choices.runs]
    if any(column is None for column in columns):
        return None
    numbers = [[None if np.isnan(v) else float(v) for v in column] for column in columns if column is not None]
    queries = [query for query, *_ in choices.yardstick.queries]
    lines = [Line(query, *values) for query, *values in zip(queries, *numbers, strict=True)]
    counted = [line for line in lines if line.value is not None and (not choices.other or line.other is not None)]
    return sorted(counted, key=_by_difference if choices.other else _by_value)


def _by_value(line: Line) -> float:
    return line.value or 0.0


def _by_difference(line: Line) -> float:
    return -abs(line.difference or 0.0)


def values_of(choices: Choices) -> dict[tuple[int, str], Values]:
    """Return the values of all queries by the measure, by run and convention."""
    scores = Score.objects.filter(
        scoring__run__in=choices.runs, scoring__release=choices.yardstick.release, measure=str(choices.measure)
    ).select_related("scoring")
    return {(score.scoring.run_id, score.convention): unpacked_values(score.values) for score in scores}


def texts_of(campaign: Campaign, lines: Iterable[Line]) -> dict[str, str]:
    """Return the texts of the lines' queries, by their ids in runs."""
    ids = [line.query for line in lines]
    return dict(campaign.queries.pool().filter(query_id__in=ids).values_list("query_id", "text"))


def address_of(choices: Choices, query: str) -> str:
    """Return the address of the page of a query that asks the same."""
    where = reverse("run-query", args=[choices.run.campaign.name, choices.run.number])
    return f"{where}?{choices.address(query=query)}"


def scatter_file(choices: Choices | None, params: Mapping[str, str], kind: str) -> HttpResponse:
    """Answer with the figure of two runs, a point for each query; not found if one of them has no scores.

    Raises
    ------
    BadValue
        If no other run is named.
    """
    if not params.get("against"):
        raise BadValue("against", "empty", "the number of another run")
    lines = lines_of(choices) if choices else None
    if choices is None or choices.other is None or lines is None:
        raise Http404
    points, other, number = _points(choices, lines), choices.other, choices.run.number
    rows = [{key: point[key] for key in ("query", "text", "x", "y")} for point in points]

    def specify() -> dict[str, Any]:
        from runs.why.drawing import specification

        return specification(points, choices.run.name, other.name, choices.measure.spelling)

    return figure_file(kind, rows, specify, f"{choices.run.campaign.name}-runs-{number}-{other.number}")


def _points(choices: Choices, lines: list[Line]) -> list[dict[str, Any]]:
    texts = dict(choices.run.campaign.queries.pool().values_list("query_id", "text"))
    return [
        {
            "query": line.query,
            "text": texts.get(line.query, ""),
            "x": line.value,
            "y": line.other,
            "address": address_of(choices, line.query),
        }
        for line in lines
    ]
