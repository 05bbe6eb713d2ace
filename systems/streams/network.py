"""The network of XML and of ReLoCLNet: queries, and the two streams of videos, as vectors that are compared."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from ..data import Query
from .attention import Attention, Block, Entry, Pooling
from .inputs import Words
from .losses import NEVER
from .options import Streams

Clips = tuple[Tensor, Tensor]


class QueryVectors(NamedTuple):
    """The vectors of queries, one for each stream: for finding a video, and for finding a moment in it.

    Their shapes are (queries, streams, hidden).
    """

    of_videos: Tensor
    of_moments: Tensor


class Seen(NamedTuple):
    """The vectors of videos' clips in each stream: for finding a video, and for finding a moment in it.

    Their shapes are (videos, streams, clips, hidden); `are_there` has shape (videos, clips).
    """

    for_videos: Tensor
    for_moments: Tensor
    are_there: Tensor


class Network(nn.Module):
    """Encoders of queries and of each stream, the attention of one stream to the other, and ConvSE.

    Parameters
    ----------
    features
        Number of features of each stream.
    words, width
        As in `Words`.
    two_levels
        Whether videos are found by clips that have not looked at the other stream yet, as in XML.
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

        Parameters
        ----------
        streams, are_there
            What `read` returns.
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

        Parameters
        ----------
        of_moments, for_moments, are_there
            Shapes (pairs, streams, hidden), (pairs, streams, clips, hidden) and (pairs, clips).
        """
        similar = (for_moments @ of_moments[:, :, :, None]).squeeze(3).mean(1)
        return self.boundaries(similar / math.sqrt(of_moments.shape[2]), are_there)


class Compared(NamedTuple):
    """Queries beside the videos of a batch.

    Attributes
    ----------
    cosines, products
        A query's highest cosine, or scaled product, with a clip of the video, mean of the streams: shape
        (queries, videos).
    by_clip
        Scaled products of the query of each row and the clips of the video of the same row: shape
        (queries, streams, clips).
    """

    cosines: Tensor
    products: Tensor
    by_clip: Tensor


def compare(query: Tensor, seen: Tensor, are_there: Tensor) -> Compared:
    """Compare as many queries with as many videos; shapes as in `QueryVectors` and `Seen`.

    Products are divided by the square root of the vectors' size, so that the losses do not grow with it.
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

    Parameters
    ----------
    kernel
        Clips that a filter sees at a time, an odd number.
    """

    def __init__(self, kernel: int) -> None:
        super().__init__()
        self.filters = nn.Conv1d(1, 2, kernel, padding=kernel // 2, bias=False)

    def forward(self, similarities: Tensor, are_there: Tensor) -> Boundaries:
        """Return the logits; they are `NEVER` where there is no clip.

        Parameters
        ----------
        similarities, are_there
            Shape (videos, clips).
        """
        seen = self.filters((similarities * are_there)[:, None]).masked_fill(~are_there[:, None], NEVER)
        return Boundaries(seen[:, 0], seen[:, 1])


def spans(starts: Tensor, ends: Tensor, counts: Tensor, shortest: int, longest: int) -> tuple[Tensor, Tensor]:
    """Return the score of each moment, the sum of its start's and its end's, and which moments there are.

    A video with fewer clips than `shortest` has one moment: all of it.

    Parameters
    ----------
    starts, ends
        Scores of clips: shape (videos, clips).
    counts
        Clips of each video: shape (videos,).
    shortest, longest
        Lengths of moments, in clips.

    Returns
    -------
    tensors of shape (videos, clips, lengths)
        Lengths are 1 to `longest`; a moment is at the row of its first clip.
    """
    clips = starts.shape[1]
    lengths = torch.arange(1, min(longest, clips) + 1)
    last = torch.arange(clips)[:, None] + lengths - 1
    fits = last < counts[:, None, None]
    enough = lengths >= counts.clamp(max=shortest)[:, None, None]
    scores = starts[:, :, None] + ends[:, last.clamp(max=clips - 1)]
    return scores, fits & enough
