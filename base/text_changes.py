"""Comparing two versions of a text, line by line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher

AROUND = 3  # unchanged lines that are listed before and after a change


@dataclass(frozen=True)
class Line:
    """A line that was removed, added or kept, with its numbers in both texts; or a gap of unchanged lines."""

    what: str  # "went", "came", "stayed" or "gap"
    before: int | None = None
    after: int | None = None
    text: str = ""


def changes(before: str, after: str) -> Iterator[Line]:
    """Yield the lines that differ, with a few unchanged lines around them; nothing if the texts are equal.

    >>> [(line.what, line.text) for line in changes("a\\nb", "a\\nc")]
    [('stayed', 'a'), ('went', 'b'), ('came', 'c')]
    """
    old, new = before.splitlines(), after.splitlines()
    for number, group in enumerate(SequenceMatcher(None, old, new).get_grouped_opcodes(AROUND)):
        if number:
            yield Line("gap")
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                both = zip(range(i1, i2), range(j1, j2), strict=True)
                yield from (Line("stayed", i + 1, j + 1, old[i]) for i, j in both)
            else:
                yield from (Line("went", i + 1, None, old[i]) for i in range(i1, i2))
                yield from (Line("came", None, j + 1, new[j]) for j in range(j1, j2))
