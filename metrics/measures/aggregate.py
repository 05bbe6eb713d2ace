"""From values per query to the one number that is printed."""

from collections.abc import Callable

import numpy as np

from ..formats.arrays import Floats
from .conventions import Convention
from .measure import Measure


def aggregate(measure: Measure, values: Floats, convention: Convention) -> float | None:
    """Aggregate of values of shape (queries, thresholds) over the queries that are not NaN.

    The queries are aggregated for each threshold, then the thresholds averaged. None when no query counts,
    or one alone where a standard deviation is asked for.
    """
    counted = values[~np.isnan(values).any(axis=1)]
    kind, report = measure.definition.aggregate, convention.options(measure.definition.family).report
    if len(counted) < (2 if kind == "std" else 1):
        return None
    numbers = AGGREGATES[kind](counted)
    if report == "float32":  # the published code computes its aggregates in float32
        numbers = numbers.astype(np.float32).astype(np.float64)
    number = float(np.mean(numbers))
    if not measure.definition.share:
        return number
    if report == "percent":
        return float(np.round(np.float64(number) * 100, 2))
    return float(f"{100 * number:.2f}") if report == "percent-text" else number


def reported(measure: Measure, values: Floats, convention: Convention) -> Floats:
    """Values per query on the scale of the aggregate, thresholds averaged: shape (queries,)."""
    percent = convention.options(measure.definition.family).report.startswith("percent")
    scale = 100 if percent and measure.definition.share else 1
    per_query: Floats = values.mean(axis=1) * scale
    return per_query


def _lower_median(values: Floats) -> Floats:
    """The lower of the two middle values for an even number.

    >>> _lower_median(np.array([[4.0], [1.0], [3.0], [2.0]])).tolist()
    [2.0]
    """
    middle: Floats = np.sort(values, axis=0)[(len(values) - 1) // 2]
    return middle


AGGREGATES: dict[str, Callable[[Floats], Floats]] = {
    "mean": lambda values: np.asarray(np.mean(values, axis=0)),
    "median": _lower_median,
    "std": lambda values: np.asarray(np.std(values, axis=0, ddof=1)),
}
