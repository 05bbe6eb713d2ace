"""The difference of two releases: the pairs that were added, changed and removed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from releases.archive import QRELS, ReleaseArchive, grades

HEADER = ["what", "query_id", "moment_id", "before", "after"]


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
