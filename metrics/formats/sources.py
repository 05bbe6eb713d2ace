"""Qrels and runs from whatever a researcher has in hand: a file, a dict, or a data frame."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .by_id import IdQrels, IdRun, is_by_id
from .checks import Checks
from .columns import Columns
from .dicts import qrels_from_dict, run_from_dict
from .errors import MeasureError
from .names import HIGHEST_GRADE
from .read_qrels import read_qrels
from .read_runs import read_run
from .rows import MOMENT, PREDICTION, Kind, Rows
from .tables import Qrels, Run


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
    if isinstance(source, IdQrels):
        return source.table
    if isinstance(source, str | Path):
        return read_qrels(source, lenient=lenient, highest=highest)
    if is_by_id(source):
        return IdQrels(source, bool(lenient), highest).table
    if isinstance(source, Mapping):
        return qrels_from_dict(source, bool(lenient), highest)
    return Qrels.build(_frame(source, "qrels", MOMENT), Checks(bool(lenient), highest))


def as_run(source: Any, lenient: bool = True) -> Run:
    """A run from a run, a path, a dict or a data frame; as `as_qrels`, with a score for the grade,
    in rank order.
    """
    if isinstance(source, Run):
        return source
    if isinstance(source, IdRun):
        return source.table
    if isinstance(source, str | Path):
        return read_run(source, lenient=lenient)
    if is_by_id(source):
        return IdRun(source, lenient).table
    if isinstance(source, Mapping):
        return run_from_dict(source, lenient=lenient)
    return Run.build(_frame(source, "run", PREDICTION), checks=Checks(lenient))


def qrels_source(source: Any, lenient: bool | None = None) -> Qrels | IdQrels:
    """As `as_qrels`, but qrels by moment id stay as they are until somebody needs their times."""
    if isinstance(source, IdQrels):
        return source
    return IdQrels(source, bool(lenient)) if is_by_id(source) else as_qrels(source, lenient)


def run_source(source: Any, lenient: bool = True) -> Run | IdRun:
    """As `as_run`, but a run by moment id stays as it is until somebody needs its times."""
    if isinstance(source, IdRun):
        return source
    return IdRun(source, lenient) if is_by_id(source) else as_run(source, lenient)


def _frame(source: Any, name: str, kind: Kind) -> Columns:
    """Columns of anything with named columns that become lists."""
    try:
        there = list(source.columns)
    except AttributeError:
        raise MeasureError(f"{name}: {type(source).__name__} is no path, dict, or data frame") from None
    value = next((field for field in kind.fields if field in there), kind.word)
    needed = ["query_id", "video_name", "start", "end", value]
    lacking = [column for column in needed if column not in there]
    if lacking:
        raise MeasureError(f"{name}: column {lacking[0]} is missing; it needs {', '.join(needed)}")
    query, video, start, end, values = (list(source[column].to_list()) for column in needed)
    names = [str(each) for each in query]
    spots = [f"row {n}" for n in range(len(names))]
    rows = Rows(name, kind, dict.fromkeys(names), spots, names, video, start, end, values)
    return rows.columns()
