"""ConvSE: where a moment starts and ends, from edges in the similarity of a query to the clips of a video (XML)."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from retrieval.systems.streams.losses import NEVER


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
