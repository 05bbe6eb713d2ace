"""The network of XML and of ReLoCLNet as their public code has it, and the parts that CONQUER's is made of too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from ..data import Query
from ..neural.layers import Padded, Words
from ..options import Streams
from .losses import NEVER

HIDDEN_FROM = -10_000.0  # is added where attention may not look: finite, so that a row that may look nowhere has a mean
SPREAD = 0.02  # standard deviation of weights before training


class Entry(nn.Module):
    """Maps features to vectors of the hidden size."""

    def __init__(self, features: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.norm, self.drop, self.linear = nn.LayerNorm(features), nn.Dropout(dropout), nn.Linear(features, hidden)

    def forward(self, features: Tensor) -> Tensor:
        """Return vectors: shape (..., hidden)."""
        return torch.relu(self.linear(self.drop(self.norm(features))))


class Places(nn.Module):
    """Adds to each vector of a sequence a learned one of its place."""

    def __init__(self, count: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.table, self.norm, self.drop = nn.Embedding(count, hidden), nn.LayerNorm(hidden), nn.Dropout(dropout)

    def forward(self, vectors: Tensor) -> Tensor:
        """Return the vectors anew, of which a sequence has as many as there are places at most."""
        placed: Tensor = self.drop(self.norm(vectors + self.table.weight[: vectors.shape[1]]))
        return placed


class Attention(nn.Module):
    """Each vector of a sequence takes up what it finds in a sequence: in its own, or in another one.

    is_mapped: whether a linear map follows, as in an encoder; it does not where one stream looks at the other.
    """

    def __init__(self, hidden: int, heads: int, dropout: float, is_mapped: bool = True) -> None:
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.query, self.key = nn.Linear(hidden, hidden), nn.Linear(hidden, hidden)
        self.value = nn.Linear(hidden, hidden)
        self.out = nn.Sequential(nn.Linear(hidden, hidden), nn.Dropout(dropout)) if is_mapped else nn.Identity()
        self.norm = nn.LayerNorm(hidden)

    def forward(self, vectors: Tensor, others: Tensor, sees: Tensor) -> Tensor:
        """Return the vectors anew.

        vectors, others: shapes (sequences, length, hidden) and (sequences, other length, hidden).
        sees: true where a vector may look at one of the others: shape (sequences, length or 1, other length).
        """
        query, key, value = (
            linear(each).unflatten(2, (self.heads, -1)).transpose(1, 2)
            for linear, each in ((self.query, vectors), (self.key, others), (self.value, others))
        )
        bias = torch.zeros_like(sees, dtype=vectors.dtype).masked_fill(~sees, HIDDEN_FROM)[:, None]
        dropped = self.dropout if self.training else 0.0
        found = functional.scaled_dot_product_attention(query, key, value, bias, dropped)
        renewed: Tensor = self.norm(self.out(found.transpose(1, 2).flatten(2)) + vectors)
        return renewed


class Pooling(nn.Module):
    """Several weighted means of a sequence, whose weights are learned (XML, Eq. 2: a query for each stream)."""

    def __init__(self, hidden: int, means: int) -> None:
        super().__init__()
        self.weigh = nn.Linear(hidden, means, bias=False)

    def forward(self, vectors: Tensor, are_there: Tensor) -> Tensor:
        """Return the means: shape (sequences, means, hidden)."""
        weights = self.weigh(vectors).masked_fill(~are_there[:, :, None], NEVER).softmax(1)
        return weights.transpose(1, 2) @ vectors


class QueryVectors(NamedTuple):
    """Vectors of queries for finding a video, and a moment in it: shapes (queries, streams, hidden)."""

    of_videos: Tensor
    of_moments: Tensor


class Seen(NamedTuple):
    """The vectors of videos' clips in each stream: for finding a video, for finding a moment in it, and for the losses
    that contrast them with queries. Their shapes are (videos, streams, clips, hidden); `are_there` has shape (videos,
    clips).
    """

    for_videos: Tensor
    for_moments: Tensor
    for_contrast: Tensor
    are_there: Tensor


class Network(nn.Module):
    """Encoders of queries and of each stream, the attention of one stream to the other, and ConvSE.

    features: number of features of each stream.
    words, width: as in `Words`.
    two_levels: whether it is XML, which finds videos by clips that have not looked at the other stream yet. ReLoCLNet
    has one encoder more of queries, and one of clips.
    """

    def __init__(
        self, options: Streams, features: Sequence[int], words: Sequence[str], width: int, two_levels: bool
    ) -> None:
        super().__init__()
        hidden, heads, dropout = options.hidden, options.heads, options.dropout
        crosses = options.cross and len(features) > 1
        self.features, self.two_levels = list(features), two_levels
        self.words, self.tokens = Words(words, width), options.tokens
        self.entry, self.places = Entry(width, hidden, dropout), Places(options.tokens, hidden, dropout)
        self.readers = nn.ModuleList(Attention(hidden, heads, dropout) for _ in range(1 if two_levels else 2))
        self.pooling = Pooling(hidden, len(features))
        self.asks = nn.ModuleList(nn.Linear(hidden, hidden) for _ in features)
        wide = 2 * options.tef
        self.entries = nn.ModuleList(Entry(each + wide, hidden, dropout) for each in features)
        self.clip_places = Places(options.places, hidden, dropout)
        levels = 2 if two_levels and crosses else 3
        self.encoders = nn.ModuleList(
            nn.ModuleList(Attention(hidden, heads, dropout) for _ in range(levels)) for _ in features
        )
        self.crosses = nn.ModuleList(Attention(hidden, heads, dropout, False) for _ in features if crosses)
        self.boundaries = nn.ModuleList(ConvSE(options.kernel) for _ in (features[:1] if options.merge else features))
        self.apply(begin)

    def ask(self, queries: Sequence[Query]) -> QueryVectors:
        """Read queries (XML, Section 4.1: modular vectors), of which the first `tokens` words count."""
        words = self.words.padded(queries)
        return self.ask_words(words._replace(vectors=shortened(words.vectors)))

    def ask_words(self, words: Padded) -> QueryVectors:
        """Read queries from the vectors of their words, whose lengths do not matter."""
        vectors, are_there = words.vectors[:, : self.tokens], words.are_there[:, : self.tokens]
        vectors = self.places(self.entry(vectors))
        for reader in self.readers:
            vectors = reader(vectors, vectors, are_there[:, None])
        pooled = self.pooling(vectors, are_there)
        return QueryVectors(pooled, torch.stack([ask(pooled[:, place]) for place, ask in enumerate(self.asks)], 1))

    def look(self, streams: Sequence[Tensor], are_there: Tensor) -> Seen:
        """Look at videos: first each stream by itself, then each at the other, if there are two; see `Reading.read`."""
        sees, both = are_there[:, None], are_there[:, :, None] & are_there[:, None]
        firsts = [
            levels[0](each := self.clip_places(entry(stream)), each, sees)
            for stream, entry, levels in zip(streams, self.entries, self._levels(), strict=True)
        ]
        crossed = [
            cross(own, other, both) for own, other, cross in zip(firsts, reversed(firsts), self.crosses, strict=False)
        ] or firsts
        seconds = [levels[1](each, each, sees) for each, levels in zip(crossed, self._levels(), strict=True)]
        lasts = [
            levels[2](each, each, sees) if len(levels) > 2 else each
            for each, levels in zip(seconds, self._levels(), strict=True)
        ]
        for_moments = torch.stack(lasts, 1)
        for_videos = torch.stack(firsts, 1) if self.two_levels else for_moments
        return Seen(for_videos, for_moments, torch.stack(seconds, 1), are_there)

    def _levels(self) -> list[nn.ModuleList]:
        return [each for each in self.encoders if isinstance(each, nn.ModuleList)]

    def find(self, of_moments: Tensor, for_moments: Tensor, are_there: Tensor, is_padded: bool) -> Boundaries:
        """Return the logits of the starts and the ends of moments, each query beside a video of its own.

        of_moments, for_moments, are_there: shapes (pairs, streams, hidden), (pairs, streams, clips, hidden) and (pairs,
        clips).
        is_padded: whether a query's similarity to what is only padding counts in the clips before it, as in the
        authors' code; it depends on how much padding there is.
        """
        similar = (for_moments @ of_moments[:, :, :, None]).squeeze(3)
        similar = similar if is_padded else similar * are_there[:, None]
        if len(self.boundaries) == 1:
            return Boundaries(*self.boundaries[0](similar.mean(1), are_there))
        each = [find(similar[:, stream], are_there) for stream, find in enumerate(self.boundaries)]
        return Boundaries(*(torch.stack(logits).mean(0) for logits in zip(*each, strict=True)))


def begin(module: nn.Module) -> None:
    """Draw the weights of a module before training."""
    if isinstance(module, nn.Linear | nn.Embedding):
        nn.init.normal_(module.weight, std=SPREAD)
    if isinstance(module, nn.Linear) and module.bias is not None:
        nn.init.zeros_(module.bias)


def shortened(vectors: Tensor) -> Tensor:
    """Return vectors of length 1, nearly; zeros stay zeros."""
    return vectors / (vectors.norm(dim=-1, keepdim=True) + 1e-5)


def cosines(query: Tensor, seen: Tensor, are_there: Tensor) -> Tensor:
    """Return the highest cosine of each query with a clip of each video, mean of streams: shape (queries, videos)."""
    return products(functional.normalize(query, dim=2), functional.normalize(seen, dim=3), are_there)


def products(query: Tensor, seen: Tensor, are_there: Tensor) -> Tensor:
    """Return the highest dot product of each query with a clip of each video, as `cosines` does."""
    found = torch.einsum("qsh,vsch->qvsc", query, seen)
    return found.masked_fill(~are_there[None, :, None], NEVER).amax(3).mean(2)


class Boundaries(NamedTuple):
    """Logits of each clip as the first one of the moment, and as its end: shape (videos, clips) each."""

    starts: Tensor
    ends: Tensor


class ConvSE(nn.Module):
    """Two filters over a query's similarity to clips, for starts and for ends (XML, Eq. 5 and 6); `kernel` is odd."""

    def __init__(self, kernel: int) -> None:
        super().__init__()
        self.start, self.end = (nn.Conv1d(1, 1, kernel, padding=kernel // 2, bias=False) for _ in range(2))

    def forward(self, similarities: Tensor, are_there: Tensor) -> Boundaries:
        """Return the logits; they are `NEVER` where there is no clip.

        similarities, are_there: shape (videos, clips).
        """
        seen = (side(similarities[:, None]).squeeze(1) for side in (self.start, self.end))
        return Boundaries(*(each.masked_fill(~are_there, NEVER) for each in seen))


def spans(
    starts: Tensor, ends: Tensor, counts: Tensor, shortest: int, longest: int, after: int = 0
) -> tuple[Tensor, Tensor]:
    """Return the score of each moment, the sum of its start's and its end's, and which moments there are.

    A video with no more clips than `shortest` has one moment: all of it.

    starts, ends, counts: scores of clips, shape (videos, clips), and clips of each video, shape (videos,).
    shortest, longest: lengths of moments, in clips.
    after: 1 if the end is the score of the clip after the moment's last one, as in ReLoCLNet; 0 if it is of this one.
    Returns tensors of shape (videos, clips, lengths), for first clips and lengths of 1 to `longest`.
    """
    clips = starts.shape[1]
    lengths, counts = torch.arange(1, min(longest, clips) + 1), counts[:, None, None]
    first = torch.arange(clips)[:, None]
    last = (first + lengths - 1 + after).expand(len(starts), -1, -1)
    is_whole = (first == 0) & (lengths == counts) & (counts <= shortest)
    fits = (last < counts) & (lengths >= counts.clamp(max=shortest))
    last = torch.minimum(last, (counts - 1).clamp(min=0))
    scores = starts[:, :, None] + ends.gather(1, last.flatten(1)).view_as(last)
    return scores, fits | is_whole
