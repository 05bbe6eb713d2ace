"""A cast list: which names a corpus has, whom they name, and what stands for each person in captions."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from retrieval.rewriting.words import TITLES, Lexicon, without_article

RULES = 2  # changes whenever the rules of substitution do, so that captions are made anew
# "Phoebe's", "James'", and the slip "Leonards jacket".
POSSESSIVE = r"['’]s(?!\w)|(?<=s)['’](?!\w)|s(?=\s+[a-z])"


@dataclass(frozen=True)
class Entry:
    """One name of the cast, as `CastName` describes it. An entry without a phrase stays as it is."""

    name: str
    phrase: str = ""
    same_as: str = ""


class Cast:
    """The confirmed entries of a cast list, ready to be found in texts.

    Parameters
    ----------
    entries
        The names of persons, with their phrases.
    stays
        The names that are no person's.
    lexicon
        How the corpus writes its words: names that it hardly ever writes in lower case are found so too.
    """

    def __init__(self, entries: Iterable[Entry], stays: Iterable[str], lexicon: Lexicon) -> None:
        self.entries = {entry.name: entry for entry in entries}
        self.stays = frozenset(stays)
        self.lexicon = lexicon
        self._by_lower = {name.lower(): entry for name, entry in self.entries.items()}

    @cached_property
    def fingerprint(self) -> str:
        """What tells this cast list from others, and these rules from older ones."""
        rows = sorted([entry.name, entry.phrase, entry.same_as] for entry in self.entries.values())
        known = json.dumps([RULES, rows, sorted(self.stays)])
        return f"cast list {hashlib.sha256(known.encode()).hexdigest()[:16]}"

    @cached_property
    def mentions(self) -> re.Pattern[str]:
        """The pattern of a name with a title before it and a possessive ending behind it."""
        titles = "|".join(sorted(map(re.escape, TITLES), key=len, reverse=True))
        title = rf"(?P<title>(?i:{titles})(?:\.\s*|\s+))?"
        return re.compile(rf"(?<![\w’'-]){title}(?P<name>{self._names})(?P<possessive>{POSSESSIVE})?(?![\w-])")

    @cached_property
    def families(self) -> re.Pattern[str]:
        """The pattern of a family: `the Gellers`."""
        return re.compile(rf"(?<![\w’'-])[Tt]he\s+(?P<name>{self._names})(?:e?s)(?![\w-])(?P<possessive>['’](?!\w))?")

    @cached_property
    def _names(self) -> str:
        names = sorted([*self.entries, *self.stays], key=len, reverse=True)
        return "|".join(map(self._written, names)) or "(?!)"

    def _written(self, name: str) -> str:
        pattern = r"\s+".join(map(re.escape, name.split()))
        return f"(?i:{pattern})" if self.lexicon.is_hardly_ever_lower(name) else pattern

    def entry(self, name: str) -> Entry | None:
        """Return the entry of a name as a text has it; None for a name that stays."""
        written = " ".join(name.split())
        return self.entries.get(written) or self._by_lower.get(written.lower())

    def person(self, entry: Entry) -> str:
        """Return the name under which all names of the same person are known."""
        seen = {entry.name}
        while entry.same_as in self.entries and entry.same_as not in seen:
            entry = self.entries[entry.same_as]
            seen.add(entry.name)
        return entry.name

    def phrase(self, entry: Entry) -> str:
        """Return what stands for the person, without an article."""
        return without_article(self.entries[self.person(entry)].phrase or entry.phrase)

    def names_in(self, text: str) -> list[str]:
        """Return the names of persons that a text contains."""
        return [match["name"] for match, _ in self.found_in(text)]

    def found_in(self, text: str) -> Iterator[tuple[re.Match[str], Entry]]:
        """Yield each name of a person in a text, as a match of `mentions`, with its entry."""
        for match in self.mentions.finditer(text):
            # "she chases him", and Chase is a name.
            is_verb = match["possessive"] == "s" and match["name"].islower()
            if not is_verb and (entry := self.entry(match["name"])):
                yield match, entry
