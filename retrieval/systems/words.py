"""The words of queries and of objects' names as numbers, for systems that learn the vectors of words themselves."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np

from retrieval.systems.data import Ints, Query, Rows
from retrieval.systems.errors import SystemsError

UNKNOWN = 0  # also what stands after the end of a short text; its vector is 0, and is not learned
WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


def words_in(text: str) -> list[str]:
    """Return a text's words in lower case.

    >>> words_in("A person's red cup, on the table.")
    ['a', "person's", 'red', 'cup', 'on', 'the', 'table']
    """
    return WORD.findall(text.lower())


class Vocabulary:
    """Words with their numbers, from 1.

    >>> vocabulary = Vocabulary.of(["red cup", "cup"])
    >>> vocabulary.words, vocabulary.numbers(["blue cup"])
    (('cup', 'red'), [[0, 1]])
    """

    def __init__(self, words: Sequence[str]) -> None:
        self.words = tuple(words)
        self._number = {word: number for number, word in enumerate(self.words, 1)}

    @classmethod
    def of(cls, texts: Iterable[str]) -> Vocabulary:
        return cls(sorted({word for text in texts for word in words_in(text)}))

    def numbers(self, texts: Iterable[str]) -> list[list[int]]:
        """Return the numbers of each text's words; a text without words is one unknown word."""
        return [[self._number.get(word, UNKNOWN) for word in words_in(text)] or [UNKNOWN] for text in texts]


def padded_numbers(lists: Sequence[Sequence[int]]) -> tuple[Ints, Ints]:
    """Return lists of numbers as an array, UNKNOWN after the end of each, and their lengths."""
    lengths = np.array([len(each) for each in lists], np.int64)
    table = np.full((len(lists), int(lengths.max(initial=1))), UNKNOWN, np.int64)
    for row, each in enumerate(lists):
        table[row, : len(each)] = each
    return table, lengths


def padded_tokens(queries: Sequence[Query], width: int) -> tuple[Rows, Ints]:
    """Return the vectors of queries' tokens as an array, zeros after the end of each, and their numbers.

    Raises
    ------
    SystemsError
        If a query has no vectors, or vectors of another width.
    """
    for query in queries:
        if query.tokens is None or query.tokens.ndim != 2 or query.tokens.shape[1] != width:
            found = "none" if query.tokens is None else f"an array of shape {query.tokens.shape}"
            raise SystemsError(
                f"query {query.id}: token vectors: {found}; expected (tokens, {width}), as in training"
            )
    tokens = [query.tokens for query in queries if query.tokens is not None]
    lengths = np.array([max(1, len(each)) for each in tokens], np.int64)
    table = np.zeros((len(tokens), int(lengths.max(initial=1)), width), np.float32)
    for row, each in enumerate(tokens):
        table[row, : len(each)] = each
    return table, lengths
