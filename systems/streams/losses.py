"""The losses of XML, ReLoCLNet and CONQUER as their public code has them, one for each pair of a batch.

A batch holds B pairs of a query and a moment. Its mask of positive pairs, shape (B, B), is its diagonal; with the
option `several` it is also true where the video of column j holds a moment that the pseudo training set gives the query
of row i (TVR-Ranking, appendix C.1).
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional

NEVER = float("-inf")  # the logit of a place that is no clip


def weighted(losses: Tensor, weights: Tensor) -> Tensor:
    """Return the mean of the losses, each times sim(q, m.c) of its pair; similarities below 0 count as 0.

    The sum is divided by the number of pairs, not by that of the weights: a pair that is hardly relevant shall move
    the model little, in a batch of such pairs too.
    """
    return (losses * weights.clamp(0, 1)).mean()


def boundary_losses(starts: Tensor, ends: Tensor, first: Tensor, last: Tensor) -> Tensor:
    """Return −log P(first) − log P(last) of each pair (the loss of spans of XML, Eq. 9, and of CONQUER).

    starts, ends: logits, shape (B, clips), `NEVER` where there is no clip. For CONQUER's shared normalisation the clips
    of several videos stand beside one another.
    first, last: the number of the clip that is the moment's start, and of the one that is its end, shape (B,).
    """
    of_starts = functional.cross_entropy(starts, first, reduction="none")
    of_ends = functional.cross_entropy(ends, last, reduction="none")
    return of_starts + of_ends


def video_losses(scores: Tensor, positives: Tensor) -> Tensor:
    """Return the contrastive loss of each pair between its query and the videos of the batch, with the mask.

    It is −log(P / N). P sums exp(score) over the videos that are positive for the query. N sums it over all videos
    beside the query, and over all queries of the batch beside the pair's video but those to which it is positive too.
    So the pair's own score is in N twice, as in ReLoCLNet's VideoCL.

    scores: of the query of row i beside the video of column j, shape (B, B).
    """
    positive = torch.logsumexp(scores.masked_fill(~positives, NEVER), 1)
    own = torch.eye(len(scores), dtype=torch.bool, device=scores.device)
    queries = scores.masked_fill(positives & ~own, NEVER).T
    return torch.logsumexp(torch.cat([scores, queries], 1), 1) - positive


def ranking_losses(
    scores: Tensor,
    positives: Tensor,
    draws: Tensor,
    *,
    margin: float = 0.1,
    hardest: int | None = None,
    loss: str = "hinge",
) -> tuple[Tensor, Tensor]:
    """Return XML's loss of each pair beside a video that is not positive for its query (Eq. 8), and beside a query to
    which its video is not positive.

    scores: cosines of the query of row i and the video of column j, shape (B, B).
    draws: numbers from 0 to 1, shape (2, B, B): of those that are allowed, the one with the largest draw is the
    negative.
    hardest: so many negatives with the highest scores can be drawn; all if None.
    loss: `hinge`, max(0, margin + negative − positive), or `lse`, log(1 + exp(negative − positive)).
    """
    own, losses = scores.diagonal(), []
    for beside, allowed, drawn in ((scores, ~positives, draws[0]), (scores.T, ~positives.T, draws[1])):
        kept = _hardest(beside.detach(), allowed, hardest)
        chosen = drawn.masked_fill(~kept, -1).argmax(1, keepdim=True)
        above = beside.gather(1, chosen).squeeze(1) - own
        each = (margin + above).clamp(min=0) if loss == "hinge" else functional.softplus(above)
        losses.append(each * kept.any(1))
    return losses[0], losses[1]


def _hardest(scores: Tensor, allowed: Tensor, count: int | None) -> Tensor:
    if count is None or count >= len(scores):
        return allowed
    places = scores.masked_fill(~allowed, NEVER).topk(count, dim=1).indices
    return torch.zeros_like(allowed).scatter(1, places, True) & allowed


def clip_losses(scores: Tensor, inside: Tensor, outside: Tensor) -> Tensor:
    """Return ReLoCLNet's frame-level contrastive loss (FrameCL) of each pair, inside its own video.

    It is the mean softplus(−score) − log 2 of the moment's clips, and the mean softplus(score) − log 2 of the others,
    which is 0 for a moment as long as its video.

    scores, inside, outside: of the query beside each clip of its video, which clips are the moment's, and which are the
    others: shape (B, clips).
    """
    near = _mean_of(functional.softplus(-scores) - math.log(2), inside)
    far = _mean_of(functional.softplus(scores) - math.log(2), outside)
    return near + far


def _mean_of(values: Tensor, which: Tensor) -> Tensor:
    return (values * which).sum(1) / which.sum(1).clamp(min=1)
