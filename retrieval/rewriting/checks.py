"""What every substituter proposes, and the two checks of each proposal (TVR-Ranking, section 3.1): its meaning is kept,
and no name is left.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache
from typing import Any, Protocol

import numpy as np
from django.conf import settings

from corpus.errors import CorpusError
from retrieval.embedding import embed
from retrieval.rewriting.cast import Cast, words_of

Replaced = list[tuple[str, str]]  # words before, words after
Beat = Callable[[], None]  # called now and then by work that takes long, so that its job keeps its lease
TOKEN = re.compile(r"[\w’'-]+|[^\w\s]")
LEAST_SIMILARITY = 0.4
LEAST_SCORE = 0.8  # TVR-Ranking, appendix A
PERSONS = {"PER", "PERSON"}


@dataclass(frozen=True)
class Proposal:
    """What a substituter proposes for one description.

    after: the proposed caption; empty if there is none.
    replaced: the pairs of what was taken out and what was put in.
    why: why there is no proposal; empty if there is one.
    """

    after: str
    replaced: Replaced
    why: str = ""


class Substituter(Protocol):
    """Proposes captions. It knows nothing of the checks.

    made_by: what is stored with each proposal: another value means that descriptions are worth rewording again.
    attempts: how often a description may be tried before it waits for a lead.
    at_a_time: how many descriptions are proposed, checked and stored together.
    """

    made_by: str
    attempts: int
    at_a_time: int

    def propose(self, descriptions: Sequence[str], attempt: int, beat: Beat) -> Iterator[list[Proposal]]:
        """Yield one proposal for each description, in their order, in any portions. `attempt` counts from 1."""
        ...


def differences(before: str, after: str) -> Replaced:
    """Return which words of a text were replaced by which, from a comparison of both word by word.

    >>> differences("Ross hugs Rachel.", "A man hugs a woman.")
    [('Ross', 'A man'), ('Rachel', 'a woman')]
    """
    old, new = TOKEN.findall(before), TOKEN.findall(after)
    matcher = SequenceMatcher(None, [word.lower() for word in old], [word.lower() for word in new], autojunk=False)
    return [
        (" ".join(old[i1:i2]), " ".join(new[j1:j2]))
        for operation, i1, i2, j1, j2 in matcher.get_opcodes()
        if operation != "equal"
    ]


@dataclass(frozen=True)
class Verdict:
    """What the checks say of one proposal: its similarity, and why it fails, which is empty if it passes."""

    similarity: float
    why: str


class Finder(Protocol):
    """Finds the names of persons in texts."""

    def names(self, texts: Sequence[str]) -> list[list[str]]: ...


class CastFinder:
    """Finds the names of the cast list, and capitalised words that the corpus does not show to be ordinary ones."""

    def __init__(self, cast: Cast) -> None:
        self.cast = cast
        self.allowed = {word for name in cast.stays for word in name.split()}

    def names(self, texts: Sequence[str]) -> list[list[str]]:
        return [self._names(text) for text in texts]

    def _names(self, text: str) -> list[str]:
        seeming = [
            found.word
            for found in words_of(text)
            if found.word not in self.allowed and self.cast.lexicon.seems_a_name(found.word, found.begins)
        ]
        return list(dict.fromkeys([*self.cast.names_in(text), *seeming]))


def finder(cast: Cast) -> Finder:
    """Return what finds names here: the model that the settings name, or the cast list and the corpus's capitals."""
    return ModelFinder(settings.NAMES_MODEL, cast) if settings.NAMES_MODEL else CastFinder(cast)


def check(pairs: Sequence[tuple[str, str]], names: Finder, beat: Beat) -> list[Verdict]:
    """Return the verdict on each pair of a description and a caption that is proposed for it."""
    verdicts = []
    left = names.names([after for _, after in pairs])
    for similarity, found in zip(_similarities(pairs, beat), left, strict=True):
        why = [f"It may still name a person: {', '.join(found)}."] if found else []
        if similarity < LEAST_SIMILARITY:
            too_far = f"Its similarity to the description is {similarity:.2f}; expected at least {LEAST_SIMILARITY}."
            why.insert(0, too_far)
        verdicts.append(Verdict(similarity, " ".join(why)))
    return verdicts


def _similarities(pairs: Sequence[tuple[str, str]], beat: Beat) -> list[float]:
    """Return the cosines of the texts of each pair. What was not changed needs no encoder."""
    changed = [pair for pair in pairs if pair[0] != pair[1]]
    if not changed:
        return [1.0] * len(pairs)
    vectors = embed([text for pair in changed for text in pair], lambda done, total: beat()).astype(np.float64)
    cosines = iter((vectors[::2] * vectors[1::2]).sum(axis=1).clip(-1.0, 1.0))
    return [1.0 if before == after else float(next(cosines)) for before, after in pairs]


class ModelFinder:
    """Finds what the model takes for persons' names, and the names of the cast list, which need no model. Raises
    CorpusError if the model cannot be loaded, or knows no persons.
    """

    def __init__(self, model: str, cast: Cast) -> None:
        self.classify, self.cast = _classifier(model), cast

    def names(self, texts: Sequence[str]) -> list[list[str]]:
        found = self.classify(list(texts), batch_size=32) if texts else []
        return [
            list(dict.fromkeys([*self.cast.names_in(text), *self._persons(text, entities)]))
            for text, entities in zip(texts, found, strict=True)
        ]

    def _persons(self, text: str, entities: list[dict[str, Any]]) -> list[str]:
        persons = [entity for entity in entities if entity["entity_group"].upper() in PERSONS]
        sure = [text[entity["start"] : entity["end"]] for entity in persons if entity["score"] >= LEAST_SCORE]
        return [name for name in sure if name not in self.cast.stays]


@cache
def _classifier(model: str) -> Any:
    from transformers import pipeline

    try:
        loaded = pipeline("token-classification", model=model, aggregation_strategy="simple", device=-1)
    except (OSError, ValueError, KeyError) as fault:
        raise CorpusError(
            f"NAMES_MODEL {model}: cannot be loaded ({str(fault).partition(chr(10))[0]}); "
            "expected a folder or the name of a model of token classification at a hub that this machine reaches"
        ) from fault
    labels = {label.rpartition("-")[2].upper() for label in loaded.model.config.id2label.values()}
    if not labels & PERSONS:
        raise CorpusError(f"NAMES_MODEL {model}: knows {', '.join(sorted(labels))}; expected a label for persons, PER")
    return loaded
