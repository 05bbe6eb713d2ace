"""The offline substituter: names of a cast list become noun phrases, by rules of English grammar.

A person is `a man` at the first mention and `the man` later; a second person with the same noun is `another man`, and
then `the other man`. Two names joined by `and` become `two men`, or `a man and a woman`; three or more become
`three men`, or `three people`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from retrieval.rewriting.cast import DETERMINERS, LISTS, Cast, begun, is_bare, plural, sentence_starts, with_article
from retrieval.rewriting.checks import Beat, Proposal, Replaced

NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
JOIN = re.compile(r"\s*,\s*(?:and\s+)?|\s+and\s+|\s*&\s*")
LAST_JOIN = re.compile(r",?\s+and\s+|\s*&\s*")
# After these verbs two names in a row are two persons: "gives Ross Rachel's ring".
GIVING = LISTS["giving"]
CONJUNCTIONS, NO_VERBS = LISTS["conjunctions"], LISTS["no_verbs"]


@dataclass
class Mention:
    """A name in a text, with its title and its possessive ending."""

    start: int
    end: int
    person: str
    phrase: str
    possessive: bool


class CastSubstituter:
    """Substitutes the names of a cast list."""

    attempts = 1  # the same rules would say the same again
    at_a_time = 256

    def __init__(self, cast: Cast) -> None:
        self.cast = cast
        self.made_by = cast.fingerprint

    def propose(self, descriptions: Sequence[str], attempt: int, beat: Beat) -> Iterator[list[Proposal]]:
        yield [self.substituted(description) for description in descriptions]

    def substituted(self, text: str) -> Proposal:
        """Return the text with noun phrases in place of names, and what was replaced."""
        replaced: Replaced = []
        text = self._without_families(text, replaced)
        groups, starts, introduced = _groups(text, self._mentions(text)), sentence_starts(text), _Introduced(text)
        parts, done = [], 0
        for group in groups:
            both = re.search(r"\b[Bb]oth\s+$", text[: group[0].start]) if len(group) > 1 else None
            start = both.start() if both else group[0].start
            phrase = introduced.phrase(group, _word_before(text, start))
            phrase = begun(phrase) if start in starts else phrase
            ending = "'" if phrase.endswith("s") else "'s"
            parts += [text[done:start], phrase, ending if group[-1].possessive else ""]
            done = group[-1].end
            replaced.append((text[start : group[-1].end], phrase))
        return Proposal("".join([*parts, text[done:]]), replaced)

    def _without_families(self, text: str, replaced: Replaced) -> str:
        def family(match: re.Match[str]) -> str:
            if not self.cast.entry(match["name"]):
                return match[0]
            phrase = "The family" if match[0][0] == "T" else "the family"
            replaced.append((match[0], phrase))
            return f"{phrase}'s" if match["possessive"] else phrase

        return self.cast.families.sub(family, text)

    def _mentions(self, text: str) -> list[Mention]:
        found: list[Mention] = []
        for match, entry in self.cast.found_in(text):
            person, phrase = self.cast.person(entry), self.cast.phrase(entry)
            mention = Mention(match.start(), match.end(), person, phrase, bool(match["possessive"]))
            if found and _is_one_name(text, found[-1], mention):
                mention = replace(mention, start=found[-1].start, person=found.pop().person)
            found.append(mention)
        return found


class _Introduced:
    """Who was mentioned so far in a text, and how."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.order: dict[str, list[str]] = {}  # phrase: persons, in the order of their first mentions

    def phrase(self, group: list[Mention], before: str) -> str:
        persons = list(dict.fromkeys(mention.person for mention in group))
        if len(persons) == 1:
            return self._single(group[0], before)
        known = all(mention.person in self.order.get(mention.phrase, []) for mention in group)
        phrases = list(dict.fromkeys(mention.phrase for mention in group))
        if len(phrases) > 1 and len(persons) == 2:
            return " and ".join(self._single(mention, before if not n else "") for n, mention in enumerate(group))
        for mention in group:
            self._note(mention)
        noun = plural(phrases[0]) if len(phrases) == 1 and not is_bare(phrases[0]) else "people"
        number = NUMBERS[len(persons)] if len(persons) < len(NUMBERS) else str(len(persons))
        return f"the {number} {noun}" if known and before not in DETERMINERS else f"{number} {noun}"

    def _single(self, mention: Mention, before: str) -> str:
        others = self.order.get(mention.phrase, [])
        is_new = mention.person not in others
        is_another = bool(others) or self._has_a_nameless(mention)
        self._note(mention)
        if before in DETERMINERS or is_bare(mention.phrase):
            return mention.phrase
        if is_new:
            return f"another {mention.phrase}" if is_another else with_article(mention.phrase)
        return f"the {mention.phrase}" if others[0] == mention.person else f"the other {mention.phrase}"

    def _has_a_nameless(self, mention: Mention) -> bool:
        """Return whether the text speaks of somebody with the same noun and no name: "A woman looks at Rachel."."""
        nameless = rf"\b(?:an?|another|the|one)\s+(?:\w+\s+)?{re.escape(mention.phrase)}\b"
        return bool(re.search(nameless, self.text[: mention.start], re.I))

    def _note(self, mention: Mention) -> None:
        persons = self.order.setdefault(mention.phrase, [])
        if mention.person not in persons:
            persons.append(mention.person)


def _groups(text: str, mentions: list[Mention]) -> list[list[Mention]]:
    """Put names that are joined by commas and a last `and` together."""
    groups: list[list[Mention]] = []
    for mention in mentions:
        last = groups[-1][-1] if groups else None
        if last and not last.possessive and JOIN.fullmatch(text[last.end : mention.start]):
            groups[-1].append(mention)
        else:
            groups.append([mention])
    return [each for group in groups for each in _as_list(text, group)]


def _as_list(text: str, group: list[Mention]) -> list[list[Mention]]:
    """Return the group as it is if `and` joins its last two; what only commas join is no list of persons."""
    joins = [text[one.end : two.start] for one, two in pairwise(group)]
    is_list = joins and LAST_JOIN.fullmatch(joins[-1]) and not any(map(LAST_JOIN.fullmatch, joins[:-1]))
    if is_list and not _begins_a_clause(text, group):
        return [group]
    return [[mention] for mention in group]


def _begins_a_clause(text: str, group: list[Mention]) -> bool:
    """Return whether the last name is the subject of a clause: "She hugs Olga and Vera laughs"."""
    if group[-1].person == group[-2].person:
        return True
    if group[0].start in sentence_starts(text) or _word_before(text, group[0].start) in CONJUNCTIONS:
        return False
    verb = re.match(r"\s+(\w+s)\b", text[group[-1].end :])
    return bool(verb) and not group[-1].possessive and verb[1] not in NO_VERBS  # type: ignore[index]


def _is_one_name(text: str, first: Mention, second: Mention) -> bool:
    """Return whether two names in a row are the first and the last name of one person."""
    if first.possessive or not re.fullmatch(r"\s+", text[first.end : second.start]):
        return False
    if first.person == second.person:
        return True
    return first.phrase == second.phrase and _word_before(text, first.start) not in GIVING


def _word_before(text: str, place: int) -> str:
    match = re.search(r"(\w+)\s+$", text[:place])
    return match[1].lower() if match else ""
