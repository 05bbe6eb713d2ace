"""The losses of moments' costs, and the costs' parts (STAL, Equations 2, 5 and 7)."""

from __future__ import annotations

import torch

FAR = 1e9  # in place of a distance to what is only padding


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


def chamfer(
    one: torch.Tensor, is_one: torch.Tensor, other: torch.Tensor, is_other: torch.Tensor
) -> torch.Tensor:
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
