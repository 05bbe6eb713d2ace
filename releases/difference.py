"""The difference of two releases: pairs added, changed and gone. It is stored, because releases never change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.utils import timezone

from releases.archive import QRELS, ReleaseArchive, grades
from releases.models import Release
from reports.models import Summary

HEADER = ["what", "query_id", "moment_id", "before", "after"]
MOST_CHANGES = 200  # changes, on the page


@dataclass(frozen=True)
class Change:
    """A pair whose final grade differs. A grade is None if the release does not have the pair."""

    query: str
    moment: str
    before: int | None
    after: int | None

    @property
    def what(self) -> str:
        if self.before is None:
            return "added"
        return "gone" if self.after is None else "changed"


def difference(old: ReleaseArchive, new: ReleaseArchive) -> Iterator[Change]:
    """Yield the changes from the old release's qrels to the new one's, ordered by query and moment."""
    # Most lines are the same in both, so only the others are parsed.
    one, other = set(old.lines(QRELS)), set(new.lines(QRELS))
    before, after = grades(one - other), grades(other - one)
    for pair in sorted(before.keys() | after.keys()):
        if before.get(pair) != after.get(pair):
            yield Change(*pair, before.get(pair), after.get(pair))


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
