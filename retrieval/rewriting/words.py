"""The words of a corpus: how often each is capitalised, and where, which tells names from other words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from retrieval.rewriting.word_lists import word_list

WORD = re.compile(r"[^\W\d_](?:[\w’'-]*\w)?")
POSSESSIVE = re.compile(r"['’]s?$")
ABBREVIATED = word_list("abbreviated_titles")
TITLES = ABBREVIATED | word_list("titles")
ORDINARY_SHARE = (
    10  # a word that stands so much oftener in lower case is no name, even where it is capitalised
)
TYPO_SHARE = 0.02  # a name in lower case at most so often is written so by mistake
BEGINNERS, CALENDAR = word_list("beginners"), word_list("calendar_and_nations")


class Found(NamedTuple):
    """A word in a text, without a possessive ending, with its place."""

    word: str
    start: int
    begins: bool  # whether it begins a sentence


def words_of(text: str) -> Iterator[Found]:
    """Yield the words of a text."""
    firsts = sentence_starts(text)
    for match in WORD.finditer(text):
        yield Found(POSSESSIVE.sub("", match[0]), match.start(), match.start() in firsts)


def sentence_starts(text: str) -> set[int]:
    """Return the places of the words that begin a sentence. The point after a title ends none."""
    starts, expected = set(), True
    for match in re.finditer(rf"{WORD.pattern}|[.!?]", text):
        if match[0] in ".!?":
            expected = match[0] != "." or not _after_title(text, match.start())
        elif expected:
            starts.add(match.start())
            expected = False
    return starts


def _after_title(text: str, place: int) -> bool:
    before = re.search(r"(\w+)$", text[:place])
    return bool(before) and before[1].lower() in ABBREVIATED  # type: ignore[index]


class Lexicon:
    """How often the words of a corpus stand in lower case, capitalised inside sentences, and at their start."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self.lower: Counter[str] = Counter()
        self.inside: Counter[str] = Counter()
        self.first: Counter[str] = Counter()
        for text in texts:
            for word, _, begins in words_of(text):
                kind = self.lower if not word[:1].isupper() else self.first if begins else self.inside
                kind[word.lower()] += 1

    def is_hardly_ever_lower(self, name: str) -> bool:
        """Return whether each word of a name in lower case must be a slip, unlike `house`, which is a word too."""
        return all(self._is_hardly_ever_lower(word.lower()) for word in name.split())

    def _is_hardly_ever_lower(self, word: str) -> bool:
        return self.lower[word] <= TYPO_SHARE * (self.inside[word] + self.first[word])

    def seems_a_name(self, word: str, begins: bool) -> bool:
        """Return whether a capitalised word of a text may be a person's name, by how the corpus writes it.

        Acronyms, titles and the words of calendars and nations are none. In doubt it is one.
        """
        plain = word.lower()
        if (
            not word[:1].isupper()
            or len(word) == 1
            or (word.isupper() and len(word) <= 5)
            or plain in TITLES | CALENDAR | BEGINNERS
        ):
            return False
        if self.lower[plain] >= ORDINARY_SHARE * max(1, self.inside[plain]):
            return False
        if not begins or self.inside[plain]:
            return self.inside[plain] >= self.lower[plain] if begins else True
        return not self.lower[plain] and not plain.endswith(("ing", "ed", "ly"))
