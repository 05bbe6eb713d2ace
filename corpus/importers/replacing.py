"""Putting changed texts in the place of stored ones, except where something refers to the moment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from corpus.importers.checking import Checker
from corpus.importers.comparing import Comparison
from corpus.importers.rows import Row
from corpus.models import Moment

KEYS_AT_A_TIME = 500


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
    moments = (
        Moment(pk=captioned.pop(print_), caption=row.caption)
        for row, print_ in _again(checker)
        if captioned.get(print_) in free and row.caption
    )
    return Moment.objects.bulk_update(moments, ["caption"], batch_size=KEYS_AT_A_TIME)


def _again(checker: Checker) -> Iterator[tuple[Row, int]]:
    again = Checker(checker.source, checker.importer, checker.report.lengths)
    for row in again.rows():
        yield row, again.prints.moments[-1]


def _parts(keys: list[int]) -> Iterator[list[int]]:
    rest = iter(keys)
    while part := list(islice(rest, KEYS_AT_A_TIME)):
        yield part
