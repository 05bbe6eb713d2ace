"""The queries of a release with what each run scores on them, those that tell most first."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from runs.models import Score
from runs.tables import unpacked_values
from runs.why.asked import Asked

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


def lines_of(asked: Asked) -> list[Line] | None:
    """Return a line for each query that counts for the run: the lowest value first, or the largest difference.

    It is None if the convention gives one of the runs no score.
    """
    found = values_of(asked)
    columns = [found.get((run.pk, asked.convention.name)) for run in asked.runs]
    if any(column is None for column in columns):
        return None
    numbers = [
        [None if np.isnan(v) else float(v) for v in column] for column in columns if column is not None
    ]
    queries = [query for query, *_ in asked.yardstick.queries]
    lines = [Line(query, *values) for query, *values in zip(queries, *numbers, strict=True)]
    counted = [
        line for line in lines if line.value is not None and (not asked.other or line.other is not None)
    ]
    return sorted(counted, key=_by_difference if asked.other else _by_value)


def _by_value(line: Line) -> float:
    return line.value or 0.0


def _by_difference(line: Line) -> float:
    return -abs(line.difference or 0.0)


def values_of(asked: Asked) -> dict[tuple[int, str], Values]:
    """Return the values of all queries by the measure, by run and convention."""
    scores = Score.objects.filter(
        scoring__run__in=asked.runs, scoring__release=asked.yardstick.release, measure=str(asked.measure)
    ).select_related("scoring")
    return {(score.scoring.run_id, score.convention): unpacked_values(score.values) for score in scores}
