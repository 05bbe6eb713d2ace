"""What scoring returns: values of each query, and the one number that is printed of them."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from html import escape
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..formats.arrays import Floats, Ints, data_frame
from ..formats.errors import MeasureError
from .conventions import Convention
from .definitions import parse_measure
from .measure import Measure, Names

Value = TypeVar("Value")


class QueryValue(NamedTuple):
    """One measure's value on one query."""

    query: str
    measure: Measure
    value: float


class ByMeasure(dict[Any, Value]):
    """A dict from measures, which can also be asked by a measure's text in any spelling.

    >>> from reeljudge import AxIoU
    >>> found = ByMeasure({AxIoU @ 5: 0.8})
    >>> found["AxIoU@5"], found["axiou @ 5"], found.get("AxIoU@1")
    (0.8, 0.8, None)
    """

    def __missing__(self, measure: object) -> Value:
        with suppress(MeasureError):
            parsed = parse_measure(measure)
            if parsed in self:
                return self[parsed]
        raise KeyError(f"{measure} is not among the measures {', '.join(map(str, self))}")

    def get(self, measure: object, default: Any = None) -> Any:
        """The value of a measure, or a default."""
        try:
            return self[measure]
        except KeyError:
            return default


@dataclass(frozen=True, eq=False, repr=False)
class Scores:
    """The scores of one run under one convention: aggregates, values of each query, and data frames.

    Indexing it by a measure, or by a measure's text in any spelling, gives the aggregate.

    Attributes
    ----------
    convention, run
        The convention, and the name of the run.
    queries
        All judged queries.
    measures
        The measures, in the order asked for.
    values
        For each measure, floats of shape (queries, thresholds); NaN where a query is left out of it.
    unjudged
        Queries of the run that nobody judged, and that were left out.
    warnings
        What makes one doubt that the run is right, such as judged queries that it lacks.
    groups
        For each measure, int64 of shape (queries,) if its aggregate is the mean of the means of these groups, or None.

    See Also
    --------
    calc : Makes it.

    Examples
    --------
    >>> from reeljudge import AxIoU, calc, nDCG_IoU
    >>> qrels = {"1": [("a", 0, 10, 4)], "2": [("a", 0, 10, 0)]}
    >>> run = {"1": [("a", 0, 8, 0.9)], "2": [("a", 0, 10, 0.8)]}
    >>> scores = calc([nDCG_IoU(iou=0.5) @ 20, AxIoU @ 1], qrels, run)
    >>> scores["nDCG_IoU(iou=0.5)@20"], scores[AxIoU @ 1], scores.get("mIoU")
    (1.0, 0.8, None)

    Query 2 has nothing relevant, and does not count:

    >>> scores.per_query(), scores.left_out()
    ({'1': {nDCG_IoU(iou=0.5)@20: 1.0, AxIoU@1: 0.8}}, 1)
    """

    convention: Convention
    run: str
    queries: tuple[str, ...]
    measures: tuple[Measure, ...]
    values: tuple[Floats, ...]
    unjudged: tuple[str, ...] = ()
    groups: tuple[Ints | None, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Name of the run."""
        return self.run

    def __repr__(self) -> str:
        return (
            f"<Scores of {self.run!r}: {_many(len(self.measures), 'measure', 'measures')}, "
            f"{_many(len(self.queries), 'judged query', 'judged queries')}, "
            f"convention {self.convention.name}>"
        )

    def _repr_html_(self) -> str:
        """The aggregates as a table, for notebooks."""
        rows = "".join(
            f"<tr><td>{escape(str(measure))}</td><td>{'–' if value is None else format(value, '.4f')}</td></tr>"
            for measure, value in self.aggregate().items()
        )
        title = f"{self.run}, convention {self.convention.name}"
        return f"<table><caption>{escape(title)}</caption><tbody>{rows}</tbody></table>"

    def __getitem__(self, measure: str | Measure) -> float | None:
        return self.aggregate()[measure]

    def get(self, measure: str | Measure, default: float | None = None) -> float | None:
        """The aggregate of a measure, or a default if it is not among the measures."""
        found: float | None = self.aggregate().get(measure, default)
        return found

    def aggregate(self) -> ByMeasure[float | None]:
        """Aggregate of each measure over the queries that count; None where no query does."""
        groups = self.groups or (None,) * len(self.measures)
        return ByMeasure(
            (measure, aggregate(measure, values, self.convention, of))
            for measure, values, of in zip(self.measures, self.values, groups, strict=True)
        )

    def per_query(self) -> dict[str, dict[Any, float]]:
        """Values of each query that counts in at least one measure, on the scale of the aggregates."""
        rows = zip(self.queries, np.stack(self.columns(), axis=1).tolist(), strict=True)
        kept = {
            query: ByMeasure((m, value) for m, value in zip(self.measures, row, strict=True) if value == value)
            for query, row in rows
        }
        return {query: values for query, values in kept.items() if values}

    def to_frame(self, names: Names = "grammar") -> Any:
        """A pandas data frame with a row for each judged query and a column for each measure.

        Values are on the scale of the aggregates; NaN where a query does not count.

        Parameters
        ----------
        names : {"grammar", "paper"}, default "grammar"
            Whether measures are named in the grammar, or as the convention's evaluator or a paper names them.

        Raises
        ------
        MeasureError
            Where pandas is not installed, and for other names.
        """
        columns = zip((m.named(self.convention.name, names) for m in self.measures), self.columns(), strict=True)
        return data_frame(dict(columns), index=("query_id", self.queries))

    def table(self) -> Floats:
        """Values of shape (queries, measures), thresholds averaged, NaN where a query is left out."""
        return np.stack([values.mean(axis=1) for values in self.values], axis=1)

    def left_out(self) -> int:
        """Number of judged queries that count in no measure."""
        return int(np.isnan(self.table()).all(axis=1).sum())

    def columns(self) -> list[Floats]:
        """Values of each query on the scale of the aggregates, for each measure: shape (queries,)."""
        return [reported(m, v, self.convention) for m, v in zip(self.measures, self.values, strict=True)]


def _many(number: int, one: str, more: str) -> str:
    return f"{number} {one if number == 1 else more}"


def listed(scores: object) -> list[Scores]:
    """Scores of several runs, as `scores_of` returns them, or in a list; anything else is an error."""
    items = list(scores.values()) if isinstance(scores, Mapping) else scores
    items = items if isinstance(items, Sequence) else [scores]
    for item in items:
        if not isinstance(item, Scores) or item is scores:
            raise MeasureError(f"scores are needed, as `scores_of` returns them, not a {type(item).__name__}")
    return list(items)


def must_be_means(measures: Sequence[Measure]) -> None:
    """Raise MeasureError for a measure whose aggregate is something else than the mean of the queries' values."""
    if odd := [measure for measure in measures if measure.definition.aggregate != "mean"]:
        raise MeasureError(f"measure {odd[0]} is not a mean over queries; choose measures that are")


def aggregate(measure: Measure, values: Floats, convention: Convention, groups: Ints | None = None) -> float | None:
    """Aggregate of values of shape (queries, thresholds) over the queries that are not NaN.

    The queries are aggregated for each threshold, then the thresholds averaged. None when no query counts,
    or one alone where a standard deviation is asked for.

    groups: int64 of shape (queries,); the aggregate is then the mean of the means of these groups.
    """
    counts = ~np.isnan(values).any(axis=1)
    counted = values[counts]
    kind, report = measure.definition.aggregate, convention.options(measure.definition.family).report
    if len(counted) < (2 if kind == "std" else 1):
        return None
    if groups is not None:
        counted = np.array([counted[groups[counts] == group].mean(axis=0) for group in np.unique(groups[counts])])
    numbers = AGGREGATES[kind](counted)
    if report == "float32":  # the published code computes its aggregates in float32
        numbers = numbers.astype(np.float32).astype(np.float64)
    if report == "percent-steps":
        return round(float(np.mean([float(f"{100 * each:.2f}") for each in numbers.tolist()])), 2)
    number = float(np.mean(numbers))
    if not measure.definition.share:
        return number
    if report == "percent":
        return float(np.round(np.float64(number) * 100, 2))
    return float(f"{100 * number:.2f}") if report == "percent-text" else number


def reported(measure: Measure, values: Floats, convention: Convention) -> Floats:
    """Values per query on the scale of the aggregate, thresholds averaged: shape (queries,)."""
    per_query: Floats = values.mean(axis=1) * scale_of(measure, convention)
    return per_query


def scale_of(measure: Measure, convention: Convention) -> int:
    """What a perfect share is on the scale of the aggregate: 100 where the convention writes it in per cent, or 1."""
    percent = convention.options(measure.definition.family).report.startswith("percent")
    return 100 if percent and measure.definition.share else 1


def _lower_median(values: Floats) -> Floats:
    """The lower of the two middle values for an even number.

    >>> _lower_median(np.array([[4.0], [1.0], [3.0], [2.0]])).tolist()
    [2.0]
    """
    middle: Floats = np.sort(values, axis=0)[(len(values) - 1) // 2]
    return middle


def _f1(share: Floats) -> Floats:
    """F1 from TP / (TP + FN + FP).

    >>> _f1(np.array([0.5])).round(4).tolist()
    [0.6667]
    """
    return np.asarray(2 * share / (1 + share))


AGGREGATES: dict[str, Callable[[Floats], Floats]] = {
    "mean": lambda values: np.asarray(np.mean(values, axis=0)),
    "median": _lower_median,
    "std": lambda values: np.asarray(np.std(values, axis=0, ddof=1)),
    "f1": lambda values: _f1(np.mean(values, axis=0)),
}
