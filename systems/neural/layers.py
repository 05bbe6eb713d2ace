"""The parts of the networks: words of queries and of objects' names by an LSTM, and moments by the clips they hold."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from ..data import Ints, Objects, Query, Rows, Videos, let_go
from ..errors import SystemsError
from ..options import Contrastive
from ..windows import Windows, endpoints
from .device import placed

UNKNOWN = 0  # also what stands after the end of a short text; its vector is 0, and is not learned
WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


class Padded(NamedTuple):
    """Sequences of different lengths in one tensor, and which places of it hold something."""

    vectors: torch.Tensor
    are_there: torch.Tensor


class Words(nn.Module):
    """The vectors of queries' words: given ones, or learned ones where there is a vocabulary.

    words: the vocabulary; empty if queries come with vectors of their tokens.
    width: of the vectors.
    """

    def __init__(self, words: Sequence[str], width: int) -> None:
        super().__init__()
        self.vocabulary, self.width = Vocabulary(words), width
        if words:
            self.vectors = nn.Embedding(len(words) + 1, width, padding_idx=UNKNOWN)

    def read(self, queries: Sequence[Query]) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the vectors of the queries' words, padded, and how many there are; these stay on the processor."""
        if not self.vocabulary.words:
            tokens, lengths = padded_tokens(queries, self.width)
            return placed(tokens), torch.from_numpy(lengths)
        numbers, lengths = padded_numbers(self.vocabulary.numbers(query.text for query in queries))
        return self.vectors(placed(numbers)), torch.from_numpy(lengths)

    def padded(self, queries: Sequence[Query]) -> Padded:
        """Return the vectors of the queries' words: shape (queries, words, width)."""
        vectors, lengths = self.read(queries)
        return Padded(vectors, places_before(lengths, vectors))


class Language(Words):
    """An LSTM over a query's words, backwards too if `both_ways`, whose states are mapped to the compared space."""

    def __init__(self, options: Contrastive, words: Sequence[str], width: int, both_ways: bool) -> None:
        super().__init__(words, width)
        self.lstm = nn.LSTM(width, options.language, batch_first=True, bidirectional=both_ways)
        self.out = nn.Linear(options.language * (1 + both_ways), options.embedding)

    def forward(self, queries: Sequence[Query]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return vectors of queries and of their words, and which there are: (queries, d), (queries, words, d)."""
        vectors, lengths = self.read(queries)
        packed = nn.utils.rnn.pack_padded_sequence(vectors, lengths, batch_first=True, enforce_sorted=False)
        states, (last, _) = self.lstm(packed)
        each, _ = nn.utils.rnn.pad_packed_sequence(states, batch_first=True)
        is_there = places_before(lengths, each)
        return self.out(last.transpose(0, 1).flatten(1)), self.out(each), is_there

    def names(self, objects: Objects) -> torch.Tensor:
        """Return the vectors of objects' names, each the mean of its words: shape (names, width)."""
        if not objects.names:
            return placed(np.zeros((0, self.width), np.float32))
        if self.vocabulary.words:
            numbers, lengths = padded_numbers(self.vocabulary.numbers(objects.names))
            return self.vectors(placed(numbers)).sum(1) / placed(lengths)[:, None]
        if objects.vectors is None or objects.vectors.shape[1] != self.width:
            raise SystemsError(f"the objects' names have no vectors of width {self.width}, as the tokens have")
        return placed(np.asarray(objects.vectors, np.float32))


class Perceptron(nn.Module):
    """A hidden layer over the features of sets' members, beside features that all members of a set share.

    It is one linear layer over both, whose two halves are computed apart: the shared half once for each set.
    """

    def __init__(self, options: Contrastive, own: int, shared: int) -> None:
        super().__init__()
        self.own = nn.Linear(own, options.hidden) if own else None
        self.shared = nn.Linear(shared, options.hidden, bias=not own) if shared else None
        self.drop = nn.Dropout(options.dropout)
        self.out = nn.Linear(options.hidden, options.embedding)

    def forward(self, own: torch.Tensor, shared: torch.Tensor, owner: torch.Tensor) -> torch.Tensor:
        """Return a vector for each member.

        own, shared: shapes (members, own) and (sets, shared).
        owner: the set of each member: shape (members,).
        """
        hidden: torch.Tensor | float = 0.0
        if self.own is not None:
            hidden = hidden + self.own(own)
        if self.shared is not None:
            hidden = hidden + self.shared(shared)[owner]
        return self.out(self.drop(torch.relu(hidden)))


class Ragged(NamedTuple):
    """Sets of different sizes, whose members stand together.

    rows: shape (members, d).
    owner: the set of each member, never falling: shape (members,).
    sizes: members of each set: shape (sets,).
    """

    rows: torch.Tensor
    owner: torch.Tensor
    sizes: torch.Tensor

    def padded(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the sets, with zeros after their ends, and which members are there: (sets, size, d), (sets, size)."""
        places = torch.arange(max(1, int(self.sizes.max())), device=self.sizes.device)
        is_there = places[None] < self.sizes[:, None]
        room = self.rows.new_zeros(*is_there.shape, self.rows.shape[1])
        return room.masked_scatter(is_there.unsqueeze(-1), self.rows), is_there

    def means(self) -> torch.Tensor:
        """Return the mean of each set, 0 for an empty one: shape (sets, d)."""
        sums = self.rows.new_zeros(len(self.sizes), self.rows.shape[1]).index_add(0, self.owner, self.rows)
        return sums / self.sizes.clamp_min(1).unsqueeze(1)


def ragged(first: Ints, count: Ints) -> tuple[Ints, torch.Tensor, torch.Tensor]:
    """Return the rows first to first + count - 1 of each set, one after the other, with their owners and the sizes."""
    owner = np.repeat(np.arange(len(first)), count)
    rows = np.arange(len(owner)) + np.repeat(first - (np.cumsum(count) - count), count)
    return rows, placed(owner), placed(count)


def clips_of(videos: Videos, windows: Windows) -> Ragged:
    """Return the clips of windows; no others are moved to the device."""
    first = videos.offsets[windows.video] + windows.first
    rows, owner, sizes = ragged(first, windows.stop - windows.first)
    clips = np.array(videos.clips[rows], np.float32)
    let_go(videos.clips)
    return Ragged(placed(clips), owner, sizes)


def context_of(videos: Videos, windows: Windows) -> torch.Tensor:
    """Return the mean clip of each window's video (STAL, Section 3): shape (windows, d)."""
    return placed(videos.means[windows.video])


def endpoints_of(videos: Videos, windows: Windows) -> torch.Tensor:
    """Return the temporal endpoints of windows: shape (windows, 2)."""
    return placed(endpoints(windows.start, windows.end, videos.duration[windows.video]))


def objects_of(videos: Videos, objects: Objects, names: torch.Tensor, windows: Windows) -> Ragged:
    """Return the objects of windows, each as the vector of its name, of shape (w,), and its box: w + 4 features."""
    begin = videos.offsets[windows.video]
    first = np.searchsorted(objects.clip, begin + windows.first)
    count = np.searchsorted(objects.clip, begin + windows.stop) - first
    rows, owner, sizes = ragged(first, count)
    boxes = placed(np.asarray(objects.box[rows], np.float32))
    return Ragged(torch.cat([names[placed(objects.name[rows])], boxes], dim=1), owner, sizes)


def words_and_width(width: int, queries: Sequence[Query], names: Sequence[str] = ()) -> dict[str, Any]:
    """Return the vocabulary of a training, empty if queries have vectors, and the width of these or of learned ones."""
    if queries[0].tokens is not None:
        return {"words": [], "width": int(queries[0].tokens.shape[1])}
    vocabulary = Vocabulary.of([*(query.text for query in queries), *names])
    return {"words": list(vocabulary.words), "width": width}


def places_before(lengths: torch.Tensor, vectors: torch.Tensor) -> torch.Tensor:
    """Return which places of padded sequences, of shape (sequences, length, d), come before the sequences' ends."""
    return torch.arange(vectors.shape[1], device=vectors.device)[None] < lengths.to(vectors.device)[:, None]


def as_rows(tensor: torch.Tensor) -> Rows:
    """Return a tensor as an array."""
    return np.asarray(tensor.detach().cpu().numpy(), np.float32)


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
    return _padded([np.array(each, np.int64) for each in lists], np.empty((0,), np.int64))


def padded_tokens(queries: Sequence[Query], width: int) -> tuple[Rows, Ints]:
    """Return queries' token vectors, zeros after the end of each, and their numbers. Raises SystemsError for others."""
    for query in queries:
        if query.tokens is None or query.tokens.ndim != 2 or query.tokens.shape[1] != width:
            found = "none" if query.tokens is None else f"an array of shape {query.tokens.shape}"
            raise SystemsError(f"query {query.id}: token vectors: {found}; expected (tokens, {width}), as in training")
    tokens = [query.tokens for query in queries if query.tokens is not None]
    table, lengths = _padded(tokens, np.empty((0, width), np.float32))
    let_go(tokens[0] if tokens else None)
    return table, lengths


def _padded(parts: Sequence[NDArray[Any]], like: NDArray[Any]) -> tuple[NDArray[Any], Ints]:
    """Return parts as an array, zeros after the end of each, and their lengths, which are 1 at least."""
    lengths = np.array([max(1, len(each)) for each in parts], np.int64)
    table = np.zeros((len(parts), int(lengths.max(initial=1)), *like.shape[1:]), like.dtype)
    for row, each in enumerate(parts):
        table[row, : len(each)] = each
    return table, lengths
