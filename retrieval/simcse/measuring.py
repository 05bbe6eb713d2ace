"""What training has changed: alignment and uniformity of vectors, and how far ranked lists agree."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from retrieval.encoding import Vectors, encode

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

Indices = NDArray[np.intp]
# Of rank-biased overlap; a reader who goes on with this probability sees 20 of a list on average.
PERSISTENCE = 0.95
PAIRS_AT_A_TIME = 1000  # rows of a block of distances
NOISE_SEED = 1  # of the dropout by which alignment is measured, the same before and after training


def alignment(model: SentenceTransformer, texts: list[str], batch_size: int = 64) -> float:
    """Return the mean squared distance between two vectors of the same text under dropout; 0 is the best.

    Wang and Isola (ICML 2020), eq. 1 of section 4, with the pairs that training brings together.
    """
    import torch

    distances = []
    with torch.random.fork_rng(devices=[]), torch.inference_mode():
        torch.manual_seed(NOISE_SEED)
        model.train()
        for start in range(0, len(texts), batch_size):
            features = model.preprocess(texts[start : start + batch_size])
            one, other = (
                torch.nn.functional.normalize(model(dict(features))["sentence_embedding"], dim=1) for _ in range(2)
            )
            distances += (one - other).pow(2).sum(1).tolist()
        model.eval()
    return float(np.mean(distances))


def uniformity(vectors: Vectors) -> float:
    """Return the logarithm of the mean of exp(-2 d²) over all pairs of different vectors; lower is more uniform.

    Wang and Isola (ICML 2020), eq. 2 of section 4, with t = 2.

    Parameters
    ----------
    vectors : array of shape (n, dimensions), n at least 2
        Of length 1.

    Examples
    --------
    >>> round(uniformity(np.array([[1, 0], [-1, 0]], np.float32)), 6)
    -8.0
    """
    n, total = len(vectors), 0.0
    wide = vectors.astype(np.float64)
    for start in range(0, n, PAIRS_AT_A_TIME):
        squared = 2 - 2 * (wide[start : start + PAIRS_AT_A_TIME] @ wide.T)
        total += float(np.exp(-2 * np.maximum(squared, 0)).sum())
    return float(np.log((total - n) / (n * (n - 1))))


def vectors_of(model: SentenceTransformer, texts: list[str]) -> Vectors:
    """Return the texts' vectors, of length 1."""
    return encode(model, texts)


def overlap(before: Indices, after: Indices) -> float:
    """Return the mean share of each row's elements that the other array has in the same row, from 0 to 1.

    >>> overlap(np.array([[1, 2]]), np.array([[2, 3]]))
    0.5
    """
    shared = [len(set(one) & set(other)) for one, other in zip(before.tolist(), after.tolist(), strict=True)]
    return float(np.mean(shared) / before.shape[1])


def rank_biased_overlap(before: Indices, after: Indices, p: float = PERSISTENCE) -> float:
    """Return the mean extrapolated rank-biased overlap of the rows, from 0 to 1 (Webber, Moffat and Zobel 2010).

    Parameters
    ----------
    before, after : arrays of shape (lists, depth)
        Ranked lists, the best first, no element twice in a row.

    Examples
    --------
    >>> round(rank_biased_overlap(np.array([[1, 2, 3]]), np.array([[1, 2, 3]])), 6)
    1.0
    >>> rank_biased_overlap(np.array([[1, 2, 3]]), np.array([[4, 5, 6]]))
    0.0
    """
    depth = before.shape[1]
    ranks = np.arange(1, depth + 1)
    same = before[:, :, None] == after[:, None, :]
    shared = np.stack([same[:, :rank, :rank].sum((1, 2)) for rank in ranks], axis=1)  # at each depth
    agreement = shared / ranks
    summed = (1 - p) / p * (agreement * p**ranks).sum(1)
    return float(np.clip(agreement[:, -1] * p**depth + summed, 0, 1).mean())
