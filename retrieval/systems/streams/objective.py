"""What XML and ReLoCLNet learn by: the losses of a step's pairs, added by their weights."""

from __future__ import annotations

import torch
from torch import Tensor

from retrieval.systems.streams.losses import (
    boundary_losses,
    clip_losses,
    ranking_losses,
    video_losses,
    weighted,
)
from retrieval.systems.streams.network import Network, compare
from retrieval.systems.streams.options import Streams
from retrieval.systems.streams.pairs import Batch, Pairs
from retrieval.systems.streams.reading import read


def loss_of(network: Network, pairs: Pairs, step: int, options: Streams) -> Tensor:
    """Return the loss of a step; dropout and the negatives of the hinge are drawn from torch's random numbers."""
    batch = pairs.batch(step)
    asked = network.ask(pairs.asked(batch))
    seen = network.look(*read(pairs.videos, batch.video, pairs.counts))
    compared = compare(asked.of_videos, seen.for_videos, seen.are_there)
    found = network.find(asked.of_moments, seen.for_moments, seen.are_there)
    losses = options.span * boundary_losses(found.starts, found.ends, batch.first, batch.last)
    if options.ranking:
        hardest = options.hardest if step >= options.hard_after else None
        draws = torch.rand(2, *compared.cosines.shape)
        hinge = ranking_losses(
            compared.cosines, batch.positives, draws, margin=options.margin, hardest=hardest
        )
        losses = losses + options.ranking * hinge
    if options.video:
        losses = losses + options.video * video_losses(compared.products, batch.positives)
    if options.frame:
        losses = losses + options.frame * _of_clips(compared.by_clip, batch, seen.are_there)
    return weighted(losses, batch.weights)


def _of_clips(by_clip: Tensor, batch: Batch, are_there: Tensor) -> Tensor:
    """Return ReLoCLNet's loss between a query and clips, mean of the streams."""
    clips = torch.arange(by_clip.shape[2])
    inside = (clips >= batch.first[:, None]) & (clips <= batch.last[:, None])
    outside = are_there & ~inside
    each = [clip_losses(by_clip[:, stream], inside, outside) for stream in range(by_clip.shape[1])]
    return torch.stack(each).mean(0)
