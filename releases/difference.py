"""The difference of two releases: pairs added, changed and gone. It is stored, because releases never change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from django.utils import timezone

from releases.archive import ReleaseArchive
from releases.checks import QRELS, grades
from releases.models import Release
from releases.publishing.methods import at, written
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


def in_words(old: dict[str, Any], new: dict[str, Any], found: Iterable[Change]) -> list[str]:
    """Return sentences that say what changed between two releases, given their manifests."""
    grades = Counter((each.what, each.before is not None and (each.after or 0) > each.before) for each in found)
    added, gone = grades["added", False], grades["gone", False]
    higher, lower = grades["changed", True], grades["changed", False]
    names = [f"release {each['version']}" for each in (old, new)]
    if not added + gone + higher + lower:
        sentences = [f"The qrels of {names[0]} and {names[1]} are the same."]
    else:
        moved = f"{_pairs(added, 'was', 'were')} added, {_pairs(gone, 'is', 'are')} gone, and"
        regraded = f"{_pairs(higher + lower, 'has', 'have')} another final grade"
        split = f"{higher:,} a higher one, {lower:,} a lower one"
        sentences = [f"From {names[0]} to {names[1]}, {moved} {regraded}: {split}."]
    for what, path in COMPARED.items():
        before, after = at(old, path), at(new, path)
        if before != after and None not in (before, after):
            sentences.append(f"{what}: {written(before)} before, {written(after)} now.")
    return sentences


def _pairs(number: int, one: str, many: str) -> str:
    return f"1 pair {one}" if number == 1 else f"{number:,} pairs {many}"


# What the sentences compare besides the qrels, and where it stands in the manifests.
COMPARED = {
    "Queries with judgements": "counts.judged_queries",
    "Judgements that count": "counts.judgements",
    "Annotators": "counts.annotators",
    "Discarded pairs": "counts.pairs.discarded",
    "Pairs with a reused grade": "counts.pairs.reused",
    "Queries up to the frontier": "estimates.sample",
    "Queries in the campaign": "estimates.queries",
    "Ordinal alpha": "agreement.alpha",
    "The rule of the consensus": "consensus.rule",
    "The tolerance": "consensus.tolerance",
    "The version of the guideline": "guideline",
    "The model that ranked": "encoder",
    "The licence": "licence",
}


@dataclass(frozen=True)
class Compared:
    """How many pairs were added, changed and removed, and the first of these changes."""

    counts: dict[str, int]
    first: list[Change]
    words: list[str]

    @property
    def more(self) -> int:
        return sum(self.counts.values()) - len(self.first)


def compare(old: Release, new: Release) -> Compared:
    """Return the stored difference of two releases, computed if it is not stored yet."""
    key: dict[str, Any] = {"campaign_id": old.campaign_id, "name": f"releases {old.version} to {new.version}"}
    stored = Summary.objects.filter(**key).first()
    if stored is None or "words" not in stored.counts:  # those of version 0.1.0 have none
        fields: dict[str, Any] = {"made": timezone.now(), "counts": _computed(old, new)}
        stored, _ = Summary.objects.update_or_create(defaults=fields, **key)
    counts = stored.counts
    return Compared(counts["counts"], [Change(*each) for each in counts["first"]], counts["words"])


def _computed(old: Release, new: Release) -> dict[str, Any]:
    with old.file.open("rb") as before, new.file.open("rb") as after:
        archives = ReleaseArchive(before), ReleaseArchive(after)
        found = list(difference(*archives))
    first = [(each.query, each.moment, each.before, each.after) for each in found[:MOST_CHANGES]]
    words = in_words(archives[0].manifest, archives[1].manifest, found)
    return {"counts": Counter(each.what for each in found), "first": first, "words": words}


def changes(old: Release, new: Release) -> Iterator[Change]:
    """Yield all changes from the old release to the new one, read from their files."""
    with old.file.open("rb") as before, new.file.open("rb") as after:
        yield from difference(ReleaseArchive(before), ReleaseArchive(after))
