"""Bias and variance of R@1,θ and AxIoU@1 when the boundaries of the ground truth are noisy (AxIoU, section C)."""

from typing import NamedTuple

import numpy as np

from ..formats.arrays import Floats


class EstimationError(NamedTuple):
    """Squared bias and variance of a measure's value on one query; their sum is the mean squared error."""

    bias: Floats
    variance: Floats

    @property
    def mse(self) -> Floats:
        return self.bias + self.variance


def success_error(true: float, theta: Floats, noise: Floats) -> EstimationError:
    """Error of R@1,θ if the IoU of the first prediction is observed with normal noise.

    Parameters
    ----------
    true
        The IoU r with the true moment, in [0, 1].
    theta, noise
        Threshold θ, and standard deviation γ > 0 of the observed IoU; they broadcast.

    Returns
    -------
    EstimationError, of the broadcast shape. With p = P(r + N(0, γ²) ≥ θ), the bias is p less the true value (1 if
    θ ≤ r, else 0), and the variance p(1 − p). The observed IoU is not cut off at 0 and 1, as in the paper.

    References
    ----------
    AxIoU, section C and Figure 10.

    Examples
    --------
    At θ = r the observed IoU passes in half of the cases, though it should always.

    >>> error = success_error(0.5, np.array(0.5), np.array(0.1))
    >>> float(error.bias), float(error.variance), float(error.mse)
    (0.25, 0.25, 0.5)
    """
    from scipy.special import ndtr

    passes = ndtr((true - np.asarray(theta)) / noise)
    truth = np.where(np.asarray(theta) <= true, 1.0, 0.0)
    return EstimationError(np.square(passes - truth), passes * (1 - passes))


def axiou_error(noise: Floats) -> EstimationError:
    """Error of AxIoU@1 under the same noise: it has no bias, and the variance of the noise."""
    spread = np.square(np.asarray(noise, dtype=np.float64))
    return EstimationError(np.zeros_like(spread), spread)
