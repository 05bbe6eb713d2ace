"""The measures' formulas, as functions on arrays of grades and IoUs."""

import numpy as np

from metrics.measures.arrays import Floats


def gains(grades: Floats, gain: str) -> Floats:
    """Gain of each grade: the grade itself (`linear`, Eq. 1 of TVR-Ranking) or 2^grade − 1 (`exp`)."""
    return np.ldexp(1.0, grades.astype(np.int64)) - 1 if gain == "exp" else grades


def dcg(gain: Floats) -> Floats:
    """Discounted cumulative gain at every cutoff.

    Parameters
    ----------
    gain
        Floats of shape (…, ranks).

    Returns
    -------
    Floats of the same shape: DCG@1, DCG@2, … along the last axis. The sum runs rank by rank, as a loop
    would, so that the last bit is the published one.

    References
    ----------
    TVR-Ranking, Equation 1.

    Examples
    --------
    Gains 2, 4, 2: 2/1 + 4/1.585 + 2/2.

    >>> dcg(np.array([2.0, 4.0, 2.0])).round(4).tolist()
    [2.0, 4.5237, 5.5237]
    """
    discounted = gain / np.log2(np.arange(2, gain.shape[-1] + 2))
    total: Floats = np.cumsum(discounted, axis=-1)
    return total


def ndcg(grades: Floats, ideal: Floats, gain: str) -> Floats:
    """DCG over the DCG of the ideal ranking, at every cutoff; NaN where the ideal is 0.

    Parameters
    ----------
    grades
        Floats of shape (…, units, ranks): the grade that each rank matched, 0 for none.
    ideal
        Floats of shape (units, ranks): the grades of the best moments, highest first.
    gain
        `linear` or `exp`.

    Returns
    -------
    Floats of shape (…, units, ranks), in [0, 1].

    References
    ----------
    TVR-Ranking, section 4.

    Examples
    --------
    The paper's Figure 2: the predictions match grades 2, 4, 2; the best possible is 4, 2, 2.

    >>> ndcg(np.array([[2.0, 4.0, 2.0]]), np.array([[4.0, 2.0, 2.0]]), "linear")[0, 2].round(4).item()
    0.8821
    """
    best = dcg(gains(ideal, gain))
    score = dcg(gains(grades, gain))
    out = np.full(np.broadcast_shapes(score.shape, best.shape), np.nan)
    np.divide(score, best, out=out, where=np.broadcast_to(best > 0, out.shape))
    return out
