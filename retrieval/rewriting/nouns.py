"""Articles and plurals of noun phrases in English, as far as captions need them."""

from __future__ import annotations

import re

from retrieval.rewriting.word_lists import word_list

IRREGULAR = {"man": "men", "woman": "women", "person": "people", "child": "children", "wife": "wives"}
# Phrases that take no article: pronouns, numbers, and nouns that are plural already.
BARE = re.compile(
    r"(someone|somebody|anyone|everyone|everybody|nobody|they|he|she|it|the|his|her|their|two|three|four|five|several"
    r"|some|many|people|men|women|children|girls|boys)\b",
    re.I,
)
DETERMINERS = word_list("determiners")
VOWEL = re.compile(r"(?!(uni|use|eu|one\b))[aeiou]", re.I)


def without_article(phrase: str) -> str:
    """Return the phrase without `a` or `an` before it."""
    return re.sub(r"^(an?)\s+", "", phrase.strip(), flags=re.I)


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
