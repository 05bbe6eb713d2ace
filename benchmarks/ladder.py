"""What runs reveal about a held-back split: an attack that combines the scores of many runs, on TVR-Ranking's grades.

The attack is that of Blum and Hardt (2015, section 4): each run takes, for each
query, one of two equally good orders of the candidates at random. The final run takes the order of each query that was
in the runs with higher scores. What it gains is fitted to the split and worth nothing on other queries.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from benchmarks.measuring import SHARED, need
from runs.board.held_back import DECIMALS
from tests.metrics.replay import Judged
from tests.metrics.tvr_ratings import real_pairs

Floats = NDArray[np.float64]
SIZES, RUNS, TRIALS, CUTOFF = (100, 500), (3, 30, 300), 400, 20
EXACT = 12  # decimals


def figures() -> Iterator[str]:
    """The lines of `make bench`."""
    need(SHARED.is_dir())
    judged = Judged.of(real_pairs(SHARED))
    for size in SIZES:
        for number in RUNS:
            gains = [gain(judged, size, number, decimals) for decimals in (EXACT, DECIMALS)]
            yield (
                f"{number} runs on a split of {size} queries: the combined run gains {gains[0]:.4f} NDCG@{CUTOFF} from "
                f"exact scores, {gains[1]:.4f} from {DECIMALS} decimals"
            )


def gain(judged: Judged, size: int, number: int, decimals: int) -> float:
    """Return the mean difference in NDCG@20 between the combined run and the runs that it is made of."""
    rng = np.random.default_rng(1)
    gains = np.empty(TRIALS)
    for trial in range(TRIALS):
        values = _values(judged.take(rng.permutation(len(judged.grades))[:size]), rng)
        chosen = rng.integers(0, 2, (number, size))
        scores = np.take_along_axis(values[:, None], chosen[None], 0)[0].mean(axis=1)
        public = np.round(scores, decimals)
        votes = (public - public.mean()) @ (chosen - 0.5)
        best = np.where(votes == 0, rng.integers(0, 2, size), votes > 0)
        gains[trial] = values[best.astype(int), np.arange(size)].mean() - values.mean()
    return float(gains.mean())


def _values(judged: Judged, rng: np.random.Generator) -> Floats:
    """Return NDCG@20 of each query for two orders of its candidates that see the grades through noise: (2, queries)."""
    noisy = judged.grades + rng.normal(0, 2, (2, *judged.grades.shape))
    lists = np.argsort(np.where(judged.there, -noisy, np.inf), axis=2)[..., :CUTOFF]
    return judged.ndcg(lists, judged.grades)
