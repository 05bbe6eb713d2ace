"""The columns of a file or of a dict, on their way to a table: of the right types, not yet checked for sense."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .arrays import Floats, Ints
from .errors import MeasureError
from .place import Place


@dataclass(kw_only=True)
class Columns:
    """One row a moment or prediction. Times are in seconds.

    where: the place of a row, for an error. group: int64 number of each row's query in `queries`. names: the
    videos, each once; video: int64 number of each row's in `names`. value: grades or scores as float64.
    copy: int64 that tells rows apart which stand for the same times on purpose, as ``#2`` in a TREC file.
    ids: makes the moments' ids, where the file gives them. further: more annotations of a row's moment:
    its row, start, end. texts, types, durations, saliency: see `Table` and `Qrels`.
    notes: what is unusual about the file. keys: how many keys the rows' objects have in JSON, if that is all
    that they hold.
    """

    source: str
    where: Callable[[int], str]
    queries: tuple[str, ...]
    group: Ints
    names: tuple[str, ...]
    video: Ints
    start: Floats
    end: Floats
    value: Floats
    copy: Ints | None = None
    ids: Callable[[], list[str]] | None = None
    further: Sequence[tuple[int, Any, Any]] = ()
    texts: Mapping[str, str] = field(default_factory=dict)
    types: Mapping[str, str] = field(default_factory=dict)
    durations: Mapping[str, float] = field(default_factory=dict)
    saliency: Mapping[str, Floats] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    keys: int | None = None

    def fail(self, row: int, message: str) -> MeasureError:
        """The error of a row."""
        return Place(self.source, self.where(row)).fail(message)

    def order(self) -> tuple[Ints | slice, Ints]:
        """The order that brings the rows of each query together, and where each query's rows begin and the
        last end.
        """
        counts = np.bincount(self.group, minlength=len(self.queries))
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        if not (self.group[1:] < self.group[:-1]).any():
            return slice(None), offsets
        return np.argsort(self.group, kind="stable").astype(np.int64), offsets


class Numbers(dict[Any, int]):
    """A number for each different item, in the order in which they first come."""

    def __missing__(self, item: Any) -> int:
        number = self[item] = len(self)
        return number

    def of(self, items: Sequence[Any]) -> Ints:
        """The numbers of items: int64 of shape (items,)."""
        return np.fromiter(map(self.__getitem__, items), dtype=np.int64, count=len(items))


def repeated(sizes: Iterable[int]) -> Ints:
    """0 for the first size, 1 for the second, …: int64 of shape (sum of sizes,)."""
    counts = np.fromiter(sizes, dtype=np.int64)
    return np.repeat(np.arange(counts.size, dtype=np.int64), counts)
