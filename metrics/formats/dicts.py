"""Qrels and runs from dicts: of lists by query, or by moment id as trec_eval's wrappers take them."""

import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import ANY_GRADE, HIGHEST_GRADE
from .arrays import Floats, Ints, order_ties
from .checks import Checks
from .columns import MOMENT, PREDICTION, VIDEO, Columns, Kind, by_id, by_id_of_frame, first_of
from .errors import MeasureError, MeasureWarning, Place, show
from .json_files import no_collecting
from .lists import columns_of, one_by_one
from .moment_ids import moment_of, parse_moment_id
from .tables import Qrels, Run

Lists = Mapping[Any, Iterable[Any]]
Times = Mapping[str, tuple[str, float, float]]
ById = Mapping[Any, Mapping[str, Any]]


def run_from_dict(predictions: Lists, name: str = "run", lenient: bool | None = None) -> Run:
    """A run from lists of predictions by query.

    Parameters
    ----------
    predictions : dict
        ``{query: [(video, start, end, score), …]}``, in rank order; times in seconds.
    name : str, default "run"
        Name of the run.
    lenient : bool, default None
        See `read_run`.

    Returns
    -------
    Run

    Raises
    ------
    MeasureError
        Naming query, prediction and field of the first mistake.

    See Also
    --------
    as_run : Takes dicts of any kind, and files and data frames.

    Examples
    --------
    A prediction that stands twice is counted, or an error:

    >>> twice = {"1": [("a", 0, 10, 0.9), ("a", 0, 10, 0.8)]}
    >>> run_from_dict(twice).scores.tolist()
    [0.9, 0.8]
    >>> run_from_dict(twice, lenient=False)  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    MeasureError: run: query '1', prediction 2: moment 'a@0-10000' stands twice in its query
    """
    return Run.build(_columns(predictions, name, PREDICTION), name, Checks(lenient))


def qrels_from_dict(moments: Lists, lenient: bool | None = None, highest: int = HIGHEST_GRADE) -> Qrels:
    """Qrels from lists of moments by query.

    Parameters
    ----------
    moments : dict
        ``{query: [(video, start, end, grade), …]}``; times in seconds.
    lenient : bool, default None
        See `read_qrels`.
    highest : int, default 4
        The highest grade of the scale.

    Returns
    -------
    Qrels

    Raises
    ------
    MeasureError
        Naming query, moment and field of the first mistake.

    See Also
    --------
    as_qrels : Takes dicts of any kind, and files and data frames.

    Examples
    --------
    >>> qrels_from_dict({"1": [("a", 0, 10, 7)]}, highest=10).grades.tolist()
    [7]
    """
    return Qrels.build(_columns(moments, "qrels", MOMENT), Checks(lenient, highest))


def _columns(found: Lists, source: str, kind: Kind) -> Columns:
    if not isinstance(found, Mapping):
        raise MeasureError(f"{source}: is {show(found)}; it must be a dict from query to a list of {kind.row}s")
    lists = {query: _list(source, query, items, kind) for query, items in found.items()}
    with no_collecting():
        columns = columns_of(lists, source, kind)
    return columns or one_by_one(lists, source, kind, lambda place, item: _item(place, item, kind))


def _list(source: str, query: Any, items: Any, kind: Kind) -> list[Any]:
    if isinstance(items, Iterable) and not isinstance(items, str):
        return items if isinstance(items, list) else list(items)
    raise Place(source, f"query {str(query)!r}").fail(f"is {show(items)}; it must be a list of {kind.row}s")


def _item(place: Place, item: Any, kind: Kind) -> tuple[Any, Any, Any, Any]:
    """Video, start, end and value of a tuple or list of four, or of an object."""
    if isinstance(item, Mapping):
        value = next((item[name] for name in kind.fields if name in item), None)
        try:
            start, end = item["timestamp"]
            return item[first_of(item, VIDEO)], start, end, value
        except (KeyError, TypeError, ValueError) as problem:
            raise place.fail(f"needs video_name and timestamp [start, end]; wrong: {problem}") from None
    if not isinstance(item, tuple | list) or len(item) != 4:
        raise place.fail(f"must be (video, start, end, {kind.word}) or an object with those fields")
    return tuple(item)


def in_hand(source: Any, name: str, kind: Kind) -> Any:
    """A mapping from queries to mappings from moment ids, of a frame with a column of ids and none of times, or of
    records as ir_measures has them; a frame that is not read yet is collected, and anything else is returned as it is.
    """
    if isinstance(source, Mapping | str):
        return source
    if hasattr(source, "collect"):  # a LazyFrame
        source = source.collect()
    if hasattr(source, "columns") or hasattr(source, "column_names"):
        found = by_id_of_frame(source, name, kind)
        return source if found is None else found
    records = list(source) if isinstance(source, Iterable) else []
    return by_id(_fields_of(records, name, kind)) if records and hasattr(records[0], "doc_id") else source


def _fields_of(records: list[Any], name: str, kind: Kind) -> Iterator[tuple[Place, Any, Any, Any]]:
    """Place, query, moment id and value of ir_measures' records."""
    fields = ("query_id", "doc_id", kind.word)
    for n, record in enumerate(records, 1):
        place = Place(name, f"record {n}")
        if not all(hasattr(record, field) for field in fields):
            raise place.fail(f"is {show(record)}; it must have {', '.join(fields)}, as ir_measures' records have")
        query, moment, value = (getattr(record, field) for field in fields)
        yield place, query, moment, value


def is_by_id(source: object) -> bool:
    """Whether a source is a mapping from queries to mappings from moment ids."""
    return isinstance(source, Mapping) and isinstance(next(iter(source.values()), None), Mapping)


def _by_query(source: ById, kind: str, value: str, name: str) -> dict[str, Mapping[str, Any]]:
    """The mappings from moment ids by query, at least one; anything else among them is an error."""
    if not source:
        raise MeasureError(f"{name}: the {kind} {'is' if kind == 'run' else 'are'} empty: at least one query is needed")
    for query, held in source.items():
        if not isinstance(held, Mapping):
            raise MeasureError(
                f"{name}: query {str(query)!r} is {show(held)}; it must be {{moment id: {value}}}, as the first one"
            )
    return {str(query): held for query, held in source.items()}


def _from_zero(grades: dict[str, Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """The grades with 0 for those below 0, and a warning of these."""
    below = [(query, moment) for query, held in grades.items() for moment, g in held.items() if _is_below_zero(g)]
    if not below:
        return grades
    counted = "1 grade below 0 counts" if len(below) == 1 else f"{len(below):,} grades below 0 count"
    first = "query {!r}, moment {!r}".format(*below[0])
    warnings.warn(f"qrels: {counted} as 0, as in trec_eval (the first: {first})", MeasureWarning, stacklevel=4)
    changed = {query: dict(held) for query, held in grades.items()}
    for query, moment in below:
        changed[query][moment] = 0
    return dict(changed)


def _is_below_zero(grade: Any) -> bool:
    return isinstance(grade, int | float | np.number) and bool(grade < 0)


class IdQrels:
    """Grades of moments by query and moment id.

    lenient, highest: as in `read_qrels`.
    Raises MeasureError for empty qrels, and for a grade that is not an integer up to `highest`. Grades below 0 count as
    0, as in trec_eval, with a warning.
    """

    def __init__(self, source: ById, lenient: bool | None = None, highest: int = HIGHEST_GRADE) -> None:
        self.lenient, self.highest = bool(lenient), ANY_GRADE if lenient else highest
        self.grades = _from_zero(_by_query(source, "qrels", "grade", "qrels"))
        self.queries = tuple(self.grades)
        self._grade = self._read_grades()

    def _read_grades(self) -> Ints:
        values = list(chain.from_iterable(held.values() for held in self.grades.values()))
        if set(map(type, values)) <= {int} and 0 <= min(values, default=0) <= max(values, default=0) <= self.highest:
            return np.array(values, dtype=np.int64)
        for query, held in self.grades.items():
            for moment, grade in held.items():
                if isinstance(grade, bool) or not _is_grade(grade, self.highest):
                    raise MeasureError(
                        f"qrels: query {query!r}, moment {moment!r}: grade is {show(grade)}; "
                        f"it must be an integer from 0 to {self.highest}"
                    )
        return np.array(values, dtype=np.int64)

    def columns(self) -> tuple[Ints, Ints]:
        """Number of the query and grade of every moment: two arrays of shape (moments,)."""
        sizes = [len(held) for held in self.grades.values()]
        return np.repeat(np.arange(len(sizes), dtype=np.int64), sizes), self._grade

    @cached_property
    def table(self) -> Qrels:
        """The same as spans; raises MeasureError for an id that does not say its times."""
        spans = {
            query: [(*parse_moment_id(moment, f"qrels: query {query!r}"), grade) for moment, grade in held.items()]
            for query, held in self.grades.items()
        }
        table = qrels_from_dict(spans, lenient=self.lenient, highest=self.highest)
        return replace(table, ids=tuple(chain.from_iterable(self.grades.values())))


class IdRun:
    """Scores of moments by query and moment id.

    lenient: as in `read_run`. times: video, start and end of ids that do not say them.
    Raises MeasureError for an empty run, and for a score that is not a finite number.
    """

    def __init__(
        self, source: ById, lenient: bool | None = None, name: str = "run", times: Times | None = None
    ) -> None:
        self.lenient, self.name, self.times = bool(lenient), name, times or {}
        self.rising: tuple[str, ...] = ()  # as in `Run`
        self.lists = _by_query(source, "run", "score", name)
        self.queries = tuple(self.lists)
        self.durations: Mapping[str, float] = {}
        self._sizes = np.array([len(found) for found in self.lists.values()], dtype=np.int64)
        self._ids = list(chain.from_iterable(self.lists.values()))
        self._scores = self._read_scores()

    def by_score(self) -> "IdRun":
        """The run itself, which is ranked by its scores."""
        return self

    def _read_scores(self) -> Floats:
        values = chain.from_iterable(found.values() for found in self.lists.values())
        try:
            scores = np.fromiter(values, np.float64, len(self._ids))
        except (TypeError, ValueError, OverflowError):
            scores = np.full(1, np.nan)
        if np.isfinite(scores).all():
            return scores
        pairs = ((query, moment) for query, found in self.lists.items() for moment in found)
        query, moment = next(pair for pair in pairs if not _is_number(self.lists[pair[0]][pair[1]]))
        raise MeasureError(
            f"{self.name}: query {query!r}, moment {moment!r}: score is "
            f"{show(self.lists[query][moment])}; it must be a finite number"
        )

    def ranked(self, depth: int) -> tuple[Ints, list[str]]:
        """The moments of every query as trec_eval ranks them: by score in float32, highest first; ties by id,
        descending.

        depth: number of moments of each query; 0 for all.
        Returns number of moments of each query, int64 of shape (queries,), and the ids, one query after the other.
        """
        unit = np.repeat(np.arange(self._sizes.size, dtype=np.int64), self._sizes)
        with np.errstate(over="ignore"):
            scores = self._scores.astype(np.float32)
        order = order_ties(_sorted_by_query(-scores, self._sizes), scores, unit, self._ids.__getitem__)
        rank = np.arange(unit.size) - np.repeat(np.cumsum(self._sizes) - self._sizes, self._sizes)
        kept = order[rank < depth] if depth else order
        sizes = np.minimum(self._sizes, depth) if depth else self._sizes
        return sizes, [self._ids[row] for row in kept.tolist()]

    @cached_property
    def table(self) -> Run:
        """The same as spans, in rank order; raises MeasureError for an id that does not say its times."""
        sizes, ids = self.ranked(0)
        ends = np.cumsum(sizes).tolist()
        spans = {}
        for query, low, high in zip(self.queries, [0, *ends[:-1]], ends, strict=True):
            where, found = f"{self.name}: query {query!r}", self.lists[query]
            spans[query] = [(*moment_of(id, self.times, where), float(found[id])) for id in ids[low:high]]
        return run_from_dict(spans, self.name, self.lenient)


def _is_grade(value: Any, highest: int) -> bool:
    try:
        return bool(int(value) == value and 0 <= value <= highest)
    except (TypeError, ValueError, OverflowError):
        return False


def _is_number(value: Any) -> bool:
    try:
        return abs(float(value)) < float("inf")
    except (TypeError, ValueError, OverflowError):
        return False


def _sorted_by_query(keys: NDArray[np.float32], sizes: Ints) -> Ints:
    """Rows that sort the keys of each query in ascending order; `sizes` says how many keys each query has."""
    width = int(sizes.max(initial=0))
    if sizes.size * width > 4 * keys.size + 1_000_000:  # a few lists are much longer than the others
        return np.lexsort((keys, np.repeat(np.arange(sizes.size), sizes))).astype(np.int64)
    there = np.arange(width) < sizes[:, None]
    table = np.full(there.shape, np.inf, dtype=np.float32)
    table[there] = keys
    rows = np.argsort(table, axis=1, kind="stable") + (np.cumsum(sizes) - sizes)[:, None]
    return np.asarray(rows[there], dtype=np.int64)
