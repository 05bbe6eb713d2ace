"""Features to vectors with a place, and the attention by which the vectors of a sequence look at others."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional


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
    """Return sines and cosines of the places of a sequence: shape (length, hidden).

    They are fixed and not learned, so that a video longer than those of the training has places too.
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

        Parameters
        ----------
        vectors, others
            Shapes (sequences, length, hidden) and (sequences, other length, hidden).
        are_there
            True where `others` holds something, at least once in each sequence: shape (sequences, other length).
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
