"""Columns of many records at once, in the shapes that files of the field have.

Each function returns None where a record is not of that shape, or a value not of the expected type; the careful
readers then go through the records one by one, and name what is wrong or take what is merely unusual.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from itertools import chain, repeat
from operator import itemgetter
from typing import Any, ParamSpec

import numpy as np

from .arrays import Floats, Ints
from .columns import Columns, Numbers, repeated
from .rows import Kind

P = ParamSpec("P")
Names = Mapping[int, str]
NUMBERS = {int, float}


class UnusualError(Exception):
    """Something is not of the expected shape."""


def or_none(read: Callable[P, Columns]) -> Callable[P, Columns | None]:
    """The same function, returning None where records are of another shape."""

    @wraps(read)
    def reading(*args: P.args, **kwargs: P.kwargs) -> Columns | None:
        try:
            return read(*args, **kwargs)
        except (UnusualError, LookupError, TypeError, ValueError, OverflowError):
            return None

    return reading


def columns_of(
    found: Mapping[Any, list[Any]], source: str, kind: Kind, names: Names | None = None
) -> Columns | None:
    """Columns of lists by query, of what their first item is: an object, or a list or tuple of four."""
    first = next(chain.from_iterable(found.values()), None)
    if isinstance(first, dict):
        value = next((name for name in kind.fields if name in first), "")
        return columns_of_objects(found, source, kind, value)
    return columns_of_lists(found, source, kind, names)


@or_none
def columns_of_objects(found: Mapping[Any, list[Any]], source: str, kind: Kind, value: str) -> Columns:
    """Columns of ``{query: [{"video_name", "timestamp", value}, …]}``."""
    rows = list(chain.from_iterable(found.values()))
    video, times, values = _fields(rows, value)
    columns = _columns(source, kind, found, _coded(video), times, values)
    columns.keys = 3 * len(rows) if set(map(len, rows)) <= {3} else None
    return columns


@or_none
def columns_of_lists(found: Mapping[Any, list[Any]], source: str, kind: Kind, names: Names | None) -> Columns:
    """Columns of ``{query: [[video index or name, start, end, value], …]}``."""
    video, start, end, value = _four(list(chain.from_iterable(found.values())))
    if names is None or str in set(map(type, video)):
        videos = _coded(video)
    else:
        _only(video, NUMBERS)
        codes = Numbers()
        number = codes.of(video)
        videos = _texts([names[code] for code in codes]), number
    if len(set(videos[0])) != len(videos[0]):
        raise UnusualError
    columns = _columns(source, kind, found, videos, (_floats(start), _floats(end)), _floats(value))
    columns.keys = 0
    return columns


@or_none
def columns_of_pairs(records: Sequence[Any], source: str, where: Callable[[int], str]) -> Columns:
    """Columns of ``{"query_id", "query", "video_name", "timestamp", "relevance"}``, one moment each."""
    ids = list(map(itemgetter("query_id"), records))
    if set(map(type, ids)) not in ({int}, {str}) or "" in ids:
        raise UnusualError
    queries = Numbers()
    group = queries.of(ids)
    video, (start, end), value = _fields(records, "relevance")
    videos, number = _coded(video)
    names = tuple(map(str, queries))
    said = dict(zip(ids, map(dict.get, records, repeat("query")), strict=True))
    return Columns(
        source=source,
        where=where,
        queries=names,
        group=group,
        names=videos,
        video=number,
        start=start,
        end=end,
        value=value,
        texts=texts_of(said),
    )


def texts_of(said: Mapping[Any, Any]) -> dict[str, str]:
    """The queries' texts, where there are any."""
    return {str(query): text for query, text in said.items() if isinstance(text, str) and text}


def _columns(
    source: str,
    kind: Kind,
    found: Mapping[Any, list[Any]],
    videos: tuple[tuple[str, ...], Ints],
    times: tuple[Floats, Floats],
    value: Floats,
) -> Columns:
    names = tuple(map(str, found))
    group = repeated(map(len, found.values()))
    if len(set(names)) != len(names) or "" in names:
        raise UnusualError

    def where(row: int) -> str:
        return f"query {names[group[row]]!r}, {kind.row} {row - int(np.searchsorted(group, group[row])) + 1}"

    return Columns(
        source=source,
        where=where,
        queries=names,
        group=group,
        names=videos[0],
        video=videos[1],
        start=times[0],
        end=times[1],
        value=value,
    )


def _four(rows: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any], Sequence[Any], Sequence[Any]]:
    """The four columns of rows of four."""
    _only(rows, {list}, {tuple})
    if not set(map(len, rows)) <= {4}:
        raise UnusualError
    flat = list(chain.from_iterable(rows))
    return flat[::4], flat[1::4], flat[2::4], flat[3::4]


def _fields(records: Sequence[Any], value: str) -> tuple[Sequence[Any], tuple[Floats, Floats], Floats]:
    """Videos, starts and ends, and values of records."""
    if not records:
        return [], (np.empty(0), np.empty(0)), np.empty(0)
    _only(records, {dict})
    video, spans, column = zip(*map(itemgetter("video_name", "timestamp", value), records), strict=True)
    _only(spans, {list}, {tuple})
    if not set(map(len, spans)) <= {2}:
        raise UnusualError
    times = _floats(list(chain.from_iterable(spans))).reshape(-1, 2).T.copy()
    return video, (times[0], times[1]), _floats(column)


def _floats(values: Sequence[Any]) -> Floats:
    """Python's numbers as float64."""
    _only(values, NUMBERS)
    return np.fromiter(values, np.float64, len(values))


def _coded(videos: Sequence[Any]) -> tuple[tuple[str, ...], Ints]:
    """The videos, each once, and the number of each row's."""
    codes = Numbers()
    number = codes.of(videos)
    return _texts(codes), number


def _texts(values: Iterable[Any]) -> tuple[str, ...]:
    """Texts that are not empty."""
    texts = tuple(values)
    _only(texts, {str})
    if "" in texts:
        raise UnusualError
    return texts


def _only(values: Sequence[Any], *kinds: set[type]) -> None:
    """Refuse values whose types are not all among those of one kind."""
    there = set(map(type, values))
    if not any(there <= kind for kind in kinds):
        raise UnusualError
