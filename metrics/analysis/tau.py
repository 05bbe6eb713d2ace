"""Kendall's τ-b between rankings of a few systems, for many rankings at once."""

import numpy as np

from ..formats.arrays import Floats

SLACK = 1e-12  # of a mean: sums of the same values in another order are still ties


def signs(scores: Floats) -> Floats:
    """Order of every pair of systems: 1, 0 (tied) or −1; from shape (…, systems) to (…, pairs)."""
    first, second = np.triu_indices(scores.shape[-1], 1)
    gap = scores[..., first] - scores[..., second]
    return np.where(np.abs(gap) <= SLACK, 0.0, np.sign(gap))


def tau_b(one: Floats, other: Floats) -> Floats:
    """Kendall's τ-b along the last axis.

    Parameters
    ----------
    one, other
        Signs of pairs, from `signs`: shape (…, pairs); they broadcast.

    Returns
    -------
    Floats of shape (…), in [−1, 1]; NaN where a ranking ties all systems.

    References
    ----------
    AxIoU, section 6.2.

    Examples
    --------
    Three systems, of which the second ranking swaps two: two pairs agree, one does not.

    >>> tau_b(signs(np.array([3.0, 2.0, 1.0])), signs(np.array([3.0, 1.0, 2.0]))).round(4).item()
    0.3333
    """
    agree = (one * other).sum(axis=-1)
    untied = np.abs(one).sum(axis=-1) * np.abs(other).sum(axis=-1)
    tau = np.full(np.shape(agree), np.nan)
    np.divide(agree, np.sqrt(untied), out=tau, where=untied > 0)
    return tau
