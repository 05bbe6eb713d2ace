"""A cast list: which names a corpus has, whom they name, and what stands for each person; and English words."""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

_FILE = Path(__file__).with_name("words.toml")
LISTS = {name: frozenset(words.split()) for name, words in tomllib.loads(_FILE.read_text(encoding="utf-8")).items()}
WORD = re.compile(r"[^\W\d_](?:[\w’'-]*\w)?")
POSSESSIVE = re.compile(r"['’]s?$")
ABBREVIATED = LISTS["abbreviated_titles"]
TITLES = ABBREVIATED | LISTS["titles"]
# A word that stands so much oftener in lower case is no name, even where it is capitalised.
ORDINARY_SHARE = 10
# A name in lower case at most so often is written so by mistake.
TYPO_SHARE = 0.02
BEGINNERS, CALENDAR = LISTS["beginners"], LISTS["calendar_and_nations"]
IRREGULAR = {"man": "men", "woman": "women", "person": "people", "child": "children", "wife": "wives"}
# Phrases that take no article: pronouns, numbers, and nouns that are plural already.
BARE = re.compile(
    r"(someone|somebody|anyone|everyone|everybody|nobody|they|he|she|it|the|his|her|their|two|three|four|five|several"
    r"|some|many|people|men|women|children|girls|boys)\b",
    re.I,
)
DETERMINERS = LISTS["determiners"]
VOWEL = re.compile(r"(?!(uni|use|eu|one\b))[aeiou]", re.I)
RULES = 2  # changes whenever the rules of substitution do, so that captions are made anew
# "Phoebe's", "James'", and the slip "Leonards jacket".
ENDING = r"['’]s(?!\w)|(?<=s)['’](?!\w)|s(?=\s+[a-z])"


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
        words = name.lower().split()
        return all(self.lower[word] <= TYPO_SHARE * (self.inside[word] + self.first[word]) for word in words)

    def seems_a_name(self, word: str, begins: bool) -> bool:
        """Return whether a capitalised word of a text may be a person's name, by how the corpus writes it. Acronyms,
        titles and the words of calendars and nations are none. In doubt it is one.
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


def is_bare(phrase: str) -> bool:
    """Return whether a phrase takes no article."""
    return bool(BARE.match(phrase))


def with_article(phrase: str) -> str:
    """Return the phrase with an indefinite article, unless it takes none.

    >>> with_article("old man"), with_article("someone")
    ('an old man', 'someone')
    """
    if is_bare(phrase):
        return phrase
    return f"an {phrase}" if VOWEL.match(phrase) else f"a {phrase}"


def plural(phrase: str) -> str:
    """Return the plural of a noun phrase.

    >>> plural("old woman"), plural("man with a beard"), plural("nanny")
    ('old women', 'men with a beard', 'nannies')
    """
    head, rest = re.match(r"(.*?)((?: (?:with|in|of|from|who|without)\b.*)?)$", phrase).groups()  # type: ignore[union-attr]
    *before, noun = head.split(" ")
    return " ".join([*before, _plural(noun)]) + rest


def _plural(noun: str) -> str:
    for one, many in IRREGULAR.items():
        if noun.lower().endswith(one) and (one != "man" or not noun.lower().endswith("human")):
            return noun[: len(noun) - len(one)] + (many if noun[-len(one)].islower() else many.capitalize())
    if re.search(r"[^aeiou]y$", noun):
        return f"{noun[:-1]}ies"
    return f"{noun}es" if re.search(r"(s|x|z|ch|sh)$", noun) else f"{noun}s"


def begun(text: str) -> str:
    """Return the text with a capital first letter."""
    return text[:1].upper() + text[1:]


@dataclass(frozen=True)
class Entry:
    """One name of the cast, as `CastName` describes it. An entry without a phrase stays as it is."""

    name: str
    phrase: str = ""
    same_as: str = ""


class Cast:
    """The confirmed entries of a cast list, ready to be found in texts.

    entries: the names of persons, with their phrases.
    stays: the names that are no person's.
    lexicon: how the corpus writes its words: names that it hardly ever writes in lower case are found so too.
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
        return re.compile(rf"(?<![\w’'-]){title}(?P<name>{self._names})(?P<possessive>{ENDING})?(?![\w-])")

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
        phrase = self.entries[self.person(entry)].phrase or entry.phrase
        return re.sub(r"^(an?)\s+", "", phrase.strip(), flags=re.I)

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
