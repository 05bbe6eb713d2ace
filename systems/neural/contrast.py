"""Training by contrast: a moment's cost for its query beside those of negative moments, and the losses of these."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, cast

import torch
from torch import nn

from ..data import Data, Query, Validation, Videos
from ..errors import SystemsError
from ..exhaustive import Exhaustive
from ..interface import Report, silent
from ..library import Run
from ..options import Contrastive
from ..windows import Windows
from .layers import words_and_width
from .samples import Sampler
from .training import Learned, Lesson

WINDOWS_AT_A_TIME = 4096  # that are represented together
QUERIES_AT_A_TIME = 64
FAR = 1e9  # in place of a distance to what is only padding


class Network(nn.Module):
    """A network that says what moments cost for queries, made of options and of the facts of its training data."""

    def costs(self, queries: Sequence[Query], videos: Videos, windows: Windows) -> torch.Tensor:
        """Return what each query's moments cost, of which as many belong to each: (queries, moments of each)."""
        raise NotImplementedError


class Contrasted(Learned, Exhaustive):
    """What the trained systems of STAL's tables share: training by contrast, over all candidate moments."""

    network_class: ClassVar[type[Network]]

    @abstractmethod
    def facts_of(self, data: Data) -> dict[str, Any]:
        """Return what of the training data the network's shape depends on, besides words."""

    def facts(self, data: Data) -> dict[str, Any]:
        names = data.videos.objects.names if data.videos.objects else ()
        queries = list({example.query.id: example.query for example in data.examples}.values())
        facts = self.facts_of(data)
        return facts | words_and_width(cast(Contrastive, self.options), queries, names)

    def lesson(self, data: Data) -> Lesson:
        options = cast(Contrastive, self.options)
        sampler = Sampler(data, options)

        def loss_of(network: Network, step: int) -> torch.Tensor:
            examples, windows = sampler.step(step)
            costs = network.costs([example.query for example in examples], data.videos, windows)
            weights = torch.tensor([example.weight for example in examples])
            return contrast(costs, weights, options.loss, options.margin)

        return loss_of

    def search_among(self, validation: Validation, depth: int, report: Report = silent) -> Run:
        return self.search_in(self.look_at(validation.videos, report), validation.queries, depth, report)


def check_width(videos: Videos, width: int) -> None:
    """Raise SystemsError if videos do not have features of the width that a network was trained on."""
    if videos.clips.shape[1] != width:
        raise SystemsError(f"the clips have {videos.clips.shape[1]} features; expected {width}, as in training")


def contrast(costs: torch.Tensor, weights: torch.Tensor, loss: str, margin: float) -> torch.Tensor:
    """Return the mean loss of examples.

    Parameters
    ----------
    costs
        Of each example's own moment, then of its negatives: shape (examples, 1 + negatives).
    weights
        How much each example counts: shape (examples,).
    loss
        `nce` or `triplet`.
    """
    if loss == "nce":
        each = torch.logsumexp(-costs, dim=1) + costs[:, 0]
    else:
        each = torch.relu(costs[:, :1] - costs[:, 1:] + margin).sum(1)
    return (each * weights).sum() / weights.sum().clamp_min(1e-12)


def squared_distances(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """Return the squared Euclidean distance of each row to each other row: (..., n, d), (..., m, d) to (..., n, m)."""
    products = one @ other.transpose(-1, -2)
    lengths = one.square().sum(-1, keepdim=True) + other.square().sum(-1).unsqueeze(-2)
    return (lengths - 2 * products).clamp_min(0)


def chamfer(one: torch.Tensor, is_one: torch.Tensor, other: torch.Tensor, is_other: torch.Tensor) -> torch.Tensor:
    """Return the symmetric squared Chamfer distance of sets of vectors (STAL, Equation 2).

    Parameters
    ----------
    one, other
        Shapes (..., n, d) and (..., m, d).
    is_one, is_other
        Which rows are there, and not padding: shapes (..., n) and (..., m).

    Returns
    -------
    Tensor of shape (...). A pair that lacks rows of one set has the mean of the others along the last dimension, or 0
    if all of them do.
    """
    distances = squared_distances(one, other)
    nobody = ~is_one.unsqueeze(-1) | ~is_other.unsqueeze(-2)
    distances = distances.masked_fill(nobody, FAR)
    both = is_one.any(-1) & is_other.any(-1)
    total = _mean(distances.amin(-1), is_one) + _mean(distances.amin(-2), is_other)
    return torch.where(both, total, _mean(total, both).unsqueeze(-1))


def _mean(values: torch.Tensor, is_there: torch.Tensor) -> torch.Tensor:
    return values.masked_fill(~is_there, 0).sum(-1) / is_there.sum(-1).clamp_min(1)
