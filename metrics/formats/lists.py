"""Lists of moments or predictions by query, as columns: many records at once, or one by one.

The functions for many records return None where one is not of the usual shape, or a value not of the expected type;
then the records are read one by one, which names what is wrong or takes what is merely unusual.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from itertools import chain, repeat
from operator import itemgetter
from typing import Any, ParamSpec

import numpy as np

from .arrays import Floats, Ints
from .columns import Columns, Kind, Numbers, Rows, repeated
from .errors import Faults, MeasureError, Place

P = ParamSpec("P")
Names = Mapping[int, str]
Four = tuple[Sequence[Any], Sequence[Any], Sequence[Any], Sequence[Any]]
NUMBERS = {int, float}
BLOCK = 2048  # rows


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


def columns_of(found: Mapping[Any, list[Any]], source: str, kind: Kind, names: Names | None = None) -> Columns | None:
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
    codes, video, numbers = _in_blocks(rows, lambda block: _fields(block, value))
    return _columns(source, kind, found, (_texts(codes), video), numbers)


@or_none
def columns_of_lists(found: Mapping[Any, list[Any]], source: str, kind: Kind, names: Names | None) -> Columns:
    """Columns of ``{query: [[video index or name, start, end, value], …]}``."""
    codes, video, numbers = _in_blocks(list(chain.from_iterable(found.values())), _four)
    kinds = set(map(type, codes))
    videos = _texts(codes if names is None or str in kinds else [names[code] for code in codes])
    if len(set(videos)) != len(videos):
        raise UnusualError
    return _columns(source, kind, found, (videos, video), numbers)


@or_none
def columns_of_pairs(records: Sequence[Any], source: str, where: Callable[[int], str]) -> Columns:
    """Columns of ``{"query_id", "query", "video_name", "timestamp", "relevance"}``, one moment each."""
    ids = list(map(itemgetter("query_id"), records))
    if set(map(type, ids)) not in ({int}, {str}) or "" in ids:
        raise UnusualError
    queries = Numbers()
    group = queries.of(ids)
    codes, video, (start, end, value) = _in_blocks(records, lambda block: _fields(block, "relevance"))
    names = tuple(map(str, queries))
    texts = dict(zip(ids, map(dict.get, records, repeat("query")), strict=True))
    return Columns(
        source=source,
        where=where,
        queries=names,
        group=group,
        names=_texts(codes),
        video=video,
        start=start,
        end=end,
        value=value,
        texts=texts_of(texts),
    )


def texts_of(texts: Mapping[Any, Any]) -> dict[str, str]:
    """The queries' texts, where there are any."""
    return {str(query): text for query, text in texts.items() if isinstance(text, str) and text}


def _columns(
    source: str, kind: Kind, found: Mapping[Any, list[Any]], videos: tuple[tuple[str, ...], Ints], numbers: Floats
) -> Columns:
    """Columns of lists by query: the videos and each row's; start, end and value of shape (3, rows)."""
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
        start=numbers[0],
        end=numbers[1],
        value=numbers[2],
    )


def _in_blocks(rows: Sequence[Any], columns: Callable[[Sequence[Any]], Four]) -> tuple[Numbers, Ints, Floats]:
    """The videos by number and each row's number; start, end and value as floats of shape (3, rows).

    `columns` gives the four columns of a block: its values are still in the processor's cache when they are read.
    """
    codes, video, numbers = Numbers(), np.empty(len(rows), np.int64), np.empty((3, len(rows)))
    for first in range(0, len(rows), BLOCK):
        block = rows[first : first + BLOCK]
        here = slice(first, first + len(block))
        videos, *others = columns(block)
        _only(videos, {str}, NUMBERS)
        video[here] = codes.of(videos)
        for row, values in zip(numbers, others, strict=True):
            _only(values, NUMBERS)
            row[here] = np.fromiter(values, np.float64, len(values))
    return codes, video, numbers


def _four(rows: Sequence[Any]) -> Four:
    _only(rows, {list}, {tuple})
    if set(map(len, rows)) != {4}:
        raise UnusualError
    flat = list(chain.from_iterable(rows))
    return flat[::4], flat[1::4], flat[2::4], flat[3::4]


def _fields(records: Sequence[Any], value: str) -> Four:
    _only(records, {dict})
    video, spans, values = zip(*map(itemgetter("video_name", "timestamp", value), records), strict=True)
    _only(spans, {list}, {tuple})
    if set(map(len, spans)) != {2}:
        raise UnusualError
    times = list(chain.from_iterable(spans))
    return video, times[::2], times[1::2], values


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


def one_by_one(
    found: Mapping[Any, Iterable[Any]],
    source: str,
    kind: Kind,
    read: Callable[[Place, Any], tuple[Any, Any, Any, Any]],
    faults: Faults | None = None,
) -> Columns:
    """Columns of lists by query; `read` gives video, start, end and value of an item. With `faults`, items that cannot
    be read are added to them and left out; without, the first is an error.
    """
    rows = Rows(source, kind, dict.fromkeys(map(str, found)))
    for query, items in found.items():
        for n, item in enumerate(items, 1):
            place = Place(source, f"query {str(query)!r}, {kind.row} {n}")
            try:
                rows.add(place, str(query), *read(place, item))
            except MeasureError as fault:
                if faults is None:
                    raise
                faults.add(fault)
    return rows.columns()
