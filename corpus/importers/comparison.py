"""The moments of a source beside those of a corpus: new, changed, unchanged and gone, and replacing the changed."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from corpus.importers.checking import Checker, Fingerprints
from corpus.importers.interface import Report
from corpus.models import Corpus, Moment

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
ROWS_AT_A_TIME = 5000
KEYS_AT_A_TIME = 500


class Stored:
    """The moments that a corpus held before an import: their keys, in ascending order, and their fingerprints."""

    def __init__(self, corpus: Corpus | None) -> None:
        keys, self.prints = array("q"), Fingerprints()
        if corpus and corpus.pk:
            moments = Moment.objects.filter(video__corpus=corpus).order_by("pk")
            fields = moments.values_list("pk", "video__name", "start", "end", "description", "caption")
            for key, video, start, end, description, caption in fields.iterator(chunk_size=ROWS_AT_A_TIME):
                keys.append(key)
                self.prints.add(video, start, end, description, caption)
        self.keys = _array(keys)
        self._sorted = np.sort(_array(self.prints.moments))

    def holds(self, moments: Ints) -> Bools:
        """Return which of the moments are stored, by their fingerprints."""
        return _among(moments, self._sorted)


@dataclass(frozen=True)
class Comparison:
    """The stored moments that the files have with another text: `described` by their keys, and `captioned` by the
    fingerprints of their descriptions.
    """

    described: list[int]
    captioned: dict[int, int]


def compare(stored: Stored, found: Fingerprints, report: Report) -> Comparison:
    """Count the new, changed, unchanged, gone and repeated moments in the report. Return the changed ones."""
    before, now = _array(stored.prints.moments), _array(found.moments)
    distinct, first = np.unique(now, return_index=True)
    captioned = _captioned(stored, found, distinct, first)
    fresh = first[~stored.holds(distinct)]
    missing = np.flatnonzero(~_among(before, distinct))
    described = _with_other_description(_array(stored.prints.stretches)[missing], _array(found.stretches)[fresh])
    report.repeated = len(now) - len(distinct)
    report.new = len(fresh) - len(described)
    report.changed = len(described) + len(captioned)
    report.unchanged = len(distinct) - len(fresh) - len(captioned)
    report.gone = len(missing) - len(described)
    return Comparison(stored.keys[missing[described]].tolist(), captioned)


def _with_other_description(stored: Ints, found: Ints) -> Ints:
    """Return which stored moments have counterparts: at the same times, as many as there are new descriptions."""
    stretches, counts = np.unique(found, return_counts=True)
    if not len(stretches) or not len(stored):
        return np.zeros(0, dtype=np.int64)
    order = np.argsort(stored, kind="stable")
    arranged = stored[order]
    nth = np.arange(len(arranged)) - np.searchsorted(arranged, arranged)  # of those at the same times
    at = np.minimum(np.searchsorted(stretches, arranged), len(stretches) - 1)
    has_counterpart = (stretches[at] == arranged) & (nth < counts[at])
    return np.sort(order[has_counterpart])


def _captioned(stored: Stored, found: Fingerprints, distinct: Ints, first: Ints) -> dict[int, int]:
    """Return the keys of the stored moments to which the files give another caption, by their fingerprints."""
    before = _array(stored.prints.moments)
    if not len(before) or not len(distinct):
        return {}
    at = np.minimum(np.searchsorted(distinct, before), len(distinct) - 1)
    captions = _array(found.captions)[first[at]]
    differs = (distinct[at] == before) & (captions != 0) & (captions != _array(stored.prints.captions))
    return dict(zip(before[differs].tolist(), stored.keys[differs].tolist(), strict=True))


def _among(numbers: Ints, ascending: Ints) -> Bools:
    """Return which numbers are among others. `np.isin` would need several times the memory."""
    if not len(ascending):
        return np.zeros(len(numbers), dtype=np.bool_)
    at = np.searchsorted(ascending, numbers)
    np.minimum(at, len(ascending) - 1, out=at)
    found: Bools = ascending[at] == numbers
    return found


def _array(numbers: array[int]) -> Ints:
    return np.frombuffer(numbers, dtype=np.int64) if numbers else np.zeros(0, dtype=np.int64)


def replace(changed: Comparison, checker: Checker) -> int:
    """Remove the moments whose descriptions have changed, beside which the new ones are stored already, and change
    captions. Moments that something refers to stay as they are. Return how many were replaced.
    """
    replaced = 0
    for keys in _parts(changed.described):
        unused = set(keys) - in_use(keys)
        replaced += len(unused)
        Moment.objects.filter(pk__in=unused).delete()
    return replaced + _change_captions(changed.captioned, checker)


def in_use(keys: Sequence[int]) -> set[int]:
    """Return which of the moments anything refers to, such as a candidate or an example."""
    found: set[int] = set()
    for relation in Moment._meta.related_objects:
        rows = relation.related_model._base_manager.filter(**{f"{relation.field.name}__in": keys})
        found |= set(rows.values_list(relation.field.name, flat=True))
    return found


def _change_captions(captioned: dict[int, int], checker: Checker) -> int:
    """Read the files once more for the captions, which were not kept."""
    if not captioned:
        return 0
    free = set(captioned.values())
    for keys in _parts(list(captioned.values())):
        free -= in_use(keys)
    again = Checker(checker.source, checker.importer, checker.report.lengths)
    moments = (
        Moment(pk=captioned.pop(again.prints.moments[-1]), caption=row.caption)
        for row in again.rows()
        if captioned.get(again.prints.moments[-1]) in free and row.caption
    )
    return Moment.objects.bulk_update(moments, ["caption"], batch_size=KEYS_AT_A_TIME)


def _parts(keys: list[int]) -> Iterator[list[int]]:
    rest = iter(keys)
    while part := list(islice(rest, KEYS_AT_A_TIME)):
        yield part
