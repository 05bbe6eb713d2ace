"""The network of XML and of ReLoCLNet, and the attention that its parts and CONQUER's are made of."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from ..data import Query
from .inputs import Words
from .losses import NEVER
from .options import Streams


class Entry(nn.Module):
    """Maps features to vectors of the hidden size, and adds to each its place in the sequence."""

    def __init__(self, features: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.before = nn.LayerNorm(features)
        self.linear = nn.Linear(features, hidden)
        self.after = nn.LayerNorm(hidden)
        self.drop = nn.Dropout(dropout)

    def forward(self, features: Tensor) -> Tensor:
        """Return vectors: shape (sequences, length, hidden)."""
        vectors = torch.relu(self.linear(self.drop(self.before(features))))
        return self.drop(self.after(vectors + places(*vectors.shape[1:])))


def places(length: int, hidden: int) -> Tensor:
    """Return sines and cosines of the places of a sequence: shape (length, hidden). They are fixed and not learned, so
    that a video longer than those of the training has places too.
    """
    steps = torch.exp(torch.arange(0, hidden, 2) * (-math.log(10_000) / hidden))
    angles = torch.arange(length)[:, None] * steps
    return torch.stack([angles.sin(), angles.cos()], 2).flatten(1)


class Attention(nn.Module):
    """Each vector of a sequence takes up what it finds in a sequence: in its own, or in another one."""

    def __init__(self, hidden: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key = nn.Linear(hidden, hidden), nn.Linear(hidden, hidden)
        self.value, self.out = nn.Linear(hidden, hidden), nn.Linear(hidden, hidden)
        self.norm, self.drop = nn.LayerNorm(hidden), nn.Dropout(dropout)

    def forward(self, vectors: Tensor, others: Tensor, are_there: Tensor) -> Tensor:
        """Return the vectors anew.

        vectors, others: shapes (sequences, length, hidden) and (sequences, other length, hidden).
        are_there: true where `others` holds something, at least once in each sequence: shape (sequences, other length).
        """
        query, key, value = (
            linear(each).unflatten(2, (self.heads, -1)).transpose(1, 2)
            for linear, each in ((self.query, vectors), (self.key, others), (self.value, others))
        )
        found = functional.scaled_dot_product_attention(query, key, value, are_there[:, None, None])
        return self.norm(vectors + self.drop(self.out(found.transpose(1, 2).flatten(2))))


class Block(nn.Module):
    """A transformer's block: attention, then a small network for each vector."""

    def __init__(self, hidden: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.attention = Attention(hidden, heads, dropout)
        self.wide, self.narrow = nn.Linear(hidden, hidden), nn.Linear(hidden, hidden)
        self.norm, self.drop = nn.LayerNorm(hidden), nn.Dropout(dropout)

    def forward(self, vectors: Tensor, are_there: Tensor) -> Tensor:
        """Return the vectors anew; see `Attention`."""
        seen = self.attention(vectors, vectors, are_there)
        return self.norm(seen + self.drop(self.narrow(functional.gelu(self.wide(seen)))))


class Pooling(nn.Module):
    """Several weighted means of a sequence, whose weights are learned (XML, Eq. 2: a query for each stream)."""

    def __init__(self, hidden: int, means: int) -> None:
        super().__init__()
        self.weigh = nn.Linear(hidden, means, bias=False)

    def forward(self, vectors: Tensor, are_there: Tensor) -> Tensor:
        """Return the means: shape (sequences, means, hidden)."""
        weights = self.weigh(vectors).masked_fill(~are_there[:, :, None], float("-inf")).softmax(1)
        return weights.transpose(1, 2) @ vectors


class QueryVectors(NamedTuple):
    """The vectors of queries, one for each stream: for finding a video, and for finding a moment in it. Their shapes
    are (queries, streams, hidden).
    """

    of_videos: Tensor
    of_moments: Tensor


class Seen(NamedTuple):
    """The vectors of videos' clips in each stream: for finding a video, and for finding a moment in it. Their shapes
    are (videos, streams, clips, hidden); `are_there` has shape (videos, clips).
    """

    for_videos: Tensor
    for_moments: Tensor
    are_there: Tensor


class Network(nn.Module):
    """Encoders of queries and of each stream, the attention of one stream to the other, and ConvSE.

    features: number of features of each stream.
    words, width: as in `Words`.
    two_levels: whether videos are found by clips that have not looked at the other stream yet, as in XML.
    """

    def __init__(
        self, options: Streams, features: Sequence[int], words: Sequence[str], width: int, two_levels: bool
    ) -> None:
        super().__init__()
        hidden, heads, dropout = options.hidden, options.heads, options.dropout
        self.features, self.two_levels = list(features), two_levels
        self.words = Words(words, width)
        self.entry, self.block = Entry(width, hidden, dropout), Block(hidden, heads, dropout)
        self.pooling = Pooling(hidden, len(features))
        self.asks = nn.ModuleList(nn.Linear(hidden, hidden) for _ in features)
        self.entries = nn.ModuleList(Entry(each, hidden, dropout) for each in features)
        self.firsts = nn.ModuleList(Block(hidden, heads, dropout) for _ in features)
        self.crosses = nn.ModuleList(Attention(hidden, heads, dropout) for _ in features[1:] for _ in "ab")
        self.seconds = nn.ModuleList(Block(hidden, heads, dropout) for _ in features)
        self.boundaries = ConvSE(options.kernel)

    def ask(self, queries: Sequence[Query]) -> QueryVectors:
        """Read queries (XML, Section 4.1: modular vectors)."""
        words, are_there = self.words(queries)
        pooled = self.pooling(self.block(self.entry(words), are_there), are_there)
        return QueryVectors(pooled, torch.stack([ask(pooled[:, place]) for place, ask in enumerate(self.asks)], 1))

    def look(self, streams: Sequence[Tensor], are_there: Tensor) -> Seen:
        """Look at videos: first each stream by itself, then each at the other, if there are two.

        streams, are_there: what `read` returns.
        """
        firsts = [
            block(entry(stream), are_there)
            for stream, entry, block in zip(streams, self.entries, self.firsts, strict=True)
        ]
        crossed = [
            cross(own, other, are_there)
            for own, other, cross in zip(firsts, reversed(firsts), self.crosses, strict=False)
        ]
        seconds = [block(each, are_there) for each, block in zip(crossed or firsts, self.seconds, strict=True)]
        for_moments = torch.stack(seconds, 1)
        for_videos = torch.stack(firsts, 1) if self.two_levels else for_moments
        return Seen(for_videos, for_moments, are_there)

    def find(self, of_moments: Tensor, for_moments: Tensor, are_there: Tensor) -> Boundaries:
        """Return the logits of the starts and the ends of moments, each query beside a video of its own.

        of_moments, for_moments, are_there: shapes (pairs, streams, hidden), (pairs, streams, clips, hidden) and (pairs,
        clips).
        """
        similar = (for_moments @ of_moments[:, :, :, None]).squeeze(3).mean(1)
        return self.boundaries(similar / math.sqrt(of_moments.shape[2]), are_there)


class Compared(NamedTuple):
    """Queries beside the videos of a batch.

    cosines, products: a query's highest cosine, or scaled product, with a clip of the video, mean of the streams: shape
    (queries, videos).
    by_clip: scaled products of the query of each row and the clips of the video of the same row: shape (queries,
    streams, clips).
    """

    cosines: Tensor
    products: Tensor
    by_clip: Tensor


def compare(query: Tensor, seen: Tensor, are_there: Tensor) -> Compared:
    """Compare as many queries with as many videos; shapes as in `QueryVectors` and `Seen`. Products are divided by the
    square root of the vectors' size, so that the losses do not grow with it.
    """
    products = torch.einsum("qsh,vsch->qvsc", query, seen) / math.sqrt(query.shape[2])
    lengths = query.norm(dim=2)[:, None, :, None] * seen.norm(dim=3)[None] / math.sqrt(query.shape[2])
    is_none = ~are_there[None, :, None]
    rows = torch.arange(len(query))
    return Compared(
        (products / lengths.clamp(min=1e-6)).masked_fill(is_none, NEVER).amax(3).mean(2),
        products.masked_fill(is_none, NEVER).amax(3).mean(2),
        products[rows, rows],
    )


class Boundaries(NamedTuple):
    """Logits of each clip as the first and as the last one of the moment: shape (videos, clips) each."""

    starts: Tensor
    ends: Tensor


class ConvSE(nn.Module):
    """Two learned filters over a query's similarity to the clips, one for starts and one for ends (XML, Eq. 5 and 6).

    kernel: clips that a filter sees at a time, an odd number.
    """

    def __init__(self, kernel: int) -> None:
        super().__init__()
        self.filters = nn.Conv1d(1, 2, kernel, padding=kernel // 2, bias=False)

    def forward(self, similarities: Tensor, are_there: Tensor) -> Boundaries:
        """Return the logits; they are `NEVER` where there is no clip.

        similarities, are_there: shape (videos, clips).
        """
        seen = self.filters((similarities * are_there)[:, None]).masked_fill(~are_there[:, None], NEVER)
        return Boundaries(seen[:, 0], seen[:, 1])


def spans(starts: Tensor, ends: Tensor, counts: Tensor, shortest: int, longest: int) -> tuple[Tensor, Tensor]:
    """Return the score of each moment, the sum of its start's and its end's, and which moments there are.

    A video with fewer clips than `shortest` has one moment: all of it.

    starts, ends: scores of clips: shape (videos, clips).
    counts: clips of each video: shape (videos,).
    shortest, longest: lengths of moments, in clips.
    Returns tensors of shape (videos, clips, lengths). Lengths are 1 to `longest`; a moment is at the row of its first
    clip.
    """
    clips = starts.shape[1]
    lengths = torch.arange(1, min(longest, clips) + 1)
    last = torch.arange(clips)[:, None] + lengths - 1
    fits = last < counts[:, None, None]
    enough = lengths >= counts.clamp(max=shortest)[:, None, None]
    scores = starts[:, :, None] + ends[:, last.clamp(max=clips - 1)]
    return scores, fits & enough
