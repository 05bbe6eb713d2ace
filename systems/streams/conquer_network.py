"""The network of CONQUER: streams mixed as the query wants it, and read together with the query's words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from ..data import Query
from .attention import Block, Entry, Pooling
from .inputs import Padded, Words
from .losses import NEVER
from .options import Conquer


class Judged(NamedTuple):
    """What CONQUER says of the candidate videos of queries.

    Attributes
    ----------
    starts, ends
        Logits of clips, `NEVER` where there is none: shape (queries, candidates, clips).
    videos
        Logits of the candidates: shape (queries, candidates).
    """

    starts: Tensor
    ends: Tensor
    videos: Tensor


class ConquerNetwork(nn.Module):
    """Fusion by the query, attention both ways between words and clips, and heads for starts, ends and videos.

    Parameters
    ----------
    features
        Number of features of each stream.
    words, width
        As in `Words`.
    """

    def __init__(self, options: Conquer, features: Sequence[int], words: Sequence[str], width: int) -> None:
        super().__init__()
        hidden, heads, dropout = options.hidden, options.heads, options.dropout
        self.features = list(features)
        self.words = Words(words, width)
        self.entry, self.block = Entry(width, hidden, dropout), Block(hidden, heads, dropout)
        self.entries = nn.ModuleList(Entry(each, hidden, dropout) for each in features)
        self.blocks = nn.ModuleList(Block(hidden, heads, dropout) for _ in features)
        self.pooling, self.mix = Pooling(hidden, 1), nn.Linear(hidden, len(features))
        self.coupling = Coupling(hidden)
        self.reading = Block(hidden, heads, dropout)
        self.starts, self.ends = Block(hidden, heads, dropout), Block(hidden, heads, dropout)
        self.start, self.end = nn.Linear(2 * hidden, 1), nn.Linear(2 * hidden, 1)
        self.summary, self.video = Pooling(hidden, 1), nn.Linear(hidden, 1)

    def ask(self, queries: Sequence[Query]) -> Padded:
        """Read queries: the vectors of their words, shape (queries, words, hidden)."""
        words, are_there = self.words(queries)
        return Padded(self.block(self.entry(words), are_there), are_there)

    def look(self, streams: Sequence[Tensor], are_there: Tensor) -> Tensor:
        """Look at videos, whatever is asked: shape (videos, streams, clips, hidden)."""
        each = zip(streams, self.entries, self.blocks, strict=True)
        return torch.stack([block(entry(stream), are_there) for stream, entry, block in each], 1)

    def judge(self, query: Padded, seen: Tensor, clips: Tensor, candidates: Tensor) -> Judged:
        """Read each query together with its candidate videos.

        Parameters
        ----------
        seen, clips
            Of the candidates of the first query, then of the second, and so on: what `look` returned, and which
            clips are there, shape (queries × candidates, clips).
        candidates
            Which candidates there are: shape (queries, candidates).
        """
        query = Padded(*(each.repeat_interleave(candidates.shape[1], 0) for each in query))
        mixed = self.coupling(self.fuse(query, seen), clips, query)
        read = self.reading(mixed, clips)
        starts = self.starts(read, clips)
        ends = self.ends(starts, clips)
        found = [
            head(torch.cat([read, each], 2)).squeeze(2).masked_fill(~clips, NEVER)
            for head, each in ((self.start, starts), (self.end, ends))
        ]
        videos = self.video(self.summary(read, clips).squeeze(1)).view_as(candidates)
        shaped = [each.unflatten(0, candidates.shape) for each in found]
        missing = ~candidates[:, :, None]
        return Judged(
            shaped[0].masked_fill(missing, NEVER),
            shaped[1].masked_fill(missing, NEVER),
            videos.masked_fill(~candidates, NEVER),
        )

    def fuse(self, query: Padded, seen: Tensor) -> Tensor:
        """Return one vector for each clip: the streams', weighted as the query wants it (query-dependent fusion)."""
        shares = self.mix(self.pooling(*query).squeeze(1)).softmax(1)
        return torch.einsum("vs,vsch->vch", shares, seen)


class Coupling(nn.Module):
    """Attention both ways: what the query says to each clip, and what the clips say to it, in each clip's vector."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.of_clips, self.of_words = nn.Linear(hidden, 1, bias=False), nn.Linear(hidden, 1, bias=False)
        self.together = nn.Parameter(torch.randn(hidden) / math.sqrt(hidden))
        self.join, self.norm = nn.Linear(4 * hidden, hidden), nn.LayerNorm(hidden)

    def forward(self, clips: Tensor, are_clips: Tensor, query: Padded) -> Tensor:
        """Return the vectors of clips, which know of the query: shape (videos, clips, hidden)."""
        words, are_words = query
        similar = (clips * self.together) @ words.transpose(1, 2)
        similar = similar + self.of_clips(clips) + self.of_words(words).transpose(1, 2)
        to_words = similar.masked_fill(~are_words[:, None], NEVER).softmax(2)
        to_clips = similar.masked_fill(~are_clips[:, :, None], NEVER).softmax(1)
        from_words = to_words @ words
        heard = to_words @ (to_clips.transpose(1, 2) @ clips)
        return self.norm(clips + self.join(torch.cat([clips, from_words, clips * from_words, clips * heard], 2)))
