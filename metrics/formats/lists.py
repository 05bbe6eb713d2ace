"""Lists of moments or predictions by query, as columns: many records at once, or one by one.

The functions for many records return None where one is not of the usual shape, or a value not of the expected type;
then the records are read one by one, which names what is wrong or takes what is merely unusual.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial, wraps
from itertools import chain
from typing import Any, ParamSpec

import numpy as np

from .columns import Columns, Kind, Numbers, Rows, first_of
from .errors import Faults, MeasureError, Place

P = ParamSpec("P")
Names = Mapping[int, str]
Four = tuple[Sequence[Any], Sequence[Any], Sequence[Any], Sequence[Any]]
NUMBERS = {int, float}
BLOCK = 2048  # rows, whose values are still in the processor's cache when they are read


def or_none(read: Callable[P, Columns]) -> Callable[P, Columns | None]:
    """The same function, returning None where records are of another shape."""

    @wraps(read)
    def reading(*args: P.args, **kwargs: P.kwargs) -> Columns | None:
        try:
            return read(*args, **kwargs)
        except (LookupError, TypeError, ValueError, OverflowError):
            return None

    return reading


@or_none
def columns_of(
    found: Mapping[Any, list[Any]], source: str, kind: Kind, names: Names | None = None, value: str | None = None
) -> Columns:
    """Columns of lists by query, of what their first item is: an object, or a list or tuple of four.

    names: of videos by number, in lists. value: the field of the value, in objects; None: the first that is there.
    """
    items, queries = list(chain.from_iterable(found.values())), tuple(map(str, found))
    group = np.repeat(np.arange(len(found), dtype=np.int64), list(map(len, found.values())))
    if len(set(queries)) != len(queries) or "" in queries:
        raise ValueError

    def where(row: int) -> str:
        return f"query {queries[group[row]]!r}, {kind.row} {row - int(np.searchsorted(group, group[row])) + 1}"

    if items and isinstance(items[0], dict):
        videos, columns = _in_blocks(items, partial(_fields, value=value or first_of(items[0], kind.fields)))
    else:
        videos, columns = _in_blocks(items, _four)
        if names is not None and str not in set(map(type, videos)):
            videos = [names[code] for code in videos]
    return Columns(source=source, where=where, queries=queries, group=group, names=_texts(videos), **columns)


@or_none
def columns_of_pairs(records: Sequence[Any], source: str, where: Callable[[int], str]) -> Columns:
    """Columns of ``{"query_id", "query", "video_name", "timestamp", "relevance"}``, one moment each."""
    ids = [record["query_id"] for record in records]
    if set(map(type, ids)) not in ({int}, {str}) or "" in ids:
        raise ValueError
    queries = Numbers()
    group = queries.of(ids)
    videos, columns = _in_blocks(records, partial(_fields, value="relevance"))
    texts = texts_of({id: record.get("query") for id, record in zip(ids, records, strict=True)})
    names = tuple(map(str, queries))
    return Columns(source=source, where=where, queries=names, group=group, names=_texts(videos), texts=texts, **columns)


def texts_of(texts: Mapping[Any, Any]) -> dict[str, str]:
    """The queries' texts, where there are any."""
    return {str(query): text for query, text in texts.items() if isinstance(text, str) and text}


def _in_blocks(rows: Sequence[Any], read: Callable[[Sequence[Any]], Four]) -> tuple[Iterable[Any], dict[str, Any]]:
    """The videos, each once, and the columns video, start, end and value of rows; `read` gives those of a block."""
    videos, video, numbers = Numbers(), np.empty(len(rows), np.int64), np.empty((3, len(rows)))
    for first in range(0, len(rows), BLOCK):
        block = rows[first : first + BLOCK]
        here = slice(first, first + len(block))
        named, *others = read(block)
        _only(named, {str}, NUMBERS)
        video[here] = videos.of(named)
        for row, values in zip(numbers, others, strict=True):
            _only(values, NUMBERS)
            row[here] = np.fromiter(values, np.float64, len(values))
    return videos, {"video": video, "start": numbers[0], "end": numbers[1], "value": numbers[2]}


def _four(rows: Sequence[Any]) -> Four:
    _only(rows, {list}, {tuple})
    video, start, end, value = zip(*rows, strict=True)
    return video, start, end, value


def _fields(records: Sequence[Any], value: str) -> Four:
    _only(records, {dict})
    spans = [record["timestamp"] for record in records]
    _only(spans, {list}, {tuple})
    start, end = zip(*spans, strict=True)
    return [record["video_name"] for record in records], start, end, [record[value] for record in records]


def _texts(values: Iterable[Any]) -> tuple[str, ...]:
    """Texts that are not empty, each once."""
    texts = tuple(values)
    _only(texts, {str})
    if "" in texts or len(set(texts)) != len(texts):
        raise ValueError
    return texts


def _only(values: Sequence[Any], *kinds: set[type]) -> None:
    """Refuse values whose types are not all among those of one kind."""
    there = set(map(type, values))
    if not any(there <= kind for kind in kinds):
        raise ValueError


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
