"""CONQUER's network: fusion by the query, attention both ways between words and clips, and heads for both ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from .. import options as kinds
from ..data import Query
from .inputs import Padded, Words
from .losses import NEVER
from .network import Attention, Entry, Places, begin

NOWHERE = -1e10  # in place of a similarity to what is only padding: finite, so that a clip of padding has a mean
OF_QUERIES = 1  # the kind of a query's tokens; that of clips and of subtitles is their number


class Judged(NamedTuple):
    """What CONQUER says of the candidate videos of queries.

    starts, ends: logits of clips, `NEVER` where there is none: shape (queries, candidates, clips).
    videos: logits of the candidates, if it is `exclusive`: shape (queries, candidates).
    """

    starts: Tensor
    ends: Tensor
    videos: Tensor | None


class Kinds(Places):
    """Adds what kind of thing a vector stands for, and its place."""

    def __init__(self, count: int, hidden: int, dropout: float) -> None:
        super().__init__(count, hidden, dropout)
        self.kinds = nn.Embedding(2, hidden)

    def of(self, vectors: Tensor, kind: int) -> Tensor:
        """Return the vectors anew."""
        return self(vectors + self.kinds.weight[kind])


class Block(nn.Module):
    """A transformer's block: attention, then a small network for each vector."""

    def __init__(self, options: kinds.Conquer) -> None:
        super().__init__()
        self.attention = Attention(options.hidden, options.heads, options.dropout)
        self.wide, self.narrow = nn.Linear(options.hidden, options.inner), nn.Linear(options.inner, options.hidden)
        self.norm, self.drop = nn.LayerNorm(options.hidden), nn.Dropout(options.dropout)

    def forward(self, vectors: Tensor, are_there: Tensor) -> Tensor:
        """Return the vectors anew; see `Attention`."""
        seen = self.attention(vectors, vectors, are_there[:, None])
        renewed: Tensor = self.norm(self.drop(self.narrow(functional.gelu(self.wide(seen)))) + seen)
        return renewed


class Reader(nn.Module):
    """Maps vectors to the hidden size, and reads them as a sequence, without places."""

    def __init__(self, features: int, options: kinds.Conquer) -> None:
        super().__init__()
        self.entry, self.block = Entry(features, options.hidden, options.dropout), Block(options)

    def forward(self, vectors: Tensor, are_there: Tensor) -> Tensor:
        """Return vectors: shape (sequences, length, hidden)."""
        read: Tensor = self.block(self.entry(vectors), are_there)
        return read


class Head(nn.Module):
    """Scores each clip by itself and the two clips on either side."""

    def __init__(self, options: kinds.Conquer) -> None:
        super().__init__()
        self.near = nn.Conv1d(options.hidden, options.filters, 5, padding=2, bias=False)
        self.out = nn.Conv1d(options.filters, 1, 1, bias=False)

    def forward(self, vectors: Tensor) -> Tensor:
        """Return the scores: shape (videos, clips)."""
        scores: Tensor = self.out(torch.relu(self.near(vectors.transpose(1, 2)))).squeeze(1)
        return scores


class Mix(nn.Module):
    """Weights of the streams by what the query is about: its words are counted in soft clusters (NetVLAD)."""

    def __init__(self, options: kinds.Conquer, streams: int) -> None:
        super().__init__()
        hidden, clusters = options.hidden, options.clusters
        self.near = nn.Parameter(torch.randn(hidden, clusters) / hidden**0.5)
        self.centres = nn.Parameter(torch.randn(1, hidden, clusters) / hidden**0.5)
        self.norm, self.drop = nn.LayerNorm(clusters), nn.Dropout(options.dropout)
        self.weigh = nn.Linear(hidden * clusters, streams, bias=False)

    def forward(self, query: Tensor, counts: Tensor) -> Tensor:
        """Return the weights: shape (queries, streams).

        query, counts: vectors of words, and which of them count: shapes (queries, words, hidden) and (queries, words).
        """
        shares = self.norm(query @ self.near).softmax(2) * counts[:, :, None]
        sums = query.transpose(1, 2) @ shares - shares.sum(1, keepdim=True) * self.centres
        pooled = functional.normalize(functional.normalize(sums, dim=1).flatten(1), dim=1)
        weights: Tensor = self.weigh(self.drop(pooled)).softmax(1)
        return weights


class Coupling(nn.Module):
    """Attention both ways: what the query says to each clip, and what the clips say to it, in each clip's vector."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.weigh = nn.Linear(3 * hidden, 1, bias=False)

    def forward(self, clips: Tensor, are_clips: Tensor, query: Padded) -> Tensor:
        """Return the vectors of clips, which know of the query: shape (videos, clips, 4 × hidden)."""
        of_clips, of_words, of_both = self.weigh.weight[0].chunk(3)
        words, are_words = query
        similar = (clips * of_both) @ words.transpose(1, 2)
        similar = similar + (clips @ of_clips)[:, :, None] + (words @ of_words)[:, None]
        similar = similar.masked_fill(~(are_clips[:, :, None] & are_words[:, None]), NOWHERE)
        from_words = similar.softmax(2) @ words
        heard = similar.amax(2).softmax(1)[:, None] @ clips
        return torch.cat([clips, from_words, clips * from_words, clips * heard], 2)


class ConquerNetwork(nn.Module):
    """Fusion by the query, attention both ways between words and clips, and heads for starts, ends and videos.

    features: number of features of each stream.
    words, width: as in `Words`.
    """

    def __init__(self, options: kinds.Conquer, features: Sequence[int], words: Sequence[str], width: int) -> None:
        super().__init__()
        hidden, dropout = options.hidden, options.dropout
        self.features, self.is_padded = list(features), options.padded
        self.words, self.tokens = Words(words, width), options.tokens
        self.entry, self.places = Entry(width, hidden, dropout), Kinds(options.tokens, hidden, dropout)
        self.block = Block(options)
        self.entries = nn.ModuleList(Entry(each, hidden, dropout) for each in features)
        self.clip_places, self.clip_block = Kinds(options.places, hidden, dropout), Block(options)
        self.mix = Mix(options, len(features)) if options.fusion and len(features) > 1 else None
        self.coupling, self.reading = Coupling(hidden), Reader(4 * hidden, options)
        self.starts, self.ends = Reader(5 * hidden, options), Reader(2 * hidden, options)
        self.start, self.end = Head(options), Head(options)
        self.whole = Reader(5 * hidden, options) if options.is_exclusive else None
        self.video = nn.Sequential(
            nn.Linear(hidden, options.filters, bias=False), nn.ReLU(), nn.Linear(options.filters, 1, bias=False)
        )
        self.video = self.video if options.is_exclusive else None
        self.apply(begin)

    def ask(self, queries: Sequence[Query]) -> Padded:
        """Read queries: the vectors of their words, shape (queries, words, hidden)."""
        return self.ask_words(self.words(queries))

    def ask_words(self, words: Padded) -> Padded:
        """Read queries from the vectors of their words."""
        vectors, are_there = words.vectors[:, : self.tokens], words.are_there[:, : self.tokens]
        if self.is_padded:
            room = self.tokens - vectors.shape[1]
            vectors, are_there = functional.pad(vectors, (0, 0, 0, room)), functional.pad(are_there, (0, room))
        return Padded(self.block(self.places.of(self.entry(vectors), OF_QUERIES), are_there), are_there)

    def look(self, streams: Sequence[Tensor], are_there: Tensor) -> Tensor:
        """Look at videos, whatever is asked, all streams together: shape (videos, streams, clips, hidden)."""
        each = [
            self.clip_places.of(entry(stream), kind)
            for kind, (stream, entry) in enumerate(zip(streams, self.entries, strict=True))
        ]
        seen = self.clip_block(torch.cat(each, 1), are_there.repeat(1, len(each)))
        return torch.stack(seen.chunk(len(each), 1), 1)

    def judge(self, query: Padded, seen: Tensor, clips: Tensor, candidates: Tensor) -> Judged:
        """Read each query together with its candidate videos.

        seen, clips: of the candidates of the first query, then of the second, and so on: what `look` returned, and
        which clips are there, shape (queries × candidates, clips).
        candidates: which candidates there are: shape (queries, candidates).
        """
        counts = torch.ones_like(query.are_there) if self.is_padded else query.are_there
        shares = None if self.mix is None else self.mix(query.vectors, counts).repeat_interleave(candidates.shape[1], 0)
        query = Padded(*(each.repeat_interleave(candidates.shape[1], 0) for each in query))
        fused = seen.mean(1) if shares is None else torch.einsum("vs,vsch->vch", shares, seen)
        coupled = self.coupling(fused, clips, query)
        read = self.reading(coupled, clips)
        both = torch.cat([coupled, read], 2)
        starts = self.starts(both, clips)
        ends = self.ends(torch.cat([read, starts], 2), clips)
        found = [
            head(self._without_padding(each, clips, 0.0)).masked_fill(~clips, NEVER).unflatten(0, candidates.shape)
            for head, each in ((self.start, starts), (self.end, ends))
        ]
        found = [each.masked_fill(~candidates[:, :, None], NEVER) for each in found]
        return Judged(found[0], found[1], self._choose(both, clips, candidates))

    def _choose(self, both: Tensor, clips: Tensor, candidates: Tensor) -> Tensor | None:
        """Return the logits of the candidates, by the highest of each feature over a video."""
        if self.whole is None or self.video is None:
            return None
        seen = self._without_padding(self.whole(both, clips), clips, NEVER).amax(1)
        chosen: Tensor = self.video(seen).view_as(candidates).masked_fill(~candidates, NEVER)
        return chosen

    def _without_padding(self, vectors: Tensor, clips: Tensor, instead: float) -> Tensor:
        return vectors if self.is_padded else vectors.masked_fill(~clips[:, :, None], instead)
