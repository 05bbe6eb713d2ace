"""Qrels and runs from whatever a researcher has in hand: a file, a dict, or a data frame."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from .bulk import columns_of_objects
from .by_id import IdQrels, IdRun, is_by_id
from .checks import HIGHEST_GRADE, Checks
from .columns import Columns
from .errors import MeasureError
from .read_qrels import read_qrels
from .read_runs import read_run
from .rows import GRADE, SCORE, Rows
from .tables import Qrels, Run, qrels_from_dict, run_from_dict

GRADES, SCORES = ("relevance", "grade"), ("score", "model_scores")
RUN = "run"  # the name of a run that comes from no file


def as_qrels(source: Any, lenient: bool | None = None, highest: int = HIGHEST_GRADE) -> Qrels:
    """Qrels from qrels, a path, a dict or a data frame.

    Parameters
    ----------
    source
        A dict is ``{query: [(video, start, end, grade), …]}``, TVR-Ranking's ``{query: [{"video_name",
        "timestamp", "relevance"}, …]}``, or by moment id ``{query: {"video@startms-endms": grade}}``. A frame
        (pandas, polars) has the columns query_id, video_name, start, end (seconds) and relevance.
    lenient, highest
        As in `read_qrels`.

    Examples
    --------
    >>> as_qrels({"1": [{"video_name": "a", "timestamp": [0, 10], "relevance": 4}]}).grades.tolist()
    [4]
    """
    if isinstance(source, Qrels):
        return source
    if isinstance(source, str | Path):
        return read_qrels(source, lenient=lenient, highest=highest)
    if is_by_id(source):
        return IdQrels(source, bool(lenient), highest).table
    if isinstance(source, Mapping):
        found = columns_of_objects(source, "qrels", "moment", "relevance")
        if found:
            return Qrels.build(found, Checks(bool(lenient), highest))
        return qrels_from_dict(_spans(source, GRADES, "qrels"), lenient=bool(lenient), highest=highest)
    return Qrels.build(_frame(source, GRADES, "qrels", GRADE), Checks(bool(lenient), highest))


def as_run(source: Any, lenient: bool = True) -> Run:
    """A run from a run, a path, a dict or a data frame; as `as_qrels`, with a score for the grade,
    in rank order.
    """
    if isinstance(source, Run):
        return source
    if isinstance(source, str | Path):
        return read_run(source, lenient=lenient)
    if is_by_id(source):
        return IdRun(source).table
    if isinstance(source, Mapping):
        found = columns_of_objects(source, RUN, "prediction", "model_scores")
        if found:
            return Run.build(found, RUN, Checks(lenient))
        return run_from_dict(_spans(source, SCORES, RUN), RUN, lenient)
    return Run.build(_frame(source, SCORES, RUN, SCORE), RUN, Checks(lenient))


def qrels_source(source: Any) -> Qrels | IdQrels:
    """As `as_qrels`, but qrels by moment id stay as they are until somebody needs their times."""
    if isinstance(source, IdQrels):
        return source
    return IdQrels(source) if is_by_id(source) else as_qrels(source)


def run_source(source: Any) -> Run | IdRun:
    """As `as_run`, but a run by moment id stays as it is until somebody needs its times."""
    if isinstance(source, IdRun):
        return source
    return IdRun(source) if is_by_id(source) else as_run(source)


def _spans(source: Mapping[Any, Iterable[Any]], fields: tuple[str, ...], name: str) -> dict[str, list[Any]]:
    if all(
        set(map(type, rows)) <= {tuple, list} and set(map(len, rows)) <= {4}
        for rows in map(list, source.values())
    ):
        return {query: list(rows) for query, rows in source.items()}
    return {
        str(query): [
            _span(record, fields, f"{name}: query {str(query)!r}, row {n}")
            for n, record in enumerate(rows, 1)
        ]
        for query, rows in source.items()
    }


def _span(record: Any, fields: tuple[str, ...], place: str) -> Any:
    if not isinstance(record, Mapping):
        if not isinstance(record, tuple | list) or len(record) != 4:
            raise MeasureError(
                f"{place}: must be (video, start, end, {fields[0]}) or an object with those fields"
            )
        return tuple(record)
    value = next((record[field] for field in fields if field in record), None)
    try:
        start, end = record["timestamp"]
        return record["video_name"], start, end, value
    except (KeyError, TypeError, ValueError) as problem:
        raise MeasureError(
            f"{place}: needs video_name and timestamp [start, end]; wrong: {problem}"
        ) from None


def _frame(source: Any, fields: tuple[str, ...], name: str, value_name: str) -> Columns:
    """Columns of anything with named columns that become lists."""
    rows = Rows(name, lambda i: f"row {i}", value_name)
    try:
        there = list(source.columns)
    except AttributeError:
        raise MeasureError(f"{name}: {type(source).__name__} is no path, dict, or data frame") from None
    value = next((field for field in fields if field in there), fields[0])
    needed = ["query_id", "video_name", "start", "end", value]
    lacking = [column for column in needed if column not in there]
    if lacking:
        raise MeasureError(f"{name}: column {lacking[0]} is missing; it needs {', '.join(needed)}")
    columns = [list(source[column].to_list()) for column in needed]
    rows.query = [str(query) for query in columns[0]]
    rows.video, rows.start, rows.end, rows.value = columns[1:]
    rows.queries = dict.fromkeys(rows.query)
    return rows.columns()
