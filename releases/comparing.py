"""What two releases of a campaign differ in, found once and kept: releases never change."""

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
    """How many pairs were added, changed and gone, and the first of them."""

    counts: dict[str, int]
    first: list[Change]

    @property
    def more(self) -> int:
        return sum(self.counts.values()) - len(self.first)


def compare(old: Release, new: Release) -> Compared:
    which = {"campaign_id": old.campaign_id, "name": f"releases {old.version} to {new.version}"}
    kept = Summary.objects.filter(**which).first()
    if kept is None:
        fresh = {"made": timezone.now(), "counts": _found(old, new)}
        kept, _ = Summary.objects.get_or_create(**which, defaults=fresh)
    return Compared(kept.counts["counts"], [Change(*each) for each in kept.counts["first"]])


def _found(old: Release, new: Release) -> dict[str, Any]:
    counts: Counter[str] = Counter()
    first: list[Any] = []
    for change in changes(old, new):
        counts[change.what] += 1
        if len(first) < MOST_CHANGES:
            first.append((change.query, change.moment, change.before, change.after))
    return {"counts": counts, "first": first}


def changes(old: Release, new: Release) -> Iterator[Change]:
    """All of them, from the files."""
    with old.file.open("rb") as before, new.file.open("rb") as after:
        yield from difference(ReleaseArchive(before), ReleaseArchive(after))
