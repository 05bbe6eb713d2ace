"""Comparing two releases of a campaign. The result is stored, because releases never change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.utils import timezone

from releases.archive import ReleaseArchive
from releases.difference import Change, difference
from releases.models import Release
from reports.models import Summary

MOST_CHANGES = 200  # changes, on the page


@dataclass(frozen=True)
class Compared:
    """How many pairs were added, changed and removed, and the first of these changes."""

    counts: dict[str, int]
    first: list[Change]

    @property
    def more(self) -> int:
        return sum(self.counts.values()) - len(self.first)


def compare(old: Release, new: Release) -> Compared:
    """Return the stored difference of two releases, computed if it is not stored yet."""
    key = {"campaign_id": old.campaign_id, "name": f"releases {old.version} to {new.version}"}
    stored = Summary.objects.filter(**key).first()
    if stored is None:
        fields = {"made": timezone.now(), "counts": _computed(old, new)}
        stored, _ = Summary.objects.get_or_create(**key, defaults=fields)
    return Compared(stored.counts["counts"], [Change(*each) for each in stored.counts["first"]])


def _computed(old: Release, new: Release) -> dict[str, Any]:
    counts: Counter[str] = Counter()
    first: list[Any] = []
    for change in changes(old, new):
        counts[change.what] += 1
        if len(first) < MOST_CHANGES:
            first.append((change.query, change.moment, change.before, change.after))
    return {"counts": counts, "first": first}


def changes(old: Release, new: Release) -> Iterator[Change]:
    """Yield all changes from the old release to the new one, read from their files."""
    with old.file.open("rb") as before, new.file.open("rb") as after:
        yield from difference(ReleaseArchive(before), ReleaseArchive(after))
